"""`check` by what the model says now: `--hub`, and a model without a file."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from slipway.__main__ import main
from slipway.checking.check import CheckOptions, run
from slipway.locking import lock
from support.stand_ins.hub_models import CONFIG, MODEL, files, safetensors
from support.stand_ins.hub_server import HubServer

AWAY = "http://127.0.0.1:9"


def reported(root: Path, name: str, capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    assert run([name], root, CheckOptions(as_json=True, **options)) in (0, 1)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(root: Path, name: str, capsys: pytest.CaptureFixture[str], **options: Any) -> str:
    assert run([name], root, CheckOptions(**options)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


def test_the_hub_is_asked_and_nothing_is_written(
    hub: HubServer, deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = reported(deployment.parent, str(deployment), capsys, hub=True)
    assert found["facts"] == f"Hugging Face Hub, commit {hub.main[:7]}"
    assert found["figures"][0]["weights_in_gb"] is not None
    assert [each.name for each in deployment.parent.iterdir()] == [deployment.name]


def test_weights_in_a_format_without_a_name_need_the_memory_of_their_files(
    hub: HubServer, deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.push(files({**CONFIG, "quantization_config": {"quant_method": "gptq", "bits": 8}}))
    assert lock.run(str(deployment), deployment.parent) == 0
    file = deployment.with_suffix(".lock.json")
    content = json.loads(file.read_text())
    assert capsys.readouterr().out.endswith(f"{content['facts']['weights_in_gb']:g} GB of weights\n")
    content["facts"]["weights_in_gb"] = 70.0
    file.write_text(json.dumps(content))
    found = reported(deployment.parent, str(deployment), capsys)
    problems = {each["rule"]: each["problem"] for each in found["findings"]}
    assert "the gptq with 8 bits weights of my-org/tuned-gptq need 70.0 GB" in problems["weights-fit-memory"]
    assert "the form of 'gptq with 8 bits' in the model's files is not in the catalog" in problems["support-is-known"]


def test_what_has_changed_since_the_lock_is_said(
    hub: HubServer, deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lock.run(str(deployment), deployment.parent) == 0
    capsys.readouterr()
    assert reported(deployment.parent, str(deployment), capsys, hub=True)["facts"].endswith("; the lock says the same")
    before = hub.main
    hub.push(files(CONFIG | {"num_hidden_layers": 3}))
    facts = reported(deployment.parent, str(deployment), capsys, hub=True)["facts"]
    assert f"the lock says otherwise: commit {before[:7]} -> {hub.main[:7]}, layers 2 -> 3, files, such as " in facts
    deployment.with_suffix(".lock.json").write_text("{}")
    assert (
        "; model has no facts: tuned.lock.json "
        in reported(deployment.parent, str(deployment), capsys, hub=True)["facts"]
    )


def test_a_model_without_a_file_is_judged_on_a_type(
    hub: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = reported(tmp_path, MODEL, capsys, on=["ml.g4dn.xlarge"])
    assert (found["name"], found["model"], found["verdict"]) == ("tuned-gptq", MODEL, "ready")
    # Of a type whose size is not known, so that a small file holds a large model.
    hub.push({"config.json": files()["config.json"], "a.safetensors": safetensors({"a": ("F4", [10**5, 10**6], 64)})})
    found = reported(tmp_path, MODEL, capsys, on=["ml.g4dn.xlarge"])
    assert "weights-fit-memory" in {each["rule"] for each in found["findings"]}


def test_a_deployment_is_judged_on_another_type_with_its_lock(
    hub: HubServer, deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lock.run(str(deployment), deployment.parent) == 0
    capsys.readouterr()
    found = reported(deployment.parent, str(deployment), capsys, on=["ml.g5.2xlarge", "ml.g4dn.xlarge"])
    assert [each["instance_type"] for each in found["figures"]] == ["ml.g5.2xlarge", "ml.g4dn.xlarge"]
    assert found["facts"].startswith("tuned.lock.json, commit")
    assert found["figures"][0]["context"] == 2048


def test_a_hub_that_is_away_leaves_the_catalog(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", AWAY)
    facts = reported(tmp_path, "Qwen/Qwen3-8B", capsys, on=["ml.g6.12xlarge"])["facts"]
    assert facts.startswith(f"the catalog; {AWAY} could not be asked")
    said = refused(tmp_path, "my-org/unheard-of", capsys, on=["ml.g6.xlarge"])
    assert f"The catalog has no row of my-org/unheard-of, and {AWAY} could not be asked" in said


def test_a_hub_that_is_away_can_not_be_asked(
    deployment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", AWAY)
    assert f"{AWAY} could not be asked" in refused(deployment.parent, str(deployment), capsys, hub=True)
    known = refused(deployment.parent, "Qwen/Qwen3-8B", capsys, hub=True, on=["ml.g6.12xlarge"])
    assert f"{AWAY} could not be asked" in known, "the Hub was asked for by name"


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"hidden_size": [1, 2], "head_dim": None}, "head_size"),
        ({"quantization_config": "gptq"}, "parameters_in_billions"),
        ({"torch_dtype": {}}, "dtype"),
    ],
    ids=str,
)
def test_settings_that_no_model_has_are_unknown(
    hub: HubServer, deployment: Path, change: dict[str, Any], fact: str
) -> None:
    hub.push(files(CONFIG | change))
    assert lock.run(str(deployment), deployment.parent) == 0
    assert json.loads(deployment.with_suffix(".lock.json").read_text())["facts"][fact] is None


def test_that_no_file_names_the_token_of_a_gated_model_speaks_against_no_type(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.token = "hf_mine"
    assert f"{MODEL} is gated" in refused(tmp_path, MODEL, capsys, on=["ml.g6.xlarge"])
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    found = reported(tmp_path, MODEL, capsys, on=["ml.g6.xlarge"])
    levels = {each["rule"]: each["level"] for each in found["findings"]}
    assert (found["verdict"], levels["gated-model-needs-token"]) == ("ready", "warning")


def test_a_model_on_a_type_with_ec2s_name_is_judged_on_machines(
    hub: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = reported(tmp_path, MODEL, capsys, on=["c7i.xlarge"])
    assert (found["mode"], found["engine"], found["verdict"]) == ("ec2", "transformers", "ready")


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--on", "ml.g6.xlrge", "'ml.g6.xlrge' is not an instance type; use one of ml.g6.xlarge, "),
        ("--on", "", "'' is not an instance type; use one of "),
        ("--on", ",".join(["ml.g6.xlarge"] * 6), "6 types are too many; name at most 5"),
        ("--engine", "vlm", "'vlm' is not an engine; use vllm"),
    ],
)
def test_a_type_or_engine_that_is_none_is_wrong_use(
    option: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["slipway", "check", MODEL, option, value])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert f"argument {option}: {says}" in capsys.readouterr().err


def test_a_misspelt_file_is_no_model(deployment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deployments").mkdir()
    deployment.rename(tmp_path / "deployments" / "tuned.yaml")
    for name in ("tuned/prdo", "../tuned", "tuend.yaml", "tuend"):
        assert f"There is no {'deployment' if name == 'tuend' else 'file'} {name!r}" in refused(
            tmp_path, name, capsys, on=["ml.g6.xlarge"]
        )


def test_an_overlay_on_another_model_takes_no_lock_of_its_base(
    hub: HubServer, deployment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lock.run(str(deployment), tmp_path) == 0
    (tmp_path / "tuned").mkdir()
    overlay = tmp_path / "tuned" / "other.yaml"
    overlay.write_text("extends: tuned\nmodel: {id: Qwen/Qwen3-4B}\n")
    capsys.readouterr()
    assert reported(tmp_path, str(overlay), capsys, on=["ml.g6.2xlarge"])["facts"] == "the catalog"


def test_a_model_without_a_file_needs_a_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "name a type, --on ml.g6.xlarge, or" in refused(tmp_path, MODEL, capsys)
