"""The simulated deployment is wired as the accepted templates wire the real one."""

import json
from pathlib import Path
from typing import Any

import pytest

from inference_api.handlers import every_minute, route
from simulation.callers.trial import MODES
from simulation.world import deployment
from simulation.world.world import SWEEP_EVERY
from support.templates.template_parts import Template, all_of, functions, properties, referred

SNAPSHOTS = Path(__file__).parents[1] / "templates" / "__snapshots__" / "test_snapshots"
NAMES = {"async": "qwen3-4b-async", "realtime": "qwen3-4b", "ec2": "gpt2-ec2"}


@pytest.mark.parametrize("mode", MODES)
def test_the_simulated_deployment_is_the_accepted_one(mode: str) -> None:
    template: Template
    template = json.loads((SNAPSHOTS / f"test_the_template_is_the_accepted_one[{NAMES[mode]}].json").read_text())
    # A handler is simulated with the timeout of its function. That of POST /generate depends on the mode.
    timeouts = {name.removesuffix("_by_job"): each["Timeout"] for name, each in functions(template).items()}
    modules = {"route": route.MODULES, "every_minute": every_minute.MODULES}
    for name, handlers in modules.items():
        timeouts |= {module.rpartition(".")[2]: timeouts[name] for module in handlers.values()}
        del timeouts[name]
    del timeouts["models"]  # no part of a job's life
    assert timeouts == {name: deployment.TIMEOUTS[name] for name in timeouts}

    queue = _queue_of_machines(template) if mode == "ec2" else _queue_of_a_function(template, mode)
    assert queue["RedrivePolicy"]["maxReceiveCount"] == deployment.MAX_RECEIVES

    table = properties(template, "DynamoDB::Table")
    indexes = {
        index["IndexName"]: tuple(key["AttributeName"] for key in index["KeySchema"])
        for index in table["GlobalSecondaryIndexes"]
    }
    assert indexes == deployment.INDEXES
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    rules = all_of(template, "Events::Rule")
    schedules = {rule["ScheduleExpression"] for rule in rules if "EventPattern" not in rule}
    assert schedules == {f"rate({SWEEP_EVERY // 60:.0f} minute)"}


def _queue_of_machines(template: Template) -> dict[str, Any]:
    (queue,) = (each for each in all_of(template, "SQS::Queue") if "RedrivePolicy" in each)
    assert queue["VisibilityTimeout"] == deployment.VISIBILITY_OF_MACHINES
    return queue


def _queue_of_a_function(template: Template, mode: str) -> dict[str, Any]:
    source = properties(template, "Lambda::EventSourceMapping")
    consumer = referred(template, source["FunctionName"])["Handler"].split(".")[-2]
    assert source["BatchSize"] == deployment.BATCHES[consumer]
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    if mode == "async":
        assert source["ScalingConfig"] == {"MaximumConcurrency": deployment.MOST_RECORDERS}
    queue = referred(template, source["EventSourceArn"])
    assert queue["VisibilityTimeout"] == deployment.VISIBILITY_IN_TIMEOUTS * deployment.TIMEOUTS[consumer]
    return queue
