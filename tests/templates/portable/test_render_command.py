"""`slipway render`: the files that it writes, what it says of them, and wrong use."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
import yaml
from aws_cdk import aws_s3 as s3

from llm_hosting.portable.template import PortableTemplate
from local_cloud.assembly import Stack
from slipway.templates.render import run
from slipway.templates.rendered_files import RenderedFiles
from support.deployments.known_deployments import ACCOUNT_SETTINGS
from support.repository import ROOT
from support.templates.portable_templates import portable

SMALL: dict[str, Any] = {
    "region": "eu-west-1",
    "model": {"id": "openai-community/gpt2"},
    "serving": {"engine": "tgi"},
    "hosting": {"instance_type": "ml.g5.xlarge"},
    "jobs": {"enabled": False},
}
Rows = list[dict[str, str]]


@pytest.fixture(autouse=True)
def path_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


def parameters(folder: Path, name: str) -> dict[str, str]:
    rows: Rows = json.loads((folder / f"{name}.parameters.json").read_text())
    return {row["ParameterKey"]: row["ParameterValue"] for row in rows}


def test_template_parameters_and_archives_are_written(
    tmp_path: Path, stacks: dict[str, Stack], capsys: pytest.CaptureFixture[str]
) -> None:
    name = "flan-t5-xxl-handler"
    assert run(name, ROOT, tmp_path / "new") == 0
    expected = portable(stacks[name])
    text = (tmp_path / "new" / f"{name}.template.yaml").read_text()
    assert yaml.safe_load(text) == expected.content
    assert parameters(tmp_path / "new", name) == {"ArchiveBucketPrefix": "", "DeployEndpoint": "false"}
    ((key, content),) = expected.archives.items()
    assert (tmp_path / "new" / "archives" / key).read_bytes() == content
    said = capsys.readouterr().out
    assert f"{len(text):,} bytes of at most 1,000,000" in said
    assert "fill in ArchiveBucketPrefix" in said
    assert f"s3://<ArchiveBucketPrefix>-<region>/{key}" in said
    for command in ("deploy --stack-name", "create-stack-set --stack-set-name"):
        assert f"aws cloudformation {command} {name}" in said


def test_code_stands_in_the_template_as_it_was_written(stacks: dict[str, Stack]) -> None:
    body = portable(stacks["gpt2"]).body()
    for path in ("jobs/state/transitions.py", "handlers/generate.py"):
        lines = (ROOT / "lambda_src" / "inference_api" / path).read_text().splitlines()
        assert "\n".join(f"    {line}".rstrip() for line in lines) in body


def test_accounts_are_text_for_every_reader_of_yaml(stacks: dict[str, Stack]) -> None:
    unquoted = re.search(r":\s0[0-9]+$", portable(stacks["gpt2"]).body(), re.MULTILINE)
    assert unquoted is None, "one account begins with a zero"


def test_the_account_settings_fit_into_a_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ACCOUNT_SETTINGS, ROOT, tmp_path) == 0
    template = yaml.safe_load((tmp_path / f"{ACCOUNT_SETTINGS}.template.yaml").read_text())
    assert {each["Type"] for each in template["Resources"].values()} == {
        "AWS::IAM::Role",
        "AWS::ApiGateway::Account",
    } | {"AWS::IAM::Policy"}
    assert "fits into a request" in capsys.readouterr().out
    assert not (tmp_path / f"{ACCOUNT_SETTINGS}.parameters.json").exists()


def test_filled_in_values_stay_and_make_a_new_deployment_of_the_api(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def ids() -> set[str]:
        template = yaml.safe_load((tmp_path / "small.template.yaml").read_text())
        return {name for name, each in template["Resources"].items() if each["Type"] == "AWS::ApiGateway::Deployment"}

    deployment = tmp_path / "small.yaml"
    deployment.write_text(json.dumps(SMALL))
    run(str(deployment), ROOT, tmp_path)
    before = ids()
    given = {"AllowedOrganizationId": "o-a1b2c3d4e5", "DeployEndpoint": True}
    rows = [{"ParameterKey": name, "ParameterValue": value} for name, value in given.items()]
    (tmp_path / "small.parameters.json").write_text(json.dumps(rows))
    run(str(deployment), ROOT, tmp_path)
    assert parameters(tmp_path, "small") == {"AllowedOrganizationId": "o-a1b2c3d4e5", "DeployEndpoint": "true"}
    assert ids() != before
    told = capsys.readouterr()
    assert told.out.count("DeployEndpoint is false") == 1, "of the first run"
    assert told.err.count("eu-west-1 is for `cdk deploy`") == 2


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("AllowedOrganisationId", "o-a1b2c3d4e5", "is not a parameter of the template; use one of Allowe"),
        ("InstanceType", "ml.t2.medium", "'ml.t2.medium' is not allowed; use "),
        ("InstanceCount", "1.5", "'1.5' is not allowed; use "),
        ("AllowedPrincipals", "*", "'*' does not match "),
    ],
)
def test_a_value_that_the_template_does_not_take_is_refused_and_nothing_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, value: str, said: str
) -> None:
    deployment, file = tmp_path / "small.yaml", tmp_path / "small.parameters.json"
    deployment.write_text(json.dumps(SMALL))
    file.write_text(written := json.dumps([{"ParameterKey": name, "ParameterValue": value}]))
    assert run(str(deployment), ROOT, tmp_path) == 2
    assert f"{file}: {name}: {said}" in capsys.readouterr().err
    assert file.read_text() == written
    assert not (tmp_path / "small.template.yaml").exists()


def test_own_values_of_a_deployment_are_in_its_parameters(tmp_path: Path, stacks: dict[str, Stack]) -> None:
    made, files = portable(stacks["isolated"]), RenderedFiles(tmp_path, "isolated")
    files.write(made, {})
    assert set(parameters(tmp_path, "isolated")) == {"WeightsKeyArn", "VolumeKeyArn", "DeployEndpoint"}
    assert "WeightsKeyArn, VolumeKeyArn: the deployment's own" in "\n".join(files.advice(made))
    another = made.parameters["VolumeKeyArn"].replace("key/", "key/0")
    files.write(made, {"VolumeKeyArn": another, "InstanceCount": "3", "DeployEndpoint": "true"})
    kept = [line.strip() for line in files.advice(made) if line.startswith("  keeps")]
    own = {"VolumeKeyArn": made.parameters["VolumeKeyArn"], "InstanceCount": "1"}
    given = {"VolumeKeyArn": another, "InstanceCount": "3"}
    assert sorted(kept) == sorted(
        f"keeps {given[name]!r} for {name}; the deployment file says {own[name]!r}" for name in own
    )


def test_a_template_that_cloudformation_refuses_is_not_written(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "bytes."),
        ({"Code": {}}, "bytes; render it with --code archive."),
    ]
    for mappings, said in cases:
        large = PortableTemplate({"Description": "x" * 1_000_000, "Mappings": mappings, "Resources": {}})
        with pytest.raises(ValueError, match=f"CloudFormation takes 1,000,000 {said}$"):
            RenderedFiles(tmp_path, "large").write(large, {})
    assert list(tmp_path.iterdir()) == []


def stack_with_a_bucket(scope: Any, construct_id: str, *, governance: Any, **settings: Any) -> None:
    """Add a bucket in which cdk-nag finds faults."""
    s3.Bucket(cdk.Stack(scope, construct_id, **settings), "Bucket")


def test_a_finding_of_cdk_nag_ends_the_rendering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slipway_stacks.portable_rendering.AccountSettingsStack", stack_with_a_bucket)
    with pytest.raises(RuntimeError, match="AwsSolutions-S1"):
        run(ACCOUNT_SETTINGS, ROOT, tmp_path)
    assert list(tmp_path.iterdir()) == []


def _unwritable(folder: Path) -> list[str]:
    (folder / "file").write_text("")
    return [ACCOUNT_SETTINGS, str(folder / "file" / "below")]


def _broken_parameters(folder: Path) -> list[str]:
    (folder / "gpt2.parameters.json").write_text('{"DeployEndpoint": "true"}')
    return ["gpt2", str(folder)]


def _refused(folder: Path) -> list[str]:
    (folder / "mine.yaml").write_text("model: {id: a/b}\nhosting: {instance_type: ml.none}\n")
    return [str(folder / "mine.yaml"), str(folder)]


@pytest.mark.parametrize(
    ("wrong", "status", "said"),
    [
        (lambda folder: ["gpt3", str(folder)], 2, "Did you mean gpt2?"),
        (_unwritable, 2, "name another folder with -o"),
        (_broken_parameters, 2, "mend or remove it"),
        (_refused, 1, "hosting.instance_type"),
    ],
)
def test_wrong_use_is_refused_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: Callable[[Path], list[str]], status: int, said: str
) -> None:
    name, folder = wrong(tmp_path)
    assert run(name, ROOT, Path(folder)) == status
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""
