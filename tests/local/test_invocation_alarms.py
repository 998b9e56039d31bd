"""Failing invocations raise the alarms of a deployed endpoint."""

from dataclasses import replace

from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from support.deployed_stacks import deployed

FAILING = {"inputs": "a", "parameters": {"max_new_tokens": 9000}}  # more than its max_model_len: the container says 424
MINUTES = 15  # the longest of the periods that an alarm looks at


def test_failing_invocations_raise_the_alarms_on_failures(cloud: LocalCloud, stacks: dict[str, Stack]) -> None:
    stack = replace(stacks["qwen3-4b"], name="failing")
    client, cloudwatch = deployed(cloud, stack), cloud.client("cloudwatch", region=stack.region)

    def states() -> set[str]:
        alarms = cloudwatch.describe_alarms(AlarmNamePrefix="failing-")["MetricAlarms"]
        return {alarm["StateValue"] for alarm in alarms if "Failures" in alarm["AlarmName"]}

    assert "ALARM" not in states()
    for _ in range(MINUTES):
        assert client.call("POST", "/generate", FAILING)[0] == 502
        cloud.advance(60)
        if states() == {"ALARM"}:
            return
    raise AssertionError(f"the alarms are {states()} after {MINUTES} minutes of failures")
