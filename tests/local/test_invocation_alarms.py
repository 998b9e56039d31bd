"""Failing invocations raise the alarm of a deployed endpoint, with nobody's help."""

import time
from dataclasses import replace

from local_cloud.api_client import connect
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import deploy

FAILING = {"inputs": "a", "parameters": {"max_new_tokens": 9000}}  # more than its max_model_len: the container says 424
DEADLINE_IN_SECONDS = 120  # three periods of a minute last 6 s on the clock of the tests


def test_failing_invocations_raise_the_alarms_on_failures(cloud: LocalCloud, stacks: dict[str, Stack]) -> None:
    stack = replace(stacks["qwen3-4b"], name="failing")
    client = connect(cloud, deploy(cloud, stack), stack.region)
    cloudwatch = cloud.client("cloudwatch", region=stack.region)

    def states() -> set[str]:
        alarms = cloudwatch.describe_alarms(AlarmNamePrefix="failing-")["MetricAlarms"]
        return {alarm["StateValue"] for alarm in alarms if "Failures" in alarm["AlarmName"]}

    assert "ALARM" not in states()
    deadline, answers = time.monotonic() + DEADLINE_IN_SECONDS, set()
    while (seen := states()) != {"ALARM"} and time.monotonic() < deadline:
        answers.add(client.call("POST", "/generate", FAILING)[0])
        time.sleep(0.1)  # below the throttle
    assert seen == {"ALARM"}
    assert 502 in answers
