"""`examples/job_webhook.yaml` is a valid template, and its rule matches the event of a job's end."""

import json
import re
from random import Random
from typing import Any

import pytest
import yaml

from inference_api.jobs.state.completion import Completion
from inference_api.jobs.state.job import CANCELLED, Job
from inference_api.jobs.state.table import JobTable
from inference_api.shared.job_times import JobTimes
from inference_api.shared.runtime import Runtime
from local_cloud.checks import RefusedTemplateError, lint
from support.repository import ROOT

TEMPLATE = ROOT / "examples" / "job_webhook.yaml"
TIMES = JobTimes(deadline=3600, retention=3600, invocation_timeout=60)


class _Intrinsics(yaml.SafeLoader):
    """Reads `!Ref Name` and `!GetAtt Name.Arn` as the name."""


_Intrinsics.add_multi_constructor("!", lambda loader, suffix, node: node.value)


class Bus:
    """A client of EventBridge that records the events."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def put_events(self, Entries: list[dict[str, str]]) -> dict[str, int]:
        for entry in Entries:
            named = {"source": entry["Source"], "detail-type": entry["DetailType"]}
            self.events.append(named | {"detail": json.loads(entry["Detail"])})
        return {"FailedEntryCount": 0}


class Dynamo:
    """A table that accepts every write."""

    def put_item(self, **_: object) -> None:
        pass


def matches(pattern: dict[str, Any], event: dict[str, Any]) -> bool:
    """Return whether EventBridge would match: for each name of the pattern, the event has one of its values."""
    return all(
        matches(wanted, event.get(name, {})) if isinstance(wanted, dict) else event.get(name) in wanted
        for name, wanted in pattern.items()
    )


@pytest.fixture
def event() -> dict[str, Any]:
    bus, runtime = Bus(), Runtime(now=lambda: 1_795_000_000.0, random=Random(1))
    completion = Completion(JobTable(Dynamo(), "table", runtime), bus, TIMES, runtime, "chat")
    completion.announce(
        Job("a" * 32, "owner", CANCELLED, accepted_at=1_794_999_000.0, deadline=0, due_at=0, ended_at=1_795_000_000.0)
    )
    return bus.events[0]


def pattern_for(deployment: str) -> dict[str, Any]:
    pattern: dict[str, Any] = yaml.load(TEMPLATE.read_text(), _Intrinsics)["Resources"]["Rule"]["Properties"][
        "EventPattern"
    ]
    assert pattern["detail"]["deployment"] == ["Deployment"]
    return pattern | {"detail": {"deployment": [deployment]}}


def test_the_rule_of_the_webhook_matches_only_ends_of_its_deployments_jobs(event: dict[str, Any]) -> None:
    assert matches(pattern_for("chat"), event)
    assert not matches(pattern_for("other"), event)
    assert not matches(pattern_for("chat"), event | {"source": "another"})
    assert not matches(pattern_for("chat"), event | {"detail-type": "Job Began"})


def test_the_documented_event_is_the_one_that_is_put(event: dict[str, Any]) -> None:
    text = (ROOT / "docs" / "jobs.md").read_text()
    shown = json.loads(re.findall(r"```json\n(\{\"source\".*?)```", text, re.DOTALL)[0])
    assert {name: sorted(value) if name == "detail" else value for name, value in shown.items()} == {
        name: sorted(value) if name == "detail" else value for name, value in event.items()
    }


@pytest.mark.slow
def test_the_template_is_valid() -> None:
    lint([TEMPLATE], ["us-east-1", "eu-west-1"])


@pytest.mark.slow
def test_a_fault_in_the_template_is_found(tmp_path: Any) -> None:
    (broken := tmp_path / "broken.yaml").write_text(
        TEMPLATE.read_text().replace("HttpMethod: POST", "HttpMethod: SEND")
    )
    with pytest.raises(RefusedTemplateError, match="SEND"):
        lint([broken], ["us-east-1"])
