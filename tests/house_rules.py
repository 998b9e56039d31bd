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
PHYSICAL_NAMES = {
    "AWS::ApiGateway::ApiKey": "Name",
    "AWS::ApiGateway::UsagePlan": "UsagePlanName",
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::IAM::ManagedPolicy": "ManagedPolicyName",
    "AWS::IAM::Role": "RoleName",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::SageMaker::Endpoint": "EndpointName",
    "AWS::SageMaker::EndpointConfig": "EndpointConfigName",
    "AWS::SageMaker::Model": "ModelName",
}


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
    """Only the endpoint and its log group are named, with a part of the stack's id."""
    names = {
        logical_id: resource["Properties"].get(PHYSICAL_NAMES.get(resource["Type"], ""))
        for logical_id, resource in template["Resources"].items()
    }
    return [logical_id for logical_id, name in names.items() if name and "AWS::StackId" not in json.dumps(name)]


def no_account_wide_settings(template: Template) -> list[str]:
    """AWS::ApiGateway::Account is one per account and region: two stacks would fight over it."""
    return [
        logical_id
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] == "AWS::ApiGateway::Account"
    ]


def no_custom_resources(template: Template) -> list[str]:
    """They would bring code of others, and the portable rendering can't carry them."""
    return [
        logical_id
        for logical_id, resource in template["Resources"].items()
        if resource["Type"].startswith("Custom::") or resource["Type"] == "AWS::CloudFormation::CustomResource"
    ]


def no_wildcard_actions(template: Template) -> list[str]:
    """Every action is spelled out."""
    return [action for statement in _statements(template) for action in _list(statement["Action"]) if "*" in action]


def no_free_resources(template: Template) -> list[str]:
    """`*` only for actions that know no narrower resource."""
    return [
        action
        for statement in _statements(template)
        for action in _list(statement["Action"])
        if "*" in _list(statement.get("Resource", [])) and action not in FORCED_TO_ANY_RESOURCE
    ]


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
