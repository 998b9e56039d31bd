"""The house rules that every template must keep; each function returns the violations of one rule."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from llm_hosting.catalog.regions import container_accounts
from support.templates.template_parts import Template, referred

Resource = dict[str, Any]

FORCED_TO_ANY_RESOURCE = {
    "cloudwatch:PutMetricData",
    "ec2:DescribeInstances",
    "ecr:GetAuthorizationToken",
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    *(
        f"ec2:{action}"
        for action in (
            "AssignPrivateIpAddresses",
            "CreateNetworkInterface",
            "CreateNetworkInterfacePermission",
            "DeleteNetworkInterface",
            "DeleteNetworkInterfacePermission",
            "DescribeDhcpOptions",
            "DescribeNetworkInterfaces",
            "DescribeSecurityGroups",
            "DescribeSubnets",
            "DescribeVpcs",
            "UnassignPrivateIpAddresses",
        )
    ),
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
}
# Each model and each job has files of its own, below a named folder.
BELOW_A_FOLDER = {
    "s3:AbortMultipartUpload",
    "s3:GetObject",
    "s3:GetObjectVersion",
    "s3:ListMultipartUploadParts",
    "s3:PutObject",
}
# A caller of an API may call all its routes.
# Each adapter is a component whose name begins with the model's, so that a new one changes no function's permissions.
ON_OWN_ADAPTERS = {"sagemaker:InvokeEndpoint", "sagemaker:InvokeEndpointWithResponseStream"}
BELOW_A_STAGE = {"execute-api:Invoke"}
# The ids of instances are unknown before they start; a condition on the stack's tag allows only its own instances.
ON_TAGGED_INSTANCES = {"ec2:StartInstances", "ec2:StopInstances"}
# These names are not physical names, or need to be unique only within their parent.
SCOPED_NAMES = {
    ("AWS::ApiGateway::Authorizer", "Name"),
    ("AWS::ApiGateway::DomainName", "DomainName"),  # the user's own domain
    ("AWS::ApiGateway::RestApi", "Name"),  # several APIs may have the same name
    ("AWS::ApiGateway::Stage", "StageName"),
    ("AWS::ApplicationAutoScaling::ScalingPolicy", "PolicyName"),
    ("AWS::CloudWatch::Alarm", "MetricName"),
    ("AWS::Cognito::UserPoolResourceServer", "Name"),  # of a scope, in its own pool
    ("AWS::EC2::VPCEndpoint", "ServiceName"),
    ("AWS::IAM::Policy", "PolicyName"),
    ("AWS::Route53::RecordSet", "Name"),
    ("AWS::SageMaker::InferenceComponent", "VariantName"),
}
NAMED_BY_STACK_ID = {
    ("AWS::CloudWatch::Dashboard", "DashboardName"),
    ("AWS::Logs::LogGroup", "LogGroupName"),
    ("AWS::SageMaker::Endpoint", "EndpointName"),
    ("AWS::SageMaker::InferenceComponent", "EndpointName"),
    ("AWS::SageMaker::InferenceComponent", "InferenceComponentName"),
}


def no_managed_policies(template: Template) -> list[str]:
    """No role uses a managed policy, because AWS may widen it."""
    return [
        logical_id
        for logical_id, resource in template["Resources"].items()
        if resource.get("Properties", {}).get("ManagedPolicyArns") or "FullAccess" in json.dumps(resource)
    ]


def no_partition_or_region_literals(template: Template) -> list[str]:
    """Only the user's settings (topics, keys, secrets, certificates, web ACLs) may name a partition or region."""
    text = json.dumps({name: part for name, part in template.items() if name != "Mappings"})
    text = re.sub(r"arn:aws:(acm|kms|secretsmanager|sns|wafv2):us-east-1:111122223333", "", text)
    regions = "|".join(container_accounts())
    return re.findall(rf"arn:aws[a-z-]*:|\b(?:{regions})\b|amazonaws\.com\.cn|\.amazonaws\.com/", text)


def no_fixed_names(template: Template) -> list[str]:
    """Only endpoint, component, log group and dashboard have fixed names, which contain a part of the stack's id."""
    return [
        f"{logical_id}.{key}"
        for logical_id, resource in template["Resources"].items()
        for key, name in resource.get("Properties", {}).items()
        if key.endswith("Name") and not _may_be_named(resource["Type"], key, name, template)
    ]


def _may_be_named(kind: str, key: str, name: Any, template: Template) -> bool:
    if (kind, key) in NAMED_BY_STACK_ID:
        return "AWS::StackId" in json.dumps(name)
    refers = isinstance(name, dict) and (name.get("Ref") or name.get("Fn::GetAtt", [""])[0]) in template["Resources"]
    return refers or (kind, key) in SCOPED_NAMES


def no_account_wide_settings(template: Template) -> list[str]:
    """AWS::ApiGateway::Account is one per account and region: two stacks would fight over it."""
    return [
        logical_id
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] == "AWS::ApiGateway::Account"
    ]


def no_custom_resources(template: Template) -> list[str]:
    """No custom resources: they would bring other code into the account."""
    return [
        logical_id
        for logical_id, resource in template["Resources"].items()
        if resource["Type"].startswith("Custom::") or resource["Type"] == "AWS::CloudFormation::CustomResource"
    ]


def no_wildcard_actions(template: Template) -> list[str]:
    """Every allowed action is spelled out."""
    return [
        action for statement in _allowing(template) for action in _list(statement.get("Action", "*")) if "*" in action
    ]


def no_free_resources(template: Template) -> list[str]:
    """`*` stands where actions know nothing narrower, for files of a folder, routes, own instances and adapters."""
    violations = []
    for statement in _allowing(template):
        if "NotAction" in statement or "NotResource" in statement:
            violations.append("allows all but something")
            continue
        free = [text for each in _list(statement.get("Resource", [])) if "*" in (text := json.dumps(each))]
        below_folders = all(text.count("*") == 1 and re.search(r"/[^/*\"]+/\*\"", text) for text in free)
        tag = statement.get("Condition", {}).get("StringEquals", {}).get("aws:ResourceTag/slipway:deployment")
        allowed = FORCED_TO_ANY_RESOURCE | (BELOW_A_FOLDER if below_folders else set())
        allowed |= ON_TAGGED_INSTANCES if tag else set()
        of_own_name = all('{"Ref": "AWS::StackId"}' in text and text.endswith('"-*"]]}') for text in free)
        allowed |= ON_OWN_ADAPTERS if of_own_name else set()
        allowed |= BELOW_A_STAGE if all('{"Ref": ' in text and "/v1/*/*" in text for text in free) else set()
        violations += [action for action in _list(statement["Action"]) if free and action not in allowed]
    return violations


def no_open_resource_policies(template: Template) -> list[str]:
    """The policy of a queue, topic, bucket or function lets in only a service, on behalf of one of our resources."""
    violations = [
        logical_id
        for logical_id, resource in template["Resources"].items()
        for statement in statements_of(resource)
        if statement["Effect"] == "Allow" and "Principal" in statement and not _is_bound(statement)
    ]
    for logical_id, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Lambda::Permission" and "SourceArn" not in resource["Properties"]:
            violations.append(logical_id)
    return violations


def _is_bound(statement: dict[str, Any]) -> bool:
    if statement["Action"] == "sts:AssumeRole":
        return "Service" in statement["Principal"]
    conditions: dict[str, Any] = {}
    for operator in ("ArnEquals", "StringEquals"):
        conditions |= statement.get("Condition", {}).get(operator, {})
    return list(statement["Principal"]) == ["Service"] and "aws:SourceArn" in conditions


def queues_outlast_their_functions(template: Template) -> list[str]:
    """The visibility timeout of a queue is six times the timeout of the function that reads it, as AWS advises."""
    violations = []
    for logical_id, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Lambda::EventSourceMapping":
            queue = referred(template, resource["Properties"]["EventSourceArn"])
            function = referred(template, resource["Properties"]["FunctionName"])
            if queue.get("VisibilityTimeout", 30) < 6 * function.get("Timeout", 3):
                violations.append(logical_id)
    return violations


def queues_have_dead_letters(template: Template) -> list[str]:
    """Every queue and every subscription has a dead-letter queue, or is one."""
    sources = {
        logical_id: resource["Properties"].get("RedrivePolicy")
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] in ("AWS::SQS::Queue", "AWS::SNS::Subscription")
    }
    ends = {policy["deadLetterTargetArn"]["Fn::GetAtt"][0] for policy in sources.values() if policy}
    return [logical_id for logical_id, policy in sources.items() if not policy and logical_id not in ends]


def retained_resources_are_tagged(template: Template) -> list[str]:
    """Resources that outlive a destroy or a replacement carry the stack's name; tables also say what they hold."""
    return [
        logical_id
        for logical_id, resource in template["Resources"].items()
        if "Retain" in resource.get("DeletionPolicy", "Delete") + resource.get("UpdateReplacePolicy", "Delete")
        and resource["Type"] != "AWS::S3::BucketPolicy"  # it is deleted with its bucket, and can't have tags
        and not _is_tagged(resource)
    ]


def _is_tagged(resource: dict[str, Any]) -> bool:
    tags = resource.get("Properties", {}).get("Tags", [])
    tells_content = resource["Type"] != "AWS::DynamoDB::Table" or any(tag["Key"] == "slipway:content" for tag in tags)
    return tells_content and any(tag["Key"] == "slipway:deployment" and tag["Value"] for tag in tags)


RULES: tuple[Callable[[Template], list[str]], ...] = (
    no_managed_policies,
    no_partition_or_region_literals,
    no_fixed_names,
    no_account_wide_settings,
    no_custom_resources,
    no_wildcard_actions,
    no_free_resources,
    no_open_resource_policies,
    queues_outlast_their_functions,
    queues_have_dead_letters,
    retained_resources_are_tagged,
)


def _allowing(template: Template) -> Iterator[dict[str, Any]]:
    """Return the statements that allow; statements that deny may use wildcards."""
    for resource in template["Resources"].values():
        yield from (statement for statement in statements_of(resource) if statement["Effect"] == "Allow")


def statements_of(resource: Resource) -> Iterator[dict[str, Any]]:
    """Return every statement of a policy, or of a role's inline policies.

    The policy of a VPC endpoint grants nothing, and only limits what roles allow.
    """
    if resource.get("Type") == "AWS::EC2::VPCEndpoint":
        return
    properties = resource.get("Properties", {})
    inline = properties.get("Policies", []) if resource["Type"] == "AWS::IAM::Role" else []
    documents = [
        properties.get("PolicyDocument"),
        properties.get("AssumeRolePolicyDocument"),
        *(each["PolicyDocument"] for each in inline),
    ]
    for document in filter(None, documents):
        yield from document["Statement"]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
