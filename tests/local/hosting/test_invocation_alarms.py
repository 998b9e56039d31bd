"""Failing invocations raise a deployed endpoint's alarms; callers' mistakes never raise the rollback alarm."""

import json
from pathlib import Path
from typing import Any

from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from support.stacks.deployed_stacks import deployed, edited
from support.templates.template_parts import Template

# Both prompts are longer than the max_model_len of 8192. LMI 25 answers the first with a failure that has no reason.
# It answers the second with 500, and quotes vLLM's 400 in the text.
FAILING: dict[str, Any] = {"inputs": "word " * 9000}
MISTAKEN: dict[str, Any] = {"prompt": "word " * 9000}
MINUTES = 15  # the longest of the periods that an alarm looks at


def test_failures_of_the_model_raise_the_rollback_alarm_and_mistakes_of_callers_do_not(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    def run_lmi_25(template: Template) -> None:
        older = json.dumps(template).replace("0.36.0-lmi28.0.0-cu130", "0.36.0-lmi25.0.0-cu130")
        template.update(json.loads(older))

    stack = edited(stacks["qwen3-4b"], tmp_path, run_lmi_25, "failing")
    client, cloudwatch = deployed(cloud, stack), cloud.client("cloudwatch", region=stack.region)

    def raised() -> set[str]:
        alarms = cloudwatch.describe_alarms(AlarmNamePrefix="failing-", StateValue="ALARM")["MetricAlarms"]
        return {"rollback" if "RollbackAlarms" in each["AlarmName"] else each["MetricName"] for each in alarms}

    def raise_by(body: dict[str, Any], status: int, *expected: str) -> None:
        for _ in range(MINUTES):
            assert client.call("POST", "/generate", body)[0] == status
            cloud.advance(60)
            if raised() >= set(expected):
                return
        raise AssertionError(f"{raised()} after {MINUTES} minutes of {status}")

    assert raised() == set()
    raise_by(MISTAKEN, 400, "Invocation5XXErrors", "InvocationModelErrors")
    assert "rollback" not in raised()
    raise_by(FAILING, 502, "rollback")
