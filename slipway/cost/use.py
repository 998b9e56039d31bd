"""What callers asked of a service in a month: requests to its API, and tokens if they are counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from slipway.cost.metrics import Question, Series
from slipway.hosting.meter import Metric
from slipway.stack.deployed_stack import DeployedStack
from slipway.stack.key_counts import all_counts


@dataclass(frozen=True)
class Use:
    """Requests to the API, and tokens of prompts and answers; None = not counted."""

    requests: int | None
    tokens_in: int | None
    tokens_out: int | None

    @property
    def tokens(self) -> int | None:
        return None if self.tokens_in is None or self.tokens_out is None else self.tokens_in + self.tokens_out


def questions_of(stack: DeployedStack) -> list[Question]:
    """Return the questions whose answers `use_of` takes: the API's requests, then tokens; none without an API."""
    if not (stages := stack.resources.get("AWS::ApiGateway::Stage")):
        return []
    tokens = (Metric("Slipway", each, {"Deployment": stack.name}) for each in ("TokensIn", "TokensOut"))
    requests = Metric("AWS/ApiGateway", "Count", {"ApiName": stack.name, "Stage": stages[0]})
    return [Question(requests, "Sum"), *(Question(each, "Sum") for each in tokens)]


def use_of(stack: DeployedStack, month: datetime, answers: Sequence[Series]) -> Use:
    """Return the use of a month. Tokens are those of the table of usage, or of the metrics if there is no table."""
    if not answers:
        return Use(None, None, None)
    requests, *tokens = answers
    tokens_in, tokens_out = None, None
    if "UsageTable" in stack.outputs:
        counts = all_counts(stack, month)
        tokens_in, tokens_out = counts.tokens_in, counts.tokens_out
    elif any(tokens) or "Dashboard" in stack.outputs:
        tokens_in, tokens_out = (int(sum(each.values())) for each in tokens)
    return Use(int(sum(requests.values())), tokens_in, tokens_out)
