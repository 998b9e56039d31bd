"""The app from its user's side: names, paths, output and refusals."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import aws_cdk as cdk
import pytest

from local_cloud.assembly import SynthesisError, synthesize
from slipway.changes.template.synthesis import synthesize as synthesized
from slipway_stacks.from_context import add_stacks
from support.deployments.counted_calls import ONCE, count_calls
from support.own_project import own_project
from support.repository import ROOT


def run(deployment: str, output: Path, project: Path = ROOT) -> subprocess.CompletedProcess[str]:
    context = json.loads((ROOT / "cdk.json").read_text())["context"] | {"deployment": deployment}
    environment = os.environ | {"CDK_CONTEXT_JSON": json.dumps(context), "CDK_OUTDIR": str(output)}
    command = [sys.executable, str(ROOT / "app.py")]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)


IMAGE = "gpu-py313-cu131-ubuntu26.04-sagemaker"
RULES = """
from slipway.rules import Finding, warning

@warning
def endpoints_scale_out(resolution):
    \"\"\"An endpoint may grow to two instances.\"\"\"
    if resolution.deployment.hosting.instance_count.max < 2:
        yield Finding("hosting.instance_count.max", "is 1", "allow 2")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a version of vLLM and a rule of its own, and a deployment of that version."""
    (tmp_path / "cdk.json").write_text('{"context": {}}')
    shutil.copy(ROOT / "app.py", tmp_path)
    (tmp_path / "deployments").mkdir()
    for name, version in (("own", "0.99.0"), ("newer", f"0.99.1-{IMAGE}")):
        hosted = "model: {id: Qwen/Qwen3-4B}\nhosting: {instance_type: ml.g6.2xlarge}\n"
        text = f"{hosted}serving: {{engine: vllm, version: {version}}}\n"
        (tmp_path / "deployments" / f"{name}.yaml").write_text(text)
    row = {"tag": f"0.99.0-{IMAGE}", "cuda": 13.1, "vllm": "0.99.0"}
    with own_project(tmp_path, {"engines/vllm.json": {"versions": {"0.99.0": row}}}, RULES):
        return tmp_path


def test_a_synth_uses_the_rows_and_rules_of_its_project(project: Path, tmp_path: Path) -> None:
    result = run("own,newer", tmp_path / "out", project)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("  warning   hosting.instance_count.max: is 1; allow 2.") == 2
    assert (
        result.stderr.count("0.99.1-gpu-py313-cu131-ubuntu26.04-sagemaker' is newer than the catalog: its facts") == 1
    )
    for name, tag in (("own", "0.99.0"), ("newer", "0.99.1")):
        template = (tmp_path / "out" / f"{name}.template.json").read_text()
        assert f"/vllm:{tag}-{IMAGE}" in template


def test_a_file_is_judged_by_its_own_project_from_every_folder(project: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.chdir(ROOT)
        assembly = synthesize([str(project / "deployments" / "own.yaml")], tmp_path / "out")
    assert f"/vllm:0.99.0-{IMAGE}" in (assembly / "own.template.json").read_text()


def test_a_stack_of_the_apps_own_needs_no_deployment(project: Path) -> None:
    own = 'app = create_app()\nimport aws_cdk as cdk\ncdk.CfnOutput(cdk.Stack(app, "services"), "A", value="a")\napp'
    (project / "app.py").write_text((project / "app.py").read_text().replace("create_app()", own))
    assert synthesized("services", project).template["Outputs"] == {"A": {"Value": "a"}}
    assert synthesized("own", project).stack == "own"


def test_the_local_cloud_synthesizes_anew_after_a_change_of_rows_or_rules(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assembly = synthesize(["own"], tmp_path / "out")
    written = (assembly / "own.template.json").stat().st_mtime_ns
    synthesize(["own"], tmp_path / "out")
    assert (assembly / "own.template.json").stat().st_mtime_ns == written
    for file in ("rules.py", "catalog/engines/vllm.json"):
        text = (project / file).read_text()
        (project / file).write_text("wrong =")
        with pytest.raises(SynthesisError, match=file):
            synthesize(["own"], tmp_path / "out")
        (project / file).write_text(text)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("rules.py", "1 / 0\n", "rules.py, line 1: ZeroDivisionError: division by zero.\n"),
        ("catalog/models.json", "[]", "catalog/models.json must be an object with source, as_of, models.\n"),
    ],
)
def test_a_wrong_file_of_the_project_ends_the_synth_with_one_sentence(
    project: Path, tmp_path: Path, file: str, text: str, said: str
) -> None:
    (project / file).write_text(text)
    result = run("own", tmp_path / "out", project)
    assert (result.returncode, result.stderr) == (1, said)


@pytest.mark.parametrize("name", ["gpt3", ""])
def test_an_unknown_name_lists_the_known_ones(tmp_path: Path, name: str) -> None:
    result = run(name, tmp_path)
    assert result.returncode == 1
    assert " Use bge-small, bloom-176b, " in result.stderr
    assert ", qwen3-4b/prod, qwen3-embedding-0-6b, qwen3-vl-4b or the path of a YAML file." in result.stderr
    assert "-c deployment=<name>; slipway-account-settings is a name too." in result.stderr
    assert "Traceback" not in result.stderr


def test_a_wrong_file_is_refused_without_a_traceback(tmp_path: Path) -> None:
    (path := tmp_path / "wrong.yaml").write_text(
        "model: {id: a/b}\nhosting: {instance_type: ml.m5.xlarge, volume: 5}\n"
    )
    result = run(str(path), tmp_path)
    assert result.returncode == 1
    assert f"{path} is refused: 2 problems" in result.stderr
    assert "rename it to `volume_size_in_gb`" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_path_outside_the_checkout_is_synthesized_and_described(tmp_path: Path) -> None:
    (path := tmp_path / "mine.yaml").write_text((ROOT / "deployments" / "qwen3-4b.yaml").read_text())
    result = run(str(path), tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out" / "mine.template.json").is_file()
    assert "djl-inference:0.36.0-lmi28.0.0-cu130" in result.stderr
    assert "al2023-ami-sagemaker-inference-gpu-4-1" in result.stderr
    assert "mine-<first 8 characters of the stack id>" in result.stderr
    assert "USD an hour until the stack is destroyed" in result.stderr


def test_a_synth_for_the_local_cloud_says_that_nothing_is_spent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
    add_stacks(cdk.App(context={"deployment": "qwen3-4b"}), ROOT)
    assert "cost      nothing here; on AWS about 1.22 USD an hour" in capsys.readouterr().err


def test_a_synth_resolves_once_and_runs_each_rule_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_calls(monkeypatch)
    add_stacks(cdk.App(context={"deployment": "qwen3-4b"}), ROOT)
    assert counts == ONCE


@pytest.mark.parametrize("names", ["qwen3-4b/prod,qwen3-4b/prod", "qwen3-4b/prod,deployments/qwen3-4b/prod.yaml"])
def test_an_overlay_by_two_of_its_names_is_one_stack(names: str) -> None:
    with pytest.raises(SystemExit, match="names a stack twice"):
        add_stacks(cdk.App(context={"deployment": names}), ROOT)


@pytest.mark.parametrize(("package", "version"), [("aws-cdk-lib", "2.200.0"), ("cdk-nag", "2.37.55")])
@pytest.mark.parametrize("name", ["create_app", "LlmService"])
def test_a_cdk_that_another_installation_put_in_place_is_refused_in_one_sentence(
    name: str, package: str, version: str, tmp_path: Path
) -> None:
    described = tmp_path / f"{package.replace('-', '_')}-{version}.dist-info" / "METADATA"
    described.parent.mkdir()
    described.write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    done = subprocess.run(
        [sys.executable, "-c", f"from slipway import {name}; {name}()"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    said = done.stderr.splitlines() if name == "create_app" else done.stderr.splitlines()[-1:]
    told = rf"(.*UnfitPackageError: )?{package} {version} is installed, and Slipway needs >=\S+,<\d: run `pip install "
    assert done.returncode == 1
    assert len(said) == 1
    assert re.match(told, said[0])
