"""The rules over an endpoint file and the deployments on it: each is broken once, and good files break none."""

from pathlib import Path
from typing import Any

import pytest

from llm_hosting.deployment.file import DeploymentError
from llm_hosting.preflight.shared_endpoints import RULES, load_endpoint
from llm_hosting.preflight.validation import load
from support.deployments.shared_project import on_gpus, write_project

GOOD: dict[str, Any] = {"instance_type": "ml.g6.12xlarge", "instance_count": {"min": 0, "max": 1}}
TWO = {"chat": on_gpus(), "code": on_gpus()}
BROKEN: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "endpoint-type-is-known": (
        {"instance_type": "ml.g6.13xlarge"},
        {},
        "instance_type: 'ml.g6.13xlarge' is not in the catalog of endpoint types; use one of ml.g6.",
    ),
    "endpoint-counts-are-in-order": (
        {"instance_count": {"min": 2}},
        {},
        "instance_count.max: 1 is less than min (2); use 2 or more.",
    ),
    "endpoint-names-of-roles-and-tags-are-free": (
        {"security": {"tags": {"slipway:owner": "me"}}},
        {},
        "security.tags.slipway:owner: Slipway keeps tags that begin with slipway:; rename it.",
    ),
    "endpoint-volume-is-allowed": (
        {"volume_size_in_gb": 9},
        {},
        "volume_size_in_gb: 9 is refused on ml.g6.12xlarge, which has its own NVMe disk; remove the setting.",
    ),
    "endpoint-region-has-components": (
        {"region": "eu-west-3"},
        {},
        "region: 'eu-west-3' has no inference components in CloudFormation",
    ),
    "endpoint-has-room": (
        {},
        {"chat": on_gpus(), "code": on_gpus(4)},
        "instance_count.max: has no room for all copies on 1 x ml.g6.12xlarge with 4 accelerators and 192 GiB of "
        "memory each: chat 1 copy of 2 accelerators and 1 GiB of memory, code 1 copy of 4 accelerators and 1 GiB of "
        "memory; use 2, or move a model to another endpoint.",
    ),
    "endpoint-sleeps-with-its-models": (
        {"instance_count": {"min": 1}},
        {"chat": on_gpus(idle="zero"), "code": on_gpus(idle="zero")},
        "instance_count.min: 1 keeps instances although every model on the endpoint sleeps (hosting.idle: zero); use "
        "0.",
    ),
    "endpoint-has-room-to-scale": (
        {},
        {"chat": on_gpus(copies={"max": 2}), "code": on_gpus()},
        "instance_count.max: may leave no room when all models scale out on 1 x ml.g6.12xlarge",
    ),
}


def said(folder: Path, endpoint: dict[str, Any], deployments: dict[str, Any]) -> str:
    project = write_project(folder, {"other": {}, **deployments}, GOOD | endpoint)
    try:
        _, findings = load_endpoint(project / "endpoints" / "gpus.yaml", project)
    except DeploymentError as error:
        return str(error)
    return "\n".join(f"  - {each.field}: {each.message}" for each in findings)


def test_every_rule_has_a_file_that_breaks_it() -> None:
    assert list(BROKEN) == [rule.id for rule in RULES]


@pytest.mark.parametrize(("endpoint", "deployments", "says"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_one_sentence(
    tmp_path: Path, endpoint: dict[str, Any], deployments: dict[str, Any], says: str
) -> None:
    found = said(tmp_path, endpoint, deployments)
    assert f"  - {says}" in found
    assert found.count("  - ") == 1, found


@pytest.mark.parametrize(
    ("endpoint", "deployments"),
    [
        ({}, {}),
        ({}, TWO),
        ({"region": "us-east-1", "instance_count": {"min": 1, "max": 2}}, TWO),
        ({"instance_count": {"min": 1}}, {"chat": on_gpus(idle="zero"), "code": on_gpus()}),
        ({"instance_type": "ml.g5.xlarge"}, {"chat": on_gpus(1)}),
        # An endpoint of another region is another endpoint.
        ({}, {"chat": {**on_gpus(4), "region": "us-east-1"}, "code": {**on_gpus(4), "region": "eu-west-1"}}),
    ],
)
def test_a_good_endpoint_says_nothing(tmp_path: Path, endpoint: dict[str, Any], deployments: dict[str, Any]) -> None:
    assert said(tmp_path, endpoint, deployments) == ""


def test_a_deployment_is_refused_for_want_of_room_beside_the_others(tmp_path: Path) -> None:
    project = write_project(tmp_path, {**TWO, "third": on_gpus()})
    with pytest.raises(DeploymentError, match=r"'shared/gpus' has no room for all copies .*set instance_count.max"):
        load(project / "deployments" / "third.yaml", ())
    (project / "deployments" / "code.yaml").unlink()
    load(project / "deployments" / "third.yaml", ())


def test_the_endpoint_s_role_has_room_for_the_policies_of_all_its_models(tmp_path: Path) -> None:
    def of(prefix: str) -> dict[str, Any]:
        adapters = {f"a{number}": f"s3://bucket/{prefix}{number}/" for number in range(15)}
        return on_gpus(1) | {"model": {"id": "Qwen/Qwen3-0.6B", "adapters": adapters}}

    project = write_project(tmp_path / "two", {"chat": of("chat"), "code": of("code")}, GOOD)
    with pytest.raises(DeploymentError) as refused:
        load(project / "deployments" / "chat.yaml", ())
    assert "hosting.endpoint: 'shared/gpus' has 2 models and 30 adapters, whose policies need about" in str(
        refused.value
    )
    project = write_project(tmp_path / "one", {"chat": of("chat"), "code": on_gpus(1)}, GOOD)
    load(project / "deployments" / "chat.yaml", ())
