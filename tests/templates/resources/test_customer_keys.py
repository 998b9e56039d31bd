"""Keys of the customer: what has one, what each role may do with it, and what the key's own policy allows."""

import json
import re
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms

from llm_hosting.deployment.file import DeploymentError
from slipway import LlmService
from slipway.changes.update.schema import schema_of
from support.templates.services import an_app, asynchronous, synthesized
from support.templates.template_parts import Template, all_of, properties

MADE = ("customer-keys", "customer-keys-realtime", "customer-keys-ec2")
KEY = "arn:aws:kms:us-east-1:111122223333:key/1111abcd-0000-4000-8000-000000000001"
# Where a type of resource takes a key, and which of the two it gets.
PLACES = {
    "DynamoDB::Table": ("SSESpecification.KMSMasterKeyId", "Data"),
    "S3::Bucket": (
        "BucketEncryption.ServerSideEncryptionConfiguration.ServerSideEncryptionByDefault.KMSMasterKeyID",
        "Data",
    ),
    "SQS::Queue": ("KmsMasterKeyId", "Data"),
    "SNS::Topic": ("KmsMasterKeyId", "Data"),
    "Lambda::Function": ("KmsKeyArn", "Data"),
    "EC2::LaunchTemplate": ("LaunchTemplateData.BlockDeviceMappings.Ebs.KmsKeyId", "Data"),
    "Logs::LogGroup": ("KmsKeyId", "Log"),
}
TAKES_NONE = {
    "AWS::EC2::Instance",  # its disk is the launch template's
    "AWS::Lambda::EventSourceMapping",  # the key of filter criteria, and none has any
}


def value_at(found: Any, path: str) -> Any:
    for step in path.split("."):
        found = found[0] if isinstance(found, list) else found
        found = found.get(step)
    return found


@pytest.fixture(params=MADE)
def template(request: pytest.FixtureRequest, templates: dict[str, Template]) -> Template:
    return templates[request.param]


def test_all_that_takes_a_key_has_one(template: Template) -> None:
    for kind, (path, which) in PLACES.items():
        for each in all_of(template, kind):
            assert f"{which}Key" in json.dumps(value_at(each, path)), (kind, each)


def test_no_type_of_resource_that_takes_a_key_is_forgotten(template: Template) -> None:
    """A property that holds a key has KMS in its name, by CloudFormation's schemas."""
    known = {f"AWS::{kind}" for kind in PLACES} | {"AWS::SageMaker::EndpointConfig", "AWS::KMS::Key"}
    for kind in sorted({each["Type"] for each in template["Resources"].values()} - known - TAKES_NONE):
        schema = schema_of(kind, "us-east-1")
        assert schema, kind
        assert not re.findall(r'"\w*(?:kms|Kms|KMS)\w*"', json.dumps(schema.content)), kind


def test_instances_with_a_volume_and_results_have_the_key(templates: dict[str, Template]) -> None:
    configuration = properties(templates["customer-keys"], "SageMaker::EndpointConfig")
    assert "DataKey" in json.dumps(configuration["KmsKeyId"])
    assert "DataKey" in json.dumps(configuration["AsyncInferenceConfig"]["OutputConfig"]["KmsKeyId"])
    # ml.g6 has a disk of its own, for which SageMaker takes no key.
    assert "KmsKeyId" not in properties(templates["customer-keys-realtime"], "SageMaker::EndpointConfig")


def test_the_keys_rotate_and_outlive_what_they_encrypt(template: Template) -> None:
    found = {name[:-8]: each for name, each in template["Resources"].items() if each["Type"] == "AWS::KMS::Key"}
    assert {name: each["DeletionPolicy"] for name, each in found.items()} == {
        "DataKey": "RetainExceptOnCreate",
        "LogKey": "Retain",
    }
    for each in found.values():
        assert each["UpdateReplacePolicy"] == "Retain"
        assert each["Properties"]["EnableKeyRotation"] is True
        assert {"Key": "slipway:deployment", "Value": {"Ref": "AWS::StackName"}} in each["Properties"]["Tags"]


def services_of(template: Template) -> dict[str, list[str]]:
    """Return the services that the policies of the keys admit."""
    return {
        name[:-8]: [json.dumps(s["Principal"]) for s in each["Properties"]["KeyPolicy"]["Statement"][1:]]
        for name, each in template["Resources"].items()
        if each["Type"] == "AWS::KMS::Key"
    }


def test_the_policies_of_the_keys_admit_the_services_that_need_it_and_no_other(templates: dict[str, Template]) -> None:
    for name in MADE:
        of_data, of_logs = services_of(templates[name])["DataKey"], services_of(templates[name])["LogKey"]
        assert of_data == (['{"Service": "sns.amazonaws.com"}'] if name == "customer-keys" else [])
        (logs,) = of_logs
        assert '"logs."' in logs


def test_no_policy_of_a_key_names_a_resource_of_the_stack(template: Template) -> None:
    own = set(template["Resources"])
    for each in all_of(template, "KMS::Key"):
        assert not {name for name in own if f'"{name}"' in json.dumps(each["KeyPolicy"])}


def key_statements(template: Template) -> dict[str, list[dict[str, Any]]]:
    """Return the statements about keys, by the beginning of the policy's logical id."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, each in template["Resources"].items():
        if each["Type"] != "AWS::IAM::Policy":
            continue
        for statement in each["Properties"]["PolicyDocument"]["Statement"]:
            if "kms:" in json.dumps(statement["Action"]):
                found.setdefault(name, []).append(statement)
    return found


def test_a_role_uses_the_key_only_through_the_services_that_it_calls(template: Template) -> None:
    for name, statements in key_statements(template).items():
        if "EndpointRole" in name or "Artefacts" in name:
            continue  # SageMaker's guides do not say how it uses a key for its role
        for each in statements:
            said = json.dumps(each["Condition"])
            assert any(word in said for word in ("kms:ViaService", "lambda:FunctionArn", "GrantIsForAWSResource")), name


def test_the_poll_reads_and_counts_but_writes_no_object(templates: dict[str, Template]) -> None:
    statements = key_statements(templates["customer-keys-realtime"])
    (policy,) = (name for name in statements if name.startswith("ApiPollJobRole"))
    of_objects = [each for each in statements[policy] if '"s3.' in json.dumps(each["Condition"])]
    assert [each["Action"] for each in of_objects] == ["kms:Decrypt"]
    assert not [each for each in statements[policy] if '"sqs.' in json.dumps(each["Condition"])]


def test_a_key_that_the_user_names_is_used_as_it_is(tmp_path: Path) -> None:
    deployment = asynchronous(region="us-east-1", security={"kms_key_arn": KEY, "log_kms_key_arn": f"{KEY[:-1]}2"})
    made = synthesized(tmp_path, lambda app: LlmService(cdk.Stack(app, "own"), "Default", deployment=deployment))["own"]
    assert all_of(made, "KMS::Key") == []
    assert {each["KmsKeyId"] for each in all_of(made, "Logs::LogGroup")} == {f"{KEY[:-1]}2"}
    assert {each["KmsMasterKeyId"] for each in all_of(made, "SQS::Queue")} == {KEY}


@pytest.mark.parametrize(
    ("argument", "setting"),
    [("data_key", "kms_key_arn"), ("log_key", "log_kms_key_arn"), ("data_key", "customer_keys")],
)
def test_a_key_of_the_file_and_one_of_the_app_are_refused(tmp_path: Path, argument: str, setting: str) -> None:
    stack = cdk.Stack(an_app(tmp_path), "Services")
    given: Any = {argument: kms.Key(stack, "Key")}
    security = {"customer_keys": True} if setting == "customer_keys" else {setting: KEY}
    with pytest.raises(DeploymentError, match=f"{argument}: the deployment has security.{setting}, too; remove one"):
        LlmService(stack, "Chat", deployment=asynchronous(region="us-east-1", security=security), **given)
