"""Failures of a deployed service raise the alarms that docs/runbook.md names; callers' mistakes raise only some."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from support.command import Command
from support.stacks.deployed_stacks import deployed, edited, resource_ids
from support.templates.template_parts import Template

# Both prompts are longer than the max_model_len of 8192. LMI 25 answers the first with a failure that has no reason.
# It answers the second with 500, and quotes vLLM's 400 in the text.
FAILING: dict[str, Any] = {"inputs": "word " * 9000}
MISTAKEN: dict[str, Any] = {"prompt": "word " * 9000}
GOOD: dict[str, Any] = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}
MINUTES = 15  # the longest of the periods that an alarm looks at
DOWN = "OutageDown"


@pytest.fixture(scope="module")
def stack(stacks: dict[str, Stack], tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """Return a deployment with a pager, on LMI 25."""

    def run_lmi_25(template: Template) -> None:
        older = json.dumps(template).replace("0.36.0-lmi28.0.0-cu130", "0.36.0-lmi25.0.0-cu130")
        template.update(json.loads(older))

    return edited(stacks["scaled"], tmp_path_factory.mktemp("failing"), run_lmi_25, "failing")


@pytest.fixture(scope="module")
def api(cloud: LocalCloud, stack: Stack) -> ApiClient:
    return deployed(cloud, stack)


@pytest.fixture
def raised(cloud: LocalCloud, stack: Stack, api: ApiClient) -> Callable[[], set[str]]:
    """Return a function that gives the ids of the alarms that are on, once those of the test before have ended."""
    cloudwatch = cloud.client("cloudwatch", region=stack.region)

    def ids() -> set[str]:
        types = ["CompositeAlarm", "MetricAlarm"]
        on = cloudwatch.describe_alarms(AlarmNamePrefix="failing-", AlarmTypes=types, StateValue="ALARM")
        names = [each["AlarmName"] for kind in ("CompositeAlarms", "MetricAlarms") for each in on[kind]]
        return {re.sub("[0-9A-F]{8}$", "", name.split("-")[1]) for name in names}

    cloud.advance(MINUTES * 60)
    assert ids() == set()
    return ids


def raise_by(
    cloud: LocalCloud, api: ApiClient, raised: Callable[[], set[str]], body: Any, status: int, *expected: str
) -> None:
    for _ in range(MINUTES):
        assert api.call("POST", "/generate", body)[0] == status
        cloud.advance(60)
        if raised() >= set(expected):
            return
    raise AssertionError(f"{raised()} after {MINUTES} minutes of {status}")


def test_failures_of_the_model_raise_the_rollback_alarm_and_mistakes_of_callers_do_not(
    cloud: LocalCloud, api: ApiClient, raised: Callable[[], set[str]], slipway: Command
) -> None:
    raise_by(cloud, api, raised, MISTAKEN, 400, "EndpointAlarmsErrors", "EndpointAlarmsFailures")
    assert not {each for each in raised() if "Rollback" in each or "Outage" in each}
    raise_by(cloud, api, raised, FAILING, 502, "EndpointRollbackAlarmsModelFailures", "ApiAlarmsServerErrors", DOWN)
    found = json.loads(slipway("status", "failing", "--json").stdout)["alarms"]
    places = [each["runbook"].partition("#")[2] for each in found]
    assert {*places} >= {"failures", "model-failures", "server-errors", "service-is-down"}
    assert DOWN in found[0]["name"]
    verified = slipway("verify", "failing", "--json")
    (check,) = (each for each in json.loads(verified.stdout)["checks"] if each["name"] == "alarms")
    assert "https://wiki.example.com/llm/alarms#service-is-down" in check["fix"]


def test_a_failing_minority_is_no_outage(cloud: LocalCloud, api: ApiClient, raised: Callable[[], set[str]]) -> None:
    for _ in range(5):
        assert [api.call("POST", "/generate", body)[0] for body in (GOOD, FAILING)] == [200, 502]
        cloud.advance(60)
    assert "ApiAlarmsServerErrors" in raised()
    assert not {each for each in raised() if "Outage" in each}


def test_a_function_that_lambda_throttles_is_an_outage(
    cloud: LocalCloud, stack: Stack, api: ApiClient, raised: Callable[[], set[str]]
) -> None:
    (generate,) = (name for name in resource_ids(cloud, stack, "AWS::Lambda::Function") if "Generate" in name)
    lambda_ = cloud.client("lambda", region=stack.region)
    lambda_.put_function_concurrency(FunctionName=generate, ReservedConcurrentExecutions=0)
    raise_by(cloud, api, raised, GOOD, 503, "ApiAlarmsThrottles", "ApiAlarmsServerErrors", DOWN)
    lambda_.delete_function_concurrency(FunctionName=generate)
