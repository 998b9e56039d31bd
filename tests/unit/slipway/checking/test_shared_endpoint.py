"""`slipway check` of a shared endpoint and of deployments on one, and what `deploy` takes."""

import json
from pathlib import Path
from typing import Any

import pytest

from slipway.checking.check import CheckOptions, run
from slipway.cli.arguments import stack_name
from slipway.deploying import deploy
from support.deployments.shared_project import on_gpus, write_project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path, {"chat": on_gpus(1, copies={"max": 2}), "code": on_gpus(2, idle="zero")})


def check(project: Path, *names: str, **options: Any) -> int:
    return run(names, project, CheckOptions(**options))


def test_an_endpoint_is_shown_with_what_stands_on_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(project, "endpoints/gpus") == 0
    assert capsys.readouterr().out.splitlines() == [
        "endpoints/gpus: 0 to 1 x ml.g6.12xlarge with 4 accelerators and 192 GiB of memory each",
        "  price       about 5.75 USD an hour, and nothing while all models sleep",
        "  deployment  chat: 1 to 2 copies of 1 accelerator and 1 GiB of memory",
        "  deployment  code: 1 copy of 2 accelerators and 1 GiB of memory",
        "  instance    1: 1 x code, 1 x chat",
    ]


def test_the_json_has_the_same(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(project, "endpoints/gpus", as_json=True) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["packing"] == [{"chat": 1, "code": 1}]
    assert content["room"] == {"accelerators": 4, "cpu_cores": 48, "memory_in_mb": 196_608}
    assert content["deployments"]["chat"]["copies"] == {"min": 1, "max": 2}


def test_a_refused_endpoint_is_exit_status_1(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "deployments" / "third.yaml").write_text(json.dumps(on_gpus(2)))
    assert check(project, "endpoints/gpus") == 1
    assert "instance_count.max: has no room for all copies" in capsys.readouterr().err


def test_an_unknown_endpoint_is_told_the_known_ones(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(project, "endpoints/nope") == 2
    assert capsys.readouterr().err.endswith(" Endpoints: endpoints/gpus.\n")


def test_a_copy_larger_than_an_instance_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "deployments" / "third.yaml").write_text(json.dumps(on_gpus(8)))
    assert check(project, "endpoints/gpus") == 1
    said = (
        "instance_type: ml.g6.12xlarge has 4 accelerators and 192 GiB of memory, and a copy of third takes 8 "
        "accelerators and 1 GiB of memory; lower serving.tensor_parallel_degree of third, or use a larger instance_type"
    )
    assert said in capsys.readouterr().err


def test_a_deployment_shows_its_endpoint_and_no_bill_of_its_own(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(project)
    assert check(project, "code") == 0
    said = capsys.readouterr().out
    assert "instance    0 to 1 x ml.g6.12xlarge; realtime" in said
    assert "endpoint    shared/gpus, 1 x ml.g6.12xlarge" in said
    assert "copies      1 on shared/gpus, each on 2 of 4 x NVIDIA L4" in said
    assert "price       about 5.75 USD an hour for all models of shared/gpus" in said
    assert "quota" not in said


def test_endpoints_and_deployments_are_named_one_kind_at_a_time(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(project, "endpoints/gpus", "chat") == 2
    assert "Check endpoints and deployments one after the other" in capsys.readouterr().err
    assert deploy.run(["endpoints/gpus", "chat"], project, None, sure=True, timeout=1) == 2
    assert capsys.readouterr().err == "Deploy endpoints/gpus alone, before the others.\n"


@pytest.mark.parametrize("name", ["endpoints/gpus", "endpoints/gpus.yaml", "slipway-endpoint-gpus"])
def test_verbs_for_stacks_know_an_endpoint(name: str) -> None:
    assert stack_name(name) == "slipway-endpoint-gpus"
