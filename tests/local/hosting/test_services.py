"""Two services in one stack of a team's own: both answer, and neither requests nor commands mix them up."""

from collections.abc import Iterator
from pathlib import Path

import aws_cdk as cdk
import pytest

from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack, read_stacks
from local_cloud.checks import mark_as_linted
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import deploy, destroy
from slipway import LlmService
from slipway.shared.aws_clients import Clients
from slipway.stack.deployed_stack import DeployedStack, UnknownStackError, deployed_stacks, find_stack
from support.command import Command
from support.stacks.deployed_stacks import ended
from support.templates.services import REALTIME, an_app, asynchronous

BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}
NOW, LATER = "team-now", "team-later"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    app = an_app(tmp_path_factory.mktemp("team"))
    made = cdk.Stack(app, "team")
    LlmService(made, "Now", deployment=REALTIME)
    LlmService(made, "Later", deployment=asynchronous())
    app.synth()
    (found,) = read_stacks(Path(app.outdir))
    mark_as_linted(found)  # tests/templates/service lints such a stack
    return found


@pytest.fixture(scope="module")
def services(cloud: LocalCloud, stack: Stack) -> Iterator[dict[str, DeployedStack]]:
    deploy(cloud, stack)
    yield {name: find_stack(name, clients(cloud, stack)) for name in (NOW, LATER)}
    destroy(cloud, stack)


@pytest.fixture(scope="module")
def apis(cloud: LocalCloud, stack: Stack, services: dict[str, DeployedStack]) -> dict[str, ApiClient]:
    return {name: connect(cloud, each.outputs, stack.region) for name, each in services.items()}


def clients(cloud: LocalCloud, stack: Stack) -> Clients:
    return lambda service: cloud.client(service, region=stack.region)


def test_both_services_answer(apis: dict[str, ApiClient]) -> None:
    assert apis[NOW].call("POST", "/generate", BODY)[0] == 200
    assert apis[LATER].call("POST", "/generate?wait=25", {"prompt": "A list is", "max_tokens": 3})[0] == 200


def test_a_job_of_one_service_is_unknown_to_the_other(apis: dict[str, ApiClient]) -> None:
    job = ended(apis[NOW], apis[NOW].call("POST", "/jobs", BODY)[2])
    assert job["status"] == "succeeded"
    assert apis[LATER].call("GET", f"/jobs/{job['id']}")[0] == 404


def test_the_commands_know_each_service_by_its_name(services: dict[str, DeployedStack], slipway: Command) -> None:
    for name, model in ((NOW, "openai-community/gpt2"), (LATER, "Qwen/Qwen3-4B")):
        assert services[name].label.model == model
        outcome = slipway("status", name)
        assert outcome.status == 0, outcome.stderr
        assert model in outcome.stdout


def test_resources_belong_to_one_service(services: dict[str, DeployedStack]) -> None:
    first, other = (services[name].resources for name in (NOW, LATER))
    for kind in ("AWS::DynamoDB::Table", "AWS::Lambda::Function", "AWS::Logs::LogGroup", "AWS::CloudWatch::Alarm"):
        assert first[kind]
        assert set(first[kind]).isdisjoint(other[kind])


def test_the_name_of_the_teams_stack_is_refused_with_the_names_of_its_services(
    cloud: LocalCloud, stack: Stack, services: dict[str, DeployedStack]
) -> None:
    with pytest.raises(UnknownStackError, match=f"name a service in it: ({NOW}, {LATER}|{LATER}, {NOW})"):
        find_stack("team", clients(cloud, stack))
    assert {NOW, LATER} <= {each.name for each in deployed_stacks(clients(cloud, stack))}


def test_purge_takes_nothing_of_a_service_that_lives(services: dict[str, DeployedStack], slipway: Command) -> None:
    outcome = slipway("purge", NOW, "--yes")
    assert outcome.status == 0, outcome.stderr
    assert "Nothing of earlier stacks and updates" in outcome.stdout


def test_a_service_is_not_destroyed_with_the_teams_stack(services: dict[str, DeployedStack], slipway: Command) -> None:
    outcome = slipway("destroy", NOW, "--yes")
    assert outcome.status == 2
    assert "is a part of your stack team; remove it from your app, and deploy." in outcome.stderr
