"""The archive as an asset: one object, named by its bytes, that a role may read and nothing beside it."""

import hashlib
import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_iam as iam

from llm_hosting.archive import pack
from llm_hosting.endpoint.model_archive import ModelArchive
from support.repository import ROOT

HANDLER = ROOT / "model_src" / "deepspeed"
PROPERTIES = {"engine": "DeepSpeed"}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> cdk.Stack:
    stack = cdk.Stack(cdk.App(outdir=str(tmp_path_factory.mktemp("assembly"))), "archive")
    archive = ModelArchive(stack, "Archive", handler=HANDLER, properties=PROPERTIES)
    role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
    role.add_to_policy(archive.read_statement())
    cdk.CfnOutput(stack, "Uri", value=archive.uri)
    return stack


@pytest.fixture(scope="module")
def template(stack: cdk.Stack) -> dict[str, Any]:
    found: dict[str, Any] = assertions.Template.from_stack(stack).to_json()
    return found


def test_the_object_is_named_by_the_bytes_of_the_archive(stack: cdk.Stack, template: dict[str, Any]) -> None:
    packed = pack(HANDLER, PROPERTIES)
    digest = hashlib.sha256(packed).hexdigest()
    assert f"/{digest}.tar.gz" in json.dumps(template["Outputs"]["Uri"])
    staged = Path(cdk.Stage.of(stack).outdir) / f"asset.{digest}.tar.gz"
    assert staged.read_bytes() == packed


def test_a_role_may_read_this_object_only(template: dict[str, Any]) -> None:
    (policy,) = [each for each in template["Resources"].values() if each["Type"] == "AWS::IAM::Policy"]
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Action"] == "s3:GetObject"
    text = json.dumps(statement["Resource"])
    assert text.count(".tar.gz") == 1
    assert "*" not in text
