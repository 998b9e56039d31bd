"""What a company demands of every role and resource: a permissions boundary, a path, tags."""

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.settings.governance import Governance
from llm_hosting.deployment.settings.shared_endpoint import Shared, SharedEndpoint
from llm_hosting.preflight.validation import load
from llm_hosting.sources import handler_names
from slipway.changes import classify
from slipway_stacks.account_settings_stack import AccountSettingsStack
from slipway_stacks.shared_endpoint_stack import SharedEndpointStack
from support.deployments.good_one import ASYNC, ON_EC2, Changes, deployment
from support.deployments.known_deployments import SHIPPED_FILES, STAGED_FILE, VARIANT_FILES, VARIANTS
from support.repository import ROOT
from support.templates.edits import over, template_of
from support.templates.house_rules import statements_of
from support.templates.template_parts import Template, all_of, functions, resources

BOUNDARY = "arn:aws:iam::111122223333:policy/limits"
DEMANDS: Changes = {
    "permissions_boundary_arn": BOUNDARY,
    "role_path": "/slipway/",
    "tags": {"cost-centre": "42"},
}
MODES: dict[str, Changes] = {
    "realtime": {"api": {"auth": "api-key", "keys": {"team": {}}, "playground": True}},
    "async": {"hosting": ASYNC},
    "sleeping": {"hosting": {"idle": "zero"}},
    "ec2": ON_EC2,
    "guarded": {
        "hosting": {"data_capture": {"percent": 5}},
        "api": {
            "auth": "jwt",
            "jwt": {"user_pool": True},
            "waf": True,
            "domain": {
                "name": "llm.example.com",
                "certificate_arn": "arn:aws:acm:us-east-1:111122223333:certificate/of-domain",
                "zone": {"id": "Z0123456789ABCDEFGHIJ", "name": "example.com"},
            },
        },
        "security": {"customer_keys": True, "vpc": {"functions": True}},
    },
}
# No service of AWS takes tags of these.
UNTAGGED = {
    "ApiGateway::Authorizer",
    "ApiGateway::BasePathMapping",
    "ApiGateway::Deployment",
    "ApiGateway::GatewayResponse",
    "ApiGateway::Method",
    "ApiGateway::Resource",
    "ApiGateway::UsagePlanKey",
    "ApplicationAutoScaling::ScalingPolicy",
    "CloudFormation::WaitCondition",
    "CloudFormation::WaitConditionHandle",
    "Cognito::UserPoolClient",
    "Cognito::UserPoolDomain",
    "Cognito::UserPoolResourceServer",
    "EC2::LaunchTemplate",  # its instances have tags of their own
    "EC2::Route",
    "EC2::SubnetRouteTableAssociation",
    "EC2::VPCGatewayAttachment",
    "IAM::InstanceProfile",  # CloudFormation passes none on
    "IAM::Policy",
    "Lambda::EventInvokeConfig",
    "Lambda::LayerVersion",
    "Lambda::Permission",
    "Route53::RecordSet",
    "S3::BucketPolicy",
    "SNS::Subscription",
    "SNS::TopicPolicy",
    "SQS::QueuePolicy",
    "WAFv2::WebACLAssociation",
}


def with_demands(mode: str, **demands: Any) -> Template:
    return template_of(over(MODES[mode], {"security": demands}))


def rendered(stack: cdk.Stack) -> Template:
    found: Template = json.loads(
        Path(cdk.Stage.of(stack).synth().get_stack_by_name(stack.stack_name).template_full_path).read_text()
    )
    return found


def demand_kept(template: Template) -> None:
    """Fail unless every role, profile and taggable resource of the template is as DEMANDS says."""
    roles = all_of(template, "IAM::Role")
    assert {each["PermissionsBoundary"] for each in roles} == {BOUNDARY}
    assert {each["Path"] for each in roles + all_of(template, "IAM::InstanceProfile")} == {"/slipway/"}
    assert untagged(template) <= UNTAGGED


def untagged(template: Template) -> set[str]:
    """The types of resources without the tag."""
    return {
        each["Type"].removeprefix("AWS::")
        for each in template["Resources"].values()
        if '"cost-centre"' not in json.dumps(each.get("Properties", {})) and each["Type"] != "AWS::CDK::Metadata"
    }


@pytest.mark.parametrize("mode", MODES)
def test_every_role_and_resource_of_a_service_is_as_demanded(mode: str) -> None:
    demand_kept(with_demands(mode, **DEMANDS))


def test_the_other_stacks_are_as_demanded() -> None:
    demands = Governance.model_validate(DEMANDS)
    endpoint = SharedEndpoint.model_validate({"instance_type": "ml.g6.12xlarge", "security": DEMANDS})
    app = cdk.App()
    demand_kept(rendered(SharedEndpointStack(app, "slipway-endpoint-gpus", shared=Shared("gpus", endpoint))))
    settings = rendered(AccountSettingsStack(cdk.App(), "slipway-account-settings", governance=demands))
    (role,) = all_of(settings, "IAM::Role")
    assert (role["PermissionsBoundary"], role["Path"]) == (BOUNDARY, "/slipway/")
    assert role["Tags"] == [{"Key": "cost-centre", "Value": "42"}]


def test_a_staging_project_is_as_demanded(tmp_path: Path) -> None:
    from slipway_stacks.staging_stack import StagingStack  # late: no other test needs the CDK's CodeBuild

    staged = deployment({"model": {"weights": "s3://bucket/model/"}, "security": DEMANDS})
    demand_kept(rendered(StagingStack(cdk.App(outdir=str(tmp_path)), "staging", deployment=staged, path=STAGED_FILE)))


@pytest.mark.parametrize("mode", MODES)
def test_another_value_of_a_tag_replaces_nothing(mode: str) -> None:
    before = with_demands(mode, **DEMANDS)
    after = json.loads(
        json.dumps(before)
        .replace('"Value": "42"', '"Value": "43"')
        .replace('"cost-centre": "42"', '"cost-centre": "43"')
    )
    assert {(each.kind, each.sentence) for each in classify(before, after)} == {("nothing", "tags")}


def test_the_example_boundary_allows_what_all_roles_do(templates: dict[str, Template]) -> None:
    document = json.loads((ROOT / "examples" / "permissions-boundary.json").read_text())
    allowed = {action for statement in document["Statement"] for action in statement["Action"]}
    policies = [
        each
        for template in templates.values()
        for kind in ("IAM::Policy", "IAM::Role")
        for each in resources(template, kind)
    ]
    granted: set[str] = set()
    for policy in policies:
        for statement in statements_of(policy):
            actions = statement["Action"]
            granted |= {actions} if isinstance(actions, str) else set(actions)
    assert granted - {"sts:AssumeRole"} - allowed == set()
    assert {action for action in allowed if "*" in action} == set()


def test_every_function_can_have_a_reservation(templates: dict[str, Template]) -> None:
    for name, path in {**SHIPPED_FILES, **dict(zip(VARIANTS, VARIANT_FILES, strict=True))}.items():
        made = {"generate" if each == "generate_by_job" else each for each in functions(templates[name])}
        assert load(path, handler_names(ROOT))[0].deployment.function_names == made, name
    kept = functions(templates["governed"])
    reserved = {name: each.get("ReservedConcurrentExecutions") for name, each in kept.items()}
    assert {name: calls for name, calls in reserved.items() if calls} == {"every_minute": 3}


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("permissions_boundary_arn", "limits"),
        ("permissions_boundary_arn", "arn:aws:iam::111122223333:role/limits"),
        ("role_path", "slipway/"),
        ("role_path", "/slipway"),
        ("role_path", "//"),
        ("role_path", f"/{'a' * 512}/"),
        ("role_path", "/a b/"),
        ("tags", {"a*b": "c"}),
        ("tags", {"": "c"}),
        ("tags", {"a": "b" * 257}),
        ("tags", {f"k{number}": "" for number in range(41)}),
    ],
)
def test_a_wrong_demand_is_refused(setting: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"security.{setting}"):
        deployment({"security": {setting: value}})


def test_the_argument_and_the_setting_are_not_given_together(tmp_path: Path) -> None:
    from aws_cdk import aws_iam as iam

    from slipway import LlmService

    stack = cdk.Stack(cdk.App(), "services")
    boundary = iam.ManagedPolicy.from_managed_policy_name(stack, "Limits", "limits")
    named = deployment({"security": {"permissions_boundary_arn": BOUNDARY}})
    with pytest.raises(DeploymentError, match=r"has security.permissions_boundary_arn, too; remove one of the two"):
        LlmService(stack, "Chat", deployment=named, permissions_boundary=boundary)
