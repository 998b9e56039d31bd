"""The dashboard of a service: what its parts show, under the questions that an operator asks."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from .panel import Panel, Question

_WHOLE_WIDTH, _LETTERS_IN_A_LINE = 24, 180
_SHOWN = cdk.Duration.days(1)


class Dashboard(Construct):
    """A CloudWatch dashboard. name: its name, which no other dashboard of the account may have, in any region.

    title: the first line. panels: questions without a panel are left out.
    """

    def __init__(self, scope: Construct, construct_id: str, *, name: str, title: str, panels: Sequence[Panel]) -> None:
        super().__init__(scope, construct_id)
        rows: list[list[cloudwatch.IWidget]] = [[_text(f"# {title}", height=1)]]
        for question in Question:
            if asked := [each for each in panels if each.question is question]:
                explained = " ".join(each.sentence for each in asked)
                rows.append(
                    [_text(f"## {question.value}\n{explained}", height=2 + len(explained) // _LETTERS_IN_A_LINE)]
                )
                rows.append([widget for each in asked for widget in each.widgets])
        self.dashboard = cloudwatch.Dashboard(
            self, "Default", dashboard_name=name, default_interval=_SHOWN, widgets=[row for row in rows if row]
        )
        self.name = self.dashboard.dashboard_name


def _text(markdown: str, *, height: int) -> cloudwatch.TextWidget:
    return cloudwatch.TextWidget(
        markdown=markdown, width=_WHOLE_WIDTH, height=height, background=cloudwatch.TextWidgetBackground.TRANSPARENT
    )
