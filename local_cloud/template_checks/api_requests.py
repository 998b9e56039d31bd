"""Validates the resources of a template as API requests, which CloudFormation makes from their properties.

CloudFormation's own schemas, which cfn-lint knows, demand less than the APIs: a request without a required member fails
only when the resource is created. For the types below, the names of properties and members map one to one.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from .intrinsics import UNKNOWN, resolve


class _Requests(NamedTuple):
    """The operations that take the properties of a type; CloudFormation itself fills in the members in `generated`.

    generated: names, or `member.name` of a member that is a structure.
    tagged: the resource kind whose property Tags becomes an entry of TagSpecifications.
    own: properties that CloudFormation handles without the API.
    """

    service: str
    operations: tuple[str, ...]
    generated: tuple[str, ...] = ()
    tagged: str = ""
    own: tuple[str, ...] = ()


TYPES = {
    "AWS::ApiGateway::GatewayResponse": _Requests("apigateway", ("PutGatewayResponse",)),
    "AWS::ApiGateway::Resource": _Requests("apigateway", ("CreateResource",)),
    # The property ApiKeySourceType is apiKeySource in the request, and Policy becomes a text.
    "AWS::ApiGateway::RestApi": _Requests("apigateway", ("CreateRestApi",), own=("ApiKeySourceType", "Policy")),
    "AWS::ApplicationAutoScaling::ScalableTarget": _Requests(
        # CloudFormation puts scheduled actions by an operation of their own.
        "application-autoscaling",
        ("RegisterScalableTarget",),
        own=("ScheduledActions",),
    ),
    "AWS::ApplicationAutoScaling::ScalingPolicy": _Requests("application-autoscaling", ("PutScalingPolicy",)),
    "AWS::Budgets::Budget": _Requests("budgets", ("CreateBudget",), ("AccountId", "Budget.BudgetName")),
    "AWS::CloudFormation::StackSet": _Requests(
        "cloudformation", ("CreateStackSet", "CreateStackInstances"), ("Regions",), own=("StackInstancesGroup",)
    ),
    "AWS::CloudWatch::Alarm": _Requests("cloudwatch", ("PutMetricAlarm",), ("AlarmName",)),
    "AWS::CloudWatch::CompositeAlarm": _Requests("cloudwatch", ("PutCompositeAlarm",), ("AlarmName",)),
    "AWS::EC2::Instance": _Requests(
        "ec2", ("RunInstances",), ("MaxCount", "MinCount"), "instance", ("PropagateTagsToVolumeOnCreation",)
    ),
    "AWS::EC2::LaunchTemplate": _Requests("ec2", ("CreateLaunchTemplate",), ("LaunchTemplateName",)),
    "AWS::Lambda::EventInvokeConfig": _Requests("lambda", ("PutFunctionEventInvokeConfig",)),
    "AWS::Lambda::EventSourceMapping": _Requests("lambda", ("CreateEventSourceMapping",)),
    "AWS::Lambda::Permission": _Requests("lambda", ("AddPermission",), ("StatementId",)),
    "AWS::SageMaker::Endpoint": _Requests("sagemaker", ("CreateEndpoint", "UpdateEndpoint"), ("EndpointName",)),
    "AWS::SageMaker::EndpointConfig": _Requests("sagemaker", ("CreateEndpointConfig",), ("EndpointConfigName",)),
    "AWS::SageMaker::InferenceComponent": _Requests(
        "sagemaker", ("CreateInferenceComponent", "UpdateInferenceComponent"), ("InferenceComponentName",)
    ),
    "AWS::SageMaker::Model": _Requests("sagemaker", ("CreateModel",), ("ModelName",)),
    "AWS::WAFv2::WebACL": _Requests("wafv2", ("CreateWebACL",), ("Name",)),
    "AWS::WAFv2::WebACLAssociation": _Requests("wafv2", ("AssociateWebACL",)),
}
_RENAMED = {"ApiKeySourceType": "apiKeySource"}
_TARGET = "ScalingTargetId"
_TARGET_MEMBERS = ("ResourceId", "ScalableDimension", "ServiceNamespace")


def findings(template: dict[str, Any], region: str, models: Path | None = None) -> list[str]:
    """One sentence for each member that is missing, unknown, of a wrong type or out of range.

    models: the folder of botocore's service models; None = those of this Python.
    """
    found = (
        f"{logical_id} ({resource['Type']}): {problem}."
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] in TYPES
        for properties in resolve(resource.get("Properties", {}), template, region)
        for problem in problems(resource["Type"], properties, models)
    )
    return list(dict.fromkeys(found))


def problems(resource_type: str, properties: dict[str, Any], models: Path | None = None) -> Iterator[str]:
    """The problems of the resolved properties of a type in `TYPES`."""
    requests = TYPES[resource_type]
    properties = _completed(properties, requests.generated)
    properties = {name: value for name, value in properties.items() if name not in requests.own}
    if properties.pop(_TARGET, None):  # the Ref of a scalable target is "<resource id>|<dimension>|<namespace>"
        properties |= dict.fromkeys(_TARGET_MEMBERS, UNKNOWN)
    if requests.tagged and (tags := properties.pop("Tags", None)):
        properties["TagSpecifications"] = [{"ResourceType": requests.tagged, "Tags": tags}]
    shapes = {operation: input_shape(requests.service, operation, models) for operation in requests.operations}
    for name in properties:
        if not any(member_of(name, shape) in shape.members for shape in shapes.values()):
            yield f"{' and '.join(shapes)} {'know' if len(shapes) > 1 else 'knows'} no {name}"
    for operation, shape in shapes.items():
        taken = {name: value for name, value in properties.items() if member_of(name, shape) in shape.members}
        request = _fitted(taken, shape)
        report = ParamValidator().validate(request, shape).generate_report()
        for problem in [*report.splitlines(), *_bad_values(request, shape, "")]:
            yield f"{operation} refuses it: {problem}"


def _completed(properties: dict[str, Any], generated: tuple[str, ...]) -> dict[str, Any]:
    """Add the members that CloudFormation fills in, unless the template has them."""
    completed = dict(properties)
    for path in generated:
        name, _, inner = path.partition(".")
        if not inner:
            completed.setdefault(name, UNKNOWN)
        elif isinstance(completed.get(name), dict):
            completed[name] = {inner: UNKNOWN} | completed[name]
    return completed


@cache
def input_shape(service: str, operation: str, models: Path | None = None) -> Any:
    """The shape of an operation's request, from botocore's service model in the folder `models`."""
    loader = Loader([str(models)], include_default_search_paths=False) if models else Loader()
    return ServiceModel(loader.load_service_model(service, "service-2")).operation_model(operation).input_shape


def member_of(name: str, shape: Any) -> str:
    """The member for a property: API Gateway's members begin with a small letter."""
    small = _RENAMED.get(name, name[:1].lower() + name[1:])
    return small if small in shape.members else name


def _fitted(value: Any, shape: Any) -> Any:
    """The value as CloudFormation sends it: converted to the shape's type, with examples for unknown values."""
    kind = shape.type_name
    if value is UNKNOWN:
        return _example(shape)
    if kind == "structure" and isinstance(value, dict):
        members = {member_of(name, shape): each for name, each in value.items()}
        return {
            name: _fitted(each, shape.members[name]) if name in shape.members else each
            for name, each in members.items()
        }
    if kind == "list" and isinstance(value, list):
        return [_fitted(each, shape.member) for each in value]
    if kind == "map" and isinstance(value, list):  # tags, which some services take by their keys
        return {each["Key"]: each["Value"] for each in value}
    if kind == "map" and isinstance(value, dict):
        return {name: _fitted(each, shape.value) for name, each in value.items()}
    return _converted(value, kind)


def _converted(value: Any, kind: str) -> Any:
    if kind == "string" and isinstance(value, bool | int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if kind == "boolean" and value in ("true", "false"):
        return value == "true"
    if isinstance(value, str) and kind in ("integer", "long", "float", "double"):
        try:
            return float(value) if kind in ("float", "double") else int(value)
        except ValueError:
            return value
    return value


def _example(shape: Any) -> Any:
    """The smallest value that fits the shape."""
    least = shape.metadata.get("min", 0)
    match shape.type_name:
        case "structure":
            return {name: _example(shape.members[name]) for name in shape.required_members}
        case "list":
            return [_example(shape.member)] * least
        case "map":
            return {}
        case "string":
            return shape.enum[0] if shape.enum else "x" * max(1, least)
        case "boolean":
            return True
    return least


def _bad_values(value: Any, shape: Any, path: str) -> Iterator[str]:
    """Values outside an enumeration or above a maximum, which botocore does not check."""
    kind, most = shape.type_name, shape.metadata.get("max")
    if kind == "structure" and isinstance(value, dict):
        for name in value.keys() & shape.members.keys():
            yield from _bad_values(value[name], shape.members[name], f"{path}.{name}".removeprefix("."))
    elif kind == "list" and isinstance(value, list):
        for index, each in enumerate(value):
            yield from _bad_values(each, shape.member, f"{path}[{index}]")
    elif kind == "map" and isinstance(value, dict):
        for name, each in value.items():
            yield from _bad_values(each, shape.value, f"{path}.{name}")
    elif kind == "string" and shape.enum and value not in shape.enum:
        yield f"{path}: {value!r} is none of its values, {', '.join(shape.enum[:5])}{', ...' * (len(shape.enum) > 5)}"
    size = len(value) if isinstance(value, str | list | dict) else value
    if most is not None and isinstance(size, int | float) and size > most:
        yield f"{path}: {size} is above its maximum of {most}"
