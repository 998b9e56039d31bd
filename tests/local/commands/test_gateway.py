"""`slipway gateway` on deployed stacks."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from local_cloud.api_client import ApiClient
from support.command import Command
from support.stacks.deployed_stacks import Apis

KEYED, SIGNED = "with-api-key", "bge-small"
MODEL = "openai-community/gpt2"


@pytest.fixture(scope="module", autouse=True)
def deployed(apis: Apis) -> dict[str, ApiClient]:
    return {name: apis(name) for name in (KEYED, SIGNED)}


def written(slipway: Command, *arguments: str) -> Any:
    outcome = slipway("gateway", *arguments)
    assert outcome.status == 0, outcome.stderr
    return yaml.safe_load(outcome.stdout)


def test_a_deployments_url_names_and_routes_are_read_from_its_stack(
    slipway: Command, deployed: dict[str, ApiClient]
) -> None:
    (entry,) = written(slipway, KEYED)["model_list"]
    assert entry["model_name"] == MODEL
    assert entry["litellm_params"]["model"] == f"openai/{MODEL}"
    assert entry["litellm_params"]["api_base"] == deployed[KEYED].url.rstrip("/")
    assert entry["litellm_params"]["api_key"] == "os.environ/SLIPWAY_KEY_WITH_API_KEY"
    assert entry["model_info"]["mode"] == "completion"


def test_without_names_all_that_answer_openais_clients_are_written(slipway: Command) -> None:
    outcome = slipway("gateway")
    names = [each["model_name"] for each in yaml.safe_load(outcome.stdout)["model_list"]]
    assert names == [MODEL]
    assert f"{SIGNED} is left out: its callers sign their requests" in outcome.stderr


def test_the_variables_are_told_with_the_command_that_shows_a_key(slipway: Command) -> None:
    outcome = slipway("gateway", KEYED)
    assert "LITELLM_MASTER_KEY: " in outcome.stderr
    assert f"SLIPWAY_KEY_WITH_API_KEY: a key of {KEYED}, from: slipway keys create {KEYED} crawler" in outcome.stderr


def test_a_key_is_never_written(slipway: Command, deployed: dict[str, ApiClient]) -> None:
    outcome = slipway("gateway", KEYED)
    assert str(deployed[KEYED].api_key) not in outcome.stdout + outcome.stderr


def test_the_file_is_written(slipway: Command, tmp_path: Path) -> None:
    outcome = slipway("gateway", KEYED, "--output", str(tmp_path / "config.yaml"))
    assert (outcome.status, outcome.stdout) == (0, "")
    assert [each["model_name"] for each in yaml.safe_load((tmp_path / "config.yaml").read_text())["model_list"]] == [
        MODEL
    ]


def test_envoys_resources_are_written(slipway: Command) -> None:
    outcome = slipway("gateway", KEYED, "--for", "envoy")
    kinds = {each["kind"] for each in yaml.safe_load_all(outcome.stdout)}
    assert {"AIGatewayRoute", "AIServiceBackend", "BackendSecurityPolicy"} <= kinds
    assert "slipway-with-api-key" in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((SIGNED,), ["bge-small: its callers sign their requests", "set api.auth: api-key"]),
        (("gpt3",), ["gpt3: there is no such stack", "did you mean"]),
        ((KEYED, "--weight", f"{KEYED}=9"), ["no other deployment serves the same model"]),
        ((KEYED, "--fallback", f"{KEYED}=gpt2"), ["--fallback gpt2: the gateway has no such deployment"]),
        ((KEYED, "--output", "/nowhere/config.yaml"), ["/nowhere/config.yaml can't be written"]),
        (("--fleet", "no-fleet"), ["There is no fleet 'no-fleet'"]),
    ],
)
def test_what_can_not_be_written_is_said_in_a_sentence(
    slipway: Command, arguments: tuple[str, ...], words: list[str]
) -> None:
    outcome = slipway("gateway", *arguments)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert [word for word in words if word not in outcome.stderr] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((KEYED, "--weight", "9"), "'9' must be a deployment's name and a share from 1 to 1000"),
        ((KEYED, "--weight", f"{KEYED}=0"), "a share from 1 to 1000"),
        ((KEYED, "--weight", f"{KEYED}=1", "--weight", f"{KEYED}=2"), "--weight names a deployment twice"),
        ((KEYED, "--fallback", KEYED), "must be two names of deployments"),
        ((KEYED, "--fleet", "qwen3-4b"), "not allowed with argument"),
        ((KEYED, "--for", "nginx"), "'nginx' is not known"),
    ],
)
def test_wrong_options_are_refused(slipway: Command, arguments: tuple[str, ...], words: str) -> None:
    outcome = slipway("gateway", *arguments)
    assert outcome.status == 2
    assert words in outcome.stderr
