"""The build project that stages weights: what it runs, on what, and what its role may do."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
import yaml

from local_cloud.assembly import read_stacks
from slipway_stacks.from_context import add_stacks
from support.deployments.known_deployments import STAGED_FILE, STAGING
from support.repository import ROOT
from support.templates.house_rules import RULES
from support.templates.template_parts import Template, all_of, properties

MODEL = yaml.safe_load(STAGED_FILE.read_text())["model"]
BUCKET = MODEL["weights"].split("/")[2]
PREFIX = MODEL["weights"].split("/", 3)[3]


@pytest.fixture
def template(templates: dict[str, Template]) -> Template:
    return templates[STAGING]


@pytest.fixture
def source(assembly: Path) -> Path:
    """Return the folder that becomes the build's source."""
    (asset,) = next(stack.assets for stack in read_stacks(assembly) if stack.name == STAGING)
    return asset.source


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_staging_stack_keeps_the_house_rules(template: Template, rule: Any) -> None:
    assert rule(template) == []


def test_the_build_installs_pinned_packages_and_runs_the_same_command(template: Template) -> None:
    project = properties(template, "CodeBuild::Project")
    phases = json.loads(project["Source"]["BuildSpec"])["phases"]
    assert phases["install"]["commands"][0].endswith("--require-hashes -r requirements.txt")
    assert phases["build"]["commands"] == [f"python -m slipway stage {STAGED_FILE.stem}"]
    assert project["ConcurrentBuildLimit"] == 1
    assert properties(template, "Logs::LogGroup")["RetentionInDays"] == 30


def test_the_source_holds_all_that_the_command_needs(source: Path, tmp_path: Path) -> None:
    assert {path.name for path in source.iterdir()} == {"deployments", "llm_hosting", "requirements.txt", "slipway"}
    assert [path.name for path in (source / "deployments").iterdir()] == [STAGED_FILE.name]
    assert not list(source.rglob("__pycache__"))
    shutil.copytree(source, build := tmp_path / "build")
    command = [sys.executable, "-m", "slipway", "stage", STAGED_FILE.stem]
    environment = os.environ | {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_MAX_ATTEMPTS": "1",
        "HOME": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    result = subprocess.run(command, cwd=build, env=environment, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (1, "")
    assert f"http://127.0.0.1:9/{BUCKET}?location has ended" in result.stderr


def test_an_overlay_is_staged_with_its_base(tmp_path: Path) -> None:
    shutil.copy(STAGED_FILE, tmp_path)
    (tmp_path / "isolated").mkdir()
    (path := tmp_path / "isolated" / "eu.yaml").write_text("extends: isolated\n")
    app = cdk.App(outdir=str(tmp_path / "out"), context={"deployment": f"slipway-staging-{path}"})
    add_stacks(app, ROOT)
    (stack,) = read_stacks(Path(app.synth().directory))
    assert stack.name == "slipway-staging-isolated-eu"
    assert "python -m slipway stage isolated/eu" in json.dumps(stack.template)
    files = stack.assets[0].source / "deployments"
    copied = {each.relative_to(files).as_posix() for each in files.rglob("*.yaml")}
    assert copied == {"isolated.yaml", "isolated/eu.yaml"}


def test_the_role_may_write_this_prefix_and_its_manifest_and_nothing_else(template: Template) -> None:
    document = properties(template, "IAM::Policy")["PolicyDocument"]
    allowed = {
        (action, _text(resource))
        for statement in document["Statement"]
        for action in _list(statement["Action"])
        for resource in _list(statement["Resource"])
        if ":s3:::cdk-" not in _text(resource)
    }
    weights = f"arn:aws:s3:::{BUCKET}/{PREFIX}*"
    manifest = f"arn:aws:s3:::{BUCKET}/.slipway/{PREFIX}manifest.json"
    assert allowed == {
        ("logs:CreateLogStream", "StagingLogGroup"),
        ("logs:PutLogEvents", "StagingLogGroup"),
        ("s3:GetBucketLocation", f"arn:aws:s3:::{BUCKET}"),
        ("s3:ListBucket", f"arn:aws:s3:::{BUCKET}"),
        ("s3:GetObject", manifest),
        ("s3:PutObject", manifest),
        ("s3:GetObject", weights),
        ("s3:ListMultipartUploadParts", weights),
        ("s3:PutObject", weights),
        ("kms:Decrypt", MODEL["weights_kms_key_arn"]),
        ("kms:GenerateDataKey", MODEL["weights_kms_key_arn"]),
        ("secretsmanager:GetSecretValue", MODEL["hub_token_secret_arn"]),
    }
    (listing,) = [each["Condition"] for each in document["Statement"] if each["Action"] == "s3:ListBucket"]
    assert listing == {"StringLike": {"s3:prefix": [f"{PREFIX}*", f".slipway/{PREFIX}manifest.json"]}}


def test_only_codebuild_of_this_account_may_assume_the_role(template: Template) -> None:
    (role,) = all_of(template, "IAM::Role")
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "codebuild.amazonaws.com"}
    assert statement["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_a_deployment_without_a_prefix_has_nothing_to_stage(tmp_path: Path) -> None:
    context = json.loads((ROOT / "cdk.json").read_text())["context"] | {"deployment": "slipway-staging-qwen3-4b"}
    environment = os.environ | {"CDK_CONTEXT_JSON": json.dumps(context), "CDK_OUTDIR": str(tmp_path)}
    result = subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert result.returncode == 1
    assert "set model.weights, such as s3://my-bucket/qwen3-4b/" in result.stderr
    assert "Traceback" not in result.stderr


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(resource: Any) -> str:
    """Return a statement's resource as text; a reference is shown by its beginning."""
    if isinstance(resource, str):
        return resource
    if "Fn::GetAtt" in resource:
        return str(resource["Fn::GetAtt"][0]).rstrip("0123456789ABCDEF")
    parts = [_text(part) for part in resource.get("Fn::Join", ["", []])[1]]
    return "".join(parts) or {"AWS::Partition": "aws"}.get(resource.get("Ref"), str(resource.get("Fn::Sub")))
