"""Rules that every template of ours keeps; each returns the violations it finds."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from llm_hosting.catalog.regions import container_accounts

Template = dict[str, Any]

FORCED_TO_ANY_RESOURCE = {
    "cloudwatch:PutMetricData",
    "ecr:GetAuthorizationToken",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
}
# Names that are no physical names, or that are unique only within their parent.
SCOPED_NAMES = {
    ("AWS::ApiGateway::Stage", "StageName"),
    ("AWS::ApplicationAutoScaling::ScalingPolicy", "PolicyName"),
    ("AWS::CloudWatch::Alarm", "MetricName"),
    ("AWS::IAM::Policy", "PolicyName"),
}
NAMED_BY_STACK_ID = {("AWS::SageMaker::Endpoint", "EndpointName"), ("AWS::Logs::LogGroup", "LogGroupName")}
STACK_NAME = {"Ref": "AWS::StackName"}  # an API may share its name with others


def no_managed_policies(template: Template) -> list[str]:
    """Neither FullAccess nor any other policy that AWS may widen."""
    return [
        logical_id
        for logical_id, resource in template["Resources"].items()
        if resource["Properties"].get("ManagedPolicyArns") or "FullAccess" in json.dumps(resource)
    ]


def no_partition_or_region_literals(template: Template) -> list[str]:
    """Settings a user wrote (topics, keys) may name them; nothing that we write does."""
    text = json.dumps({name: part for name, part in template.items() if name != "Mappings"})
    text = re.sub(r"arn:aws:(sns|kms):us-east-1:111122223333", "", text)
    regions = "|".join(container_accounts())
    return re.findall(rf"arn:aws[a-z-]*:|\b(?:{regions})\b|amazonaws\.com\.cn|\.amazonaws\.com/", text)


def no_fixed_names(template: Template) -> list[str]:
    """Only the endpoint and its log group are named, with a part of the stack's id; others refer to a resource."""
    return [
        f"{logical_id}.{key}"
        for logical_id, resource in template["Resources"].items()
        for key, name in resource["Properties"].items()
        if key.endswith("Name") and not _may_be_named(resource["Type"], key, name, template)
    ]


def _may_be_named(kind: str, key: str, name: Any, template: Template) -> bool:
    if (kind, key) in NAMED_BY_STACK_ID:
        return "AWS::StackId" in json.dumps(name)
    refers = isinstance(name, dict) and (name.get("Ref") or name.get("Fn::GetAtt", [""])[0]) in template["Resources"]
    return refers or (kind, key) in SCOPED_NAMES or (kind == "AWS::ApiGateway::RestApi" and name == STACK_NAME)


def no_account_wide_settings(template: Template) -> list[str]:
    """AWS::ApiGateway::Account is one per account and region: two stacks would fight over it."""
    return [
        logical_id
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] == "AWS::ApiGateway::Account"
    ]


def no_custom_resources(template: Template) -> list[str]:
    """They would bring code of others into the account."""
    return [
        logical_id
        for logical_id, resource in template["Resources"].items()
        if resource["Type"].startswith("Custom::") or resource["Type"] == "AWS::CloudFormation::CustomResource"
    ]


def no_wildcard_actions(template: Template) -> list[str]:
    """Every action is spelled out."""
    return [
        action for statement in _statements(template) for action in _list(statement.get("Action", "*")) if "*" in action
    ]


def no_free_resources(template: Template) -> list[str]:
    """A `*` only for actions that know no narrower resource, and below the prefix of the weights."""
    violations = []
    for statement in _statements(template):
        if "NotAction" in statement or "NotResource" in statement:
            violations.append("allows all but something")
            continue
        for action in _list(statement["Action"]):
            resources = json.dumps(statement.get("Resource", []))
            below_prefix = action == "s3:GetObject" and resources.count("*") == 1 and '/*"' in resources
            if "*" in resources and action not in FORCED_TO_ANY_RESOURCE and not below_prefix:
                violations.append(action)
    return violations


RULES: tuple[Callable[[Template], list[str]], ...] = (
    no_managed_policies,
    no_partition_or_region_literals,
    no_fixed_names,
    no_account_wide_settings,
    no_custom_resources,
    no_wildcard_actions,
    no_free_resources,
)


def _statements(template: Template) -> Iterator[dict[str, Any]]:
    for resource in template["Resources"].values():
        properties = resource["Properties"]
        documents = [
            properties.get("PolicyDocument"),
            *(each["PolicyDocument"] for each in properties.get("Policies", [])),
        ]
        for document in filter(None, documents):
            yield from document["Statement"]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
