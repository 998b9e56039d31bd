"""Every template keeps the house rules, and every rule fails on a planted fault."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from support.deployments.known_deployments import ACCOUNT_SETTINGS, SHIPPED, VARIANTS
from support.templates.house_rules import (
    RULES,
    no_account_wide_settings,
    no_custom_resources,
    no_fixed_names,
    no_free_resources,
    no_managed_policies,
    no_open_resource_policies,
    no_partition_or_region_literals,
    no_wildcard_actions,
    queues_have_dead_letters,
    queues_outlast_their_functions,
    retained_resources_are_tagged,
)
from support.templates.template_parts import Template

LOG_ACTIONS = "logs:"  # the account-wide role for logs may write to every group
IN_ONE_REGION = {"own-image": {"af-south-1"}, "canary": {"us-east-1", "arn:aws:"}}  # their files name the region


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_templates_keep_the_house_rules(
    templates: dict[str, Template], rule: Callable[[Template], list[str]]
) -> None:
    violations = {name: set(found) for name in SHIPPED + VARIANTS if (found := rule(templates[name]))}
    if rule is no_partition_or_region_literals:
        assert violations == IN_ONE_REGION
    else:
        assert violations == {}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_account_settings_break_only_expected_rules(
    templates: dict[str, Template], rule: Callable[[Template], list[str]]
) -> None:
    violations = rule(templates[ACCOUNT_SETTINGS])
    if rule is no_account_wide_settings:
        assert violations == ["Account"]
    elif rule is retained_resources_are_tagged:
        assert all(each.startswith(("LogRole", "Account")) for each in violations), "belongs to no deployment"
    else:
        assert [each for each in violations if not each.startswith(LOG_ACTIONS)] == []


def _policy(action: str, resource: str) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource}
    return {"Type": "AWS::IAM::Policy", "Properties": {"PolicyDocument": {"Statement": [statement]}}}


def _queue_policy(principal: Any, condition: dict[str, Any]) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": "sqs:SendMessage", "Principal": principal, "Condition": condition}
    return {"Type": "AWS::SQS::QueuePolicy", "Properties": {"PolicyDocument": {"Statement": [statement]}}}


SNS = {"Service": "sns.amazonaws.com"}
HASTY = {
    "Queue": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 59}},
    "Function": {"Type": "AWS::Lambda::Function", "Properties": {"Timeout": 10}},
    "Mapping": {
        "Type": "AWS::Lambda::EventSourceMapping",
        "Properties": {"EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]}, "FunctionName": {"Ref": "Function"}},
    },
}


@pytest.mark.parametrize(
    ("rule", "planted"),
    [
        (
            no_managed_policies,
            {"Type": "AWS::IAM::Role", "Properties": {"ManagedPolicyArns": ["AmazonSageMakerFullAccess"]}},
        ),
        (no_partition_or_region_literals, _policy("s3:GetObject", "arn:aws:s3:::bucket/*")),
        (no_partition_or_region_literals, {"Type": "X", "Properties": {"Image": "dkr.ecr.us-west-2"}}),
        (no_fixed_names, {"Type": "AWS::SageMaker::EndpointConfig", "Properties": {"EndpointConfigName": "mine"}}),
        (
            no_fixed_names,
            {
                "Type": "AWS::SageMaker::EndpointConfig",
                "Properties": {"EndpointConfigName": {"Fn::Sub": "${AWS::StackName}-${AWS::StackId}"}},
            },
        ),
        (no_fixed_names, {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "mine"}}),
        (no_account_wide_settings, {"Type": "AWS::ApiGateway::Account", "Properties": {}}),
        (no_custom_resources, {"Type": "Custom::S3AutoDeleteObjects", "Properties": {}}),
        (no_wildcard_actions, _policy("s3:Get*", "x")),
        (no_free_resources, _policy("sagemaker:InvokeEndpoint", "*")),
        (no_free_resources, _policy("sagemaker:InvokeEndpoint", "arn:x:sagemaker:::endpoint/*")),
        (no_free_resources, _policy("s3:GetObject", "arn:x:s3:::bucket/*")),
        (no_free_resources, _policy("s3:DeleteObject", "arn:x:s3:::bucket/input/*")),
        (no_free_resources, _policy("ec2:StartInstances", "arn:x:ec2:::instance/*")),
        (no_open_resource_policies, _queue_policy("*", {})),
        (no_open_resource_policies, _queue_policy(SNS, {"StringEquals": {"aws:SourceAccount": "1"}})),
        (no_open_resource_policies, _queue_policy({"AWS": "arn:x"}, {"ArnEquals": {"aws:SourceArn": "arn:x"}})),
        (no_open_resource_policies, {"Type": "AWS::Lambda::Permission", "Properties": {"Principal": "events"}}),
        (queues_outlast_their_functions, HASTY),
        (queues_have_dead_letters, {"Type": "AWS::SQS::Queue", "Properties": {}}),
        (queues_have_dead_letters, {"Type": "AWS::SNS::Subscription", "Properties": {}}),
        (retained_resources_are_tagged, {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Retain", "Properties": {}}),
        (
            retained_resources_are_tagged,
            {
                "Type": "AWS::DynamoDB::Table",
                "DeletionPolicy": "Retain",
                "Properties": {"Tags": [{"Key": "slipway:deployment", "Value": {"Ref": "AWS::StackName"}}]},
            },
        ),
    ],
    ids=lambda value: getattr(value, "__name__", "planted"),
)
def test_a_planted_fault_is_found(
    templates: dict[str, Template], rule: Callable[[Template], list[str]], planted: dict[str, Any]
) -> None:
    template = copy.deepcopy(templates["gpt2"])
    template["Resources"] |= {"Planted": planted} if "Type" in planted else planted
    assert rule(template)
