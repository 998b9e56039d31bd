"""`slipway` status, verify, list, call and bench on a deployed model that sleeps, and after a start that fails."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError, deploy
from slipway.measuring.figures.results import read
from support.command import Command
from support.patience import wait_for
from support.stacks.component_endpoints import PlacedComponent, order
from support.stacks.deployed_stacks import Apis, edited
from support.templates.template_parts import Template

NAME = "qwen3-4b-zero"


@pytest.fixture(scope="module")
def component(apis: Apis, cloud: LocalCloud, stacks: dict[str, Stack]) -> PlacedComponent:
    apis(NAME)
    region = stacks[NAME].region
    listed = cloud.client("sagemaker", region=region).list_inference_components(NameContains=NAME)
    (found,) = listed["InferenceComponents"]
    return PlacedComponent(cloud, found["InferenceComponentName"], found["EndpointName"], region)


@pytest.fixture
def asleep(component: PlacedComponent, cloud: LocalCloud) -> Iterator[PlacedComponent]:
    component.fall_asleep()
    component.release_instances()
    yield component
    order(cloud, {"start_seconds": 2})


def state(slipway: Command) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(slipway("status", NAME, "--json").stdout)
    return found


def test_status_and_list_show_that_it_sleeps_for_nothing_and_wake_nobody(
    asleep: PlacedComponent, slipway: Command
) -> None:
    page = slipway("status", NAME).stdout
    assert "InService, 0 of 0 copies, asleep" in page
    assert "cost        no instance runs" in page
    (row,) = (each for each in json.loads(slipway("list", "--json").stdout) if each["name"] == NAME)
    assert row["usd_per_hour"] == 0
    assert state(slipway)["component"]["state"] == "asleep"


def test_a_month_of_a_model_that_sleeps_is_priced_without_an_instance(
    asleep: PlacedComponent, slipway: Command
) -> None:
    found = json.loads(slipway("cost", NAME, "--json").stdout)
    (instances,) = found["instances"]
    assert (instances["type"], instances["usd_per_hour"]) == ("ml.g6.2xlarge", 1.222)
    ways = {each["way"]: each for each in found["ways_to_idle"]}
    assert ways["zero"]["hours"] <= ways["always-on"]["hours"]
    assert ways["ec2"]["problem"] == "machines have no GPU"
    assert found["wake_in_seconds"] == state(slipway)["wakes"]["usual_seconds"]


def test_verify_wakes_it_and_finds_all_good(asleep: PlacedComponent, slipway: Command) -> None:
    before = state(slipway)["wakes"]["today"]
    outcome = slipway("verify", NAME)
    assert (outcome.status, outcome.stderr) == (0, ""), outcome.stdout
    assert "with 0 of 0 copies; the calls below wake it" in outcome.stdout
    assert state(slipway)["component"]["state"] == "ready"
    assert state(slipway)["wakes"]["today"] == before + 1


def test_a_call_says_that_it_waits_for_a_copy(asleep: PlacedComponent, slipway: Command) -> None:
    outcome = slipway("call", NAME, "A list is", "--max-tokens", "4")
    assert outcome.status == 0
    assert outcome.stdout.strip()
    assert "No copy of the model is awake; one starts for this call" in outcome.stderr


def test_a_wake_is_measured_from_the_first_call_to_the_first_token(
    asleep: PlacedComponent, slipway: Command, tmp_path: Path
) -> None:
    small = ("--clients", "1", "--requests", "1", "--rounds", "1", "--warm-up", "1")
    outcome = slipway("bench", NAME, "--from-zero", *small, "-o", str(tmp_path))
    assert outcome.status == 0, outcome.stderr
    (folder,) = (tmp_path / NAME).iterdir()
    start = read(folder).start
    assert start
    assert (start.kind, "first_token" in start.parts) == ("zero", True)
    assert sum(start.parts.values()) > 2, "an instance of the local cloud takes 2 s to start"


def test_a_start_without_a_free_instance_is_told_by_status(
    asleep: PlacedComponent, cloud: LocalCloud, slipway: Command
) -> None:
    order(cloud, {"fault": "quota", "count": 1})
    slipway("call", NAME, "A list is", "--max-tokens", "4", "--job", "--timeout", "1")

    def failed() -> dict[str, Any] | None:
        found: dict[str, Any] | None = state(slipway)["failure"]
        return found

    failure = wait_for(failed, "a start that failed")
    assert "for endpoint usage" in failure["reason"]
    assert failure["cause"] == "the account's quota is too small: `slipway doctor qwen3-4b-zero` names it"


def without_a_model(template: Template) -> None:
    for each in template["Resources"].values():
        if each["Type"] == "AWS::SageMaker::Model":
            each["Properties"]["PrimaryContainer"]["Environment"] = {}


def test_a_component_that_never_gets_ready_is_explained_by_its_log(
    cloud: LocalCloud, stacks: dict[str, Stack], slipway: Command, tmp_path: Path
) -> None:
    with pytest.raises(DeployError):
        deploy(cloud, edited(stacks[NAME], tmp_path, without_a_model, "never-ready"))
    page = slipway("status", "never-ready").stdout
    assert "failure     " in page
    assert "log         " in page
    assert "no model: " in page
