"""Several deployments on one endpoint: in order, each with its own answers, and guarded when one goes."""

import json
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack, read_stacks, synthesize
from local_cloud.checks import check
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError, deploy, destroy
from support.command import Command, command_on
from support.deployments.shared_project import on_gpus, write_project
from support.stacks.small_stacks import REGION

BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}
ENDPOINT = "slipway-endpoint-gpus"
NAMES = ("chat", "code", "brief")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stack]:
    content = {name: on_gpus(1) | {"api": {"access_logs": False}} for name in NAMES}
    project = write_project(tmp_path_factory.mktemp("shared") / "project", content)
    files = [str(project / "deployments" / f"{name}.yaml") for name in NAMES]
    found = {each.name: each for each in read_stacks(synthesize([ENDPOINT, *files]))}
    check(*found.values())
    return found


@pytest.fixture(scope="module")
def clients(bare_cloud: LocalCloud, made: dict[str, Stack]) -> Iterator[dict[str, ApiClient]]:
    """Deploy the endpoint, then all deployments on it, and destroy them before it."""
    deploy(bare_cloud, made[ENDPOINT])
    yield {name: connect(bare_cloud, deploy(bare_cloud, made[name]), REGION) for name in NAMES}
    for name in NAMES:
        destroy(bare_cloud, made[name])
    destroy(bare_cloud, made[ENDPOINT])


@pytest.fixture
def slipway(bare_cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return command_on(bare_cloud, REGION, monkeypatch, capsys)


def test_a_deployment_before_its_endpoint_is_refused(bare_cloud: LocalCloud, made: dict[str, Stack]) -> None:
    with pytest.raises(DeployError, match=ENDPOINT):
        deploy(bare_cloud, made["chat"])
    destroy(bare_cloud, made["chat"])


def test_each_answers_by_its_own_component(clients: dict[str, ApiClient], bare_cloud: LocalCloud) -> None:
    seen = set()
    for client in clients.values():
        assert client.call("POST", "/generate", BODY)[0] == 200
        status, _, endpoint = client.call("GET", "/endpoint")
        assert (status, endpoint["status"], endpoint["model_id"]) == (200, "InService", "Qwen/Qwen3-0.6B")
        seen.add(endpoint["name"])
    assert len(seen) == 1, "they share the endpoint"
    listed = bare_cloud.client("sagemaker", region=REGION).list_inference_components(EndpointNameEquals=seen.pop())
    assert len(listed["InferenceComponents"]) == len(NAMES)


def test_status_shows_the_packing_and_the_bill_once(clients: dict[str, ApiClient], slipway: Command) -> None:
    endpoint = json.loads(slipway("status", "endpoints/gpus", "--json").stdout)
    assert endpoint["instances"] == {"current": 1, "desired": 1, "types": {"ml.g6.12xlarge": 1}}
    taken = {
        each["name"].rpartition("-")[0]: (each["copies"]["current"], each["accelerators"])
        for each in endpoint["components"]
    }
    assert taken == dict.fromkeys(NAMES, (1, 1))
    assert "copies take 3 of 4 accelerators" in slipway("status", "endpoints/gpus").stdout
    priced = {each["name"]: each["usd_per_hour"] for each in json.loads(slipway("list", "--json").stdout)}
    assert round(priced[ENDPOINT], 2) == endpoint["usd_per_hour"] > 0
    assert [priced[name] for name in NAMES] == [0] * len(NAMES)


def test_the_hours_are_the_endpoints_and_each_model_has_its_calls(
    clients: dict[str, ApiClient], slipway: Command
) -> None:
    assert clients["chat"].call("POST", "/generate", BODY)[0] == 200
    endpoint, chat = (json.loads(slipway("cost", name, "--json").stdout) for name in ("endpoints/gpus", "chat"))
    assert [each["type"] for each in endpoint["instances"]] == ["ml.g6.12xlarge"]
    calls = {each["model"].rpartition("-")[0]: each["calls"] for each in endpoint["models"]}
    assert sorted(calls) == sorted(NAMES)
    assert calls["chat"] == chat["models"][0]["calls"] > 0
    assert (chat["instances"], chat["ways_to_idle"], chat["shares_endpoint"]) == ([], [], True)


def test_verify_knows_both_kinds_of_stack(clients: dict[str, ApiClient], slipway: Command) -> None:
    for name in ("code", "endpoints/gpus"):
        outcome = slipway("verify", name)
        assert (outcome.status, "FAILED" in outcome.stdout) == (0, False), outcome.stdout


def test_an_endpoint_in_use_is_not_destroyed(
    clients: dict[str, ApiClient], bare_cloud: LocalCloud, slipway: Command
) -> None:
    outcome = slipway("destroy", "endpoints/gpus", "--yes")
    assert outcome.status == 1
    assert outcome.stderr.endswith(f"{ENDPOINT} is in use by brief, chat, code; destroy what stands on it first.\n")
    with pytest.raises(ClientError, match=f"Export {ENDPOINT}.* is imported by stack"):
        bare_cloud.client("cloudformation", region=REGION).delete_stack(StackName=ENDPOINT)
    assert clients["code"].call("POST", "/generate", BODY)[0] == 200


def test_a_deployment_goes_and_the_others_answer(
    clients: dict[str, ApiClient], bare_cloud: LocalCloud, made: dict[str, Stack], slipway: Command
) -> None:
    destroy(bare_cloud, made["brief"])
    assert clients["chat"].call("POST", "/generate", BODY)[0] == 200
    assert clients["code"].call("POST", "/generate", BODY)[0] == 200
    assert "copies take 2 of 4 accelerators" in slipway("status", "endpoints/gpus").stdout
