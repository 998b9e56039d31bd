"""A deployment takes the settings of its shared endpoint from the endpoint's file, and contradicts none of them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_hosting.deployment.endpoint_file import find_endpoint, read_endpoint
from llm_hosting.deployment.file import parse
from support.deployments.shared_project import on_gpus, write_project

KEY = "arn:aws:kms:us-east-1:111122223333:key/1111abcd"


def parsed(folder: Path, deployment: dict[str, Any], **endpoint: Any) -> Any:
    project = write_project(folder, {"chat": deployment}, {"instance_type": "ml.g6.12xlarge", **endpoint})
    return parse(project / "deployments" / "chat.yaml")


def problems(folder: Path, deployment: dict[str, Any], **endpoint: Any) -> list[str]:
    return [f"{each.place}: {each.message}" for each in parsed(folder, deployment, **endpoint).problems]


def test_the_endpoint_file_gives_what_the_deployment_leaves_out(tmp_path: Path) -> None:
    deployment, found, _ = parsed(
        tmp_path, on_gpus(), region="us-east-1", instance_count={"min": 0, "max": 3}, network_isolation=True
    )
    assert found == []
    assert (deployment.region, deployment.hosting.instance_type) == ("us-east-1", "ml.g6.12xlarge")
    assert deployment.hosting.network_isolation
    assert (deployment.instance_count.min, deployment.instance_count.max) == (0, 3)
    assert deployment.uses_components


def test_the_same_setting_may_stand_in_both_files(tmp_path: Path) -> None:
    assert problems(tmp_path, on_gpus(instance_type="ml.g6.12xlarge")) == []


@pytest.mark.parametrize(
    ("own", "endpoint", "says"),
    [
        (
            on_gpus(instance_type="ml.g6.xlarge"),
            {},
            "hosting.instance_type: 'ml.g6.xlarge' contradicts endpoints/gpus.yaml, the file of the shared endpoint, "
            "which says 'ml.g6.12xlarge'; leave it out here.",
        ),
        (
            on_gpus(volume_kms_key_arn=KEY),
            {},
            f"hosting.volume_kms_key_arn: '{KEY}' contradicts endpoints/gpus.yaml, the file of the shared endpoint, "
            "which leaves it out; leave it out here.",
        ),
        (
            {**on_gpus(), "region": "eu-west-1"},
            {"region": "us-east-1"},
            "region: 'eu-west-1' contradicts endpoints/gpus.yaml, the file of the shared endpoint, which says "
            "'us-east-1'; leave it out here.",
        ),
        (
            on_gpus(endpoint="shared/gpu"),
            {},
            "hosting.endpoint: 'shared/gpu' is the file endpoints/gpu.yaml, and there is none; write it, or use "
            "shared/gpus.",
        ),
        (
            on_gpus(),
            {"instance_counts": {}},
            "hosting.endpoint: endpoints/gpus.yaml is refused: instance_counts: is not a known key of Slipway",
        ),
        (
            on_gpus(endpoint="gpus", instance_type="ml.g6.12xlarge"),
            {},
            "hosting.endpoint: 'gpus' has the wrong form; use this form: `mode: realtime` only: `shared/<name>` is",
        ),
    ],
)
def test_a_contradiction_is_one_sentence(
    tmp_path: Path, own: dict[str, Any], endpoint: dict[str, Any], says: str
) -> None:
    found = problems(tmp_path, own, **endpoint)
    assert found[0].startswith(says), found


def test_an_overlay_moves_its_base_to_a_shared_endpoint_without_its_type(tmp_path: Path) -> None:
    base = {"model": {"id": "Qwen/Qwen3-0.6B"}, "hosting": {"instance_type": "ml.g6.xlarge"}}
    own = {"extends": "chat", "hosting": {"endpoint": "shared/gpus", "instance_type": None}}
    project = write_project(tmp_path, {"chat": base, "chat/prod": own})
    deployment, found, _ = parse(project / "deployments" / "chat" / "prod.yaml")
    assert found == []
    assert deployment
    assert deployment.hosting.instance_type == "ml.g6.12xlarge"


@pytest.mark.parametrize("name", ["Gpus", "gpus-", "a" * 38, "gp_us"])
def test_a_name_that_no_stack_can_have_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump({"instance_type": "ml.g6.12xlarge"}))
    endpoint, (problem,) = read_endpoint(path)
    assert endpoint is None
    assert "can't be an endpoint's name; rename the file" in problem.message


@pytest.mark.parametrize("name", ["endpoints/gpus", "slipway-endpoint-gpus", "endpoints/gpus.yaml"])
def test_an_endpoint_has_three_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    project = write_project(tmp_path, {"chat": on_gpus()})
    monkeypatch.chdir(project)
    assert find_endpoint(name, project) == project / "endpoints" / "gpus.yaml"
    assert find_endpoint("chat", project) is None
    assert find_endpoint("deployments/chat.yaml", project) is None
