"""Every alarm says what it means and leads to its paragraph of docs/runbook.md, which has no other paragraphs."""

import re
from typing import Any

import pytest

from local_cloud.assembly import read_stacks, synthesize
from slipway.operations.runbook import paragraphs
from support.deployments.known_deployments import SHIPPED, VARIANTS
from support.deployments.shared_project import on_gpus, write_project
from support.repository import ROOT
from support.templates.template_parts import Template, all_of, properties, referred

ALARMS = ("CloudWatch::Alarm", "CloudWatch::CompositeAlarm")
DESCRIPTION = re.compile(
    r"(?P<meaning>[A-Z][^.]+(?:\.\d[^.]*)?)\. What to do: "
    r"(?:docs/runbook\.md#(?P<ours>[a-z-]+), or slipway runbook (?P=ours)|https://wiki\.example\.com/llm/alarms#(?P<own>[a-z-]+))"
)
PAGER = "arn:aws:sns:us-east-1:111122223333:pager"
# The settings whose values a description shows: 1 % of answers, 0.3 of the jobs, 600 s of waiting, 45 s of latency.
FIGURES = {
    "qwen3-4b-prod": "In 2 of 3 minutes the API answered more than 1 % of its requests with 5XX",
    "with-api-key": "In 2 of 3 periods of 5 minutes more than 30 % of the jobs that ended failed or expired",
    "async": "The oldest job waited more than 900 s",
    "gpt2-ec2": "In the last 5 minutes EC2 did not start a machine",
    "gpt2": "For 24 hours instances ran and cost money, and nobody called the model",
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> list[Template]:
    """Return the templates of a shared endpoint and of a deployment on it, which pages."""
    paged = {**on_gpus(copies={"min": 1, "max": 3}), "alarms": {"paging_topic_arn": PAGER}}
    endpoint = {"instance_type": "ml.g6.12xlarge", "instance_count": {"min": 0, "max": 2}, "volume_kms_key_arn": None}
    project = write_project(tmp_path_factory.mktemp("shared") / "project", {"chat": paged}, endpoint)
    file = str(project / "deployments" / "chat.yaml")
    return [each.template for each in read_stacks(synthesize(["slipway-endpoint-gpus", file]))]


@pytest.fixture(scope="module")
def alarms(templates: dict[str, Template], shared: list[Template]) -> list[dict[str, Any]]:
    """Return the properties of every alarm."""
    known = [*(templates[name] for name in SHIPPED + VARIANTS), *shared]
    return [alarm for template in known for kind in ALARMS for alarm in all_of(template, kind)]


def test_every_alarm_has_a_paragraph_and_every_paragraph_an_alarm(alarms: list[dict[str, Any]]) -> None:
    found = [DESCRIPTION.fullmatch(each["AlarmDescription"]) for each in alarms]
    assert all(found), [each["AlarmDescription"] for each, fits in zip(alarms, found, strict=True) if not fits]
    of_alarms = {each["ours"] or each["own"] for each in found if each}
    of_page = {name for name, text in paragraphs().items() if text.startswith("### ") or name == "service-is-down"}
    assert of_alarms == of_page


def test_each_heading_has_an_anchor_of_its_own() -> None:
    headings = re.findall("^#+ .*", (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8"), re.MULTILINE)
    titles = [heading.lstrip("# ").lower() for heading in headings]
    assert len(titles) == len({*titles})


def test_every_paragraph_says_what_to_look_at_and_to_do_what_is_false_and_what_no_data_means() -> None:
    for name, text in paragraphs().items():
        if text.startswith("### ") and "Look and do as for" not in text:
            parts = [part in text for part in ("- **Look**: ", "- **Do**: ", "- **False alarm**", "- **No data**: ")]
            assert all(parts), name


@pytest.mark.parametrize(("name", "sentence"), FIGURES.items())
def test_a_description_has_the_figures_of_the_deployment(
    templates: dict[str, Template], name: str, sentence: str
) -> None:
    descriptions = [each["AlarmDescription"] for each in all_of(templates[name], "CloudWatch::Alarm")]
    assert any(each.startswith(f"{sentence}. ") for each in descriptions)


def test_alarms_lead_to_a_page_of_the_company_instead(templates: dict[str, Template]) -> None:
    described = [each["AlarmDescription"] for kind in ALARMS for each in all_of(templates["scaled"], kind)]
    assert all(" What to do: https://wiki.example.com/llm/alarms#" in each for each in described)


def test_missing_data_breaches_no_threshold(alarms: list[dict[str, Any]]) -> None:
    """The page gives the reason for each."""
    assert {each["TreatMissingData"] for each in alarms if "AlarmRule" not in each} == {"notBreaching"}


class TestOutage:
    @pytest.mark.parametrize(
        ("name", "signs"),
        [
            ("scaled", {"Unanswered", "ModelFailures", "ModelTimeouts", "JobsFail", "JobsStandStill"}),
            ("awake-hours", {"Unanswered", "ModelFailures", "ModelTimeouts", "JobsFail", "JobsStandStill"}),
            ("async", {"Unanswered", "ModelFailures", "ModelTimeouts", "JobsFail", "JobsStandStill"}),
            ("customer-keys-ec2", {"Unanswered", "JobsFail", "JobsStandStill"}),
        ],
    )
    def test_it_follows_its_signs_which_tell_nobody(
        self, templates: dict[str, Template], name: str, signs: set[str]
    ) -> None:
        template = templates[name]
        down = properties(template, "CloudWatch::CompositeAlarm")
        rule = "".join(each if isinstance(each, str) else "-" for each in down["AlarmRule"]["Fn::Join"][1])
        assert rule == "(" + " OR ".join(['ALARM("-")'] * len(signs)) + ")"
        named = [each for each in down["AlarmRule"]["Fn::Join"][1] if isinstance(each, dict)]
        assert len(named) == len(signs)
        assert not any("AlarmActions" in referred(template, each) for each in named)
        assert {re.sub("OutageSigns|[0-9A-F]{8}$", "", each["Fn::GetAtt"][0]) for each in named} == signs

    def test_it_alone_tells_the_pager(self, templates: dict[str, Template]) -> None:
        told = [each for kind in ALARMS for each in all_of(templates["scaled"], kind) if PAGER in str(each)]
        assert [(each["AlarmActions"], each["OKActions"], "AlarmRule" in each) for each in told] == [
            ([PAGER], [PAGER], True)
        ]

    def test_a_model_that_wakes_has_time_for_it(self, templates: dict[str, Template]) -> None:
        times = {
            name: (each["DatapointsToAlarm"], each["EvaluationPeriods"])
            for name in ("scaled", "awake-hours")
            for each in all_of(templates[name], "CloudWatch::Alarm")
            if each["AlarmDescription"].find("more than 90 % of its requests") > 0
        }
        assert times == {"scaled": (3, 5), "awake-hours": (20, 30)}

    def test_there_is_none_without_a_pager(self, templates: dict[str, Template]) -> None:
        for name in set(SHIPPED + VARIANTS) - {"scaled", "awake-hours", "async", "customer-keys-ec2"}:
            assert all_of(templates[name], "CloudWatch::CompositeAlarm") == []
