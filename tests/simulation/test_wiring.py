"""The simulated deployment is wired as the templates wire the real one."""

from typing import Any

import pytest

from simulation import deployment
from simulation.trial import MODES
from simulation.world import SWEEP_EVERY
from support.template_parts import all_of, functions, properties, referred

Templates = dict[str, dict[str, Any]]
NAMES = {"async": "qwen3-4b-async", "realtime": "qwen3-4b"}


@pytest.mark.parametrize("mode", MODES)
def test_functions_have_their_time_limits(templates: Templates, mode: str) -> None:
    handlers = functions(templates[NAMES[mode]])
    # The simulated route POST /generate has one function, whose handler depends on the mode.
    built = {name.removesuffix("_by_job"): each["Timeout"] for name, each in handlers.items()}
    of_jobs = {name for name in built if name != "describe_endpoint"}
    assert {name: built[name] for name in of_jobs} == {name: deployment.TIMEOUTS[name] for name in of_jobs}


@pytest.mark.parametrize(("mode", "consumer"), [("async", "record_result"), ("realtime", "run_job")])
def test_the_queue_feeds_its_function(templates: Templates, mode: str, consumer: str) -> None:
    template = templates[NAMES[mode]]
    source = properties(template, "Lambda::EventSourceMapping")
    assert referred(template, source["FunctionName"])["Handler"].split(".")[-2] == consumer
    assert source["BatchSize"] == deployment.BATCHES[consumer]
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert ("ScalingConfig" in source) is (mode == "realtime")
    queue = referred(template, source["EventSourceArn"])
    assert queue["VisibilityTimeout"] == deployment.VISIBILITY_IN_TIMEOUTS * deployment.TIMEOUTS[consumer]
    assert queue["RedrivePolicy"]["maxReceiveCount"] == deployment.MAX_RECEIVES


@pytest.mark.parametrize("mode", MODES)
def test_the_table_has_the_same_indexes(templates: Templates, mode: str) -> None:
    table = properties(templates[NAMES[mode]], "DynamoDB::Table")
    built = {
        index["IndexName"]: tuple(key["AttributeName"] for key in index["KeySchema"])
        for index in table["GlobalSecondaryIndexes"]
    }
    assert built == deployment.INDEXES
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


@pytest.mark.parametrize("mode", MODES)
def test_the_sweeper_comes_as_often(templates: Templates, mode: str) -> None:
    (rule,) = all_of(templates[NAMES[mode]], "Events::Rule")
    assert rule["ScheduleExpression"] == "rate(1 minute)"
    assert SWEEP_EVERY == 60
