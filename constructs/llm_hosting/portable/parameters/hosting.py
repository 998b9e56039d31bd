"""Parameters of endpoint or machines: image, instance type, counts."""

from collections.abc import Iterator
from typing import Any

from ...deployment.model import Deployment
from ...resolution import Resolution
from ...resolution.variant_weight import awake_weight, variant_weight
from ..editing.conditions import ENDPOINT, bind, only_if
from ..editing.places import Place, Template, at, of_type, with_text
from . import own_image
from .dashboard import shown_count, shown_prices
from .instance_types import exchangeable_types
from .parameter import Parameter

_CONFIGURATION = "AWS::SageMaker::EndpointConfig"
_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
_COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 100)
_ZERO, _WAKES = "MinInstancesIsZero", "EndpointWakesFromZero"


def parameters(resolution: Resolution) -> Iterator[Parameter]:
    """Return the parameters. Machines have none for count and image: each is a resource, and all run Amazon Linux."""
    deployment = resolution.deployment
    if not deployment.hosting.runs_on_machines:
        yield from own_image.parameters(resolution.image)
        yield from _image(resolution.image)
    yield from _instance_type(resolution)
    if deployment.uses_components:
        yield from _most_instances(resolution) if deployment.is_scaled else ()
    elif not deployment.hosting.runs_on_machines:
        yield from _range_of_counts(deployment) if deployment.hosting.instance_count.is_scaled else _count(deployment)


def _image(image: str) -> Iterator[Parameter]:
    if tag := own_image.tag_of(image):
        yield Parameter(
            "ImageTag",
            "String",
            "Tag of the container image: another build of the same engine, for the same CUDA.",
            default=tag,
            pattern="^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$",
            places=(_with_tag(f":{tag}"),),
        )


def _with_tag(tag: str) -> Place:
    def put(template: Template) -> None:
        for model in of_type(template, "AWS::SageMaker::Model").values():
            container = model["Properties"]["PrimaryContainer"]
            container["Image"] = with_text(container["Image"], tag, ":", {"Ref": "ImageTag"})

    return put


def _instance_type(resolution: Resolution) -> Iterator[Parameter]:
    kind, path = _CONFIGURATION, "ProductionVariants.0.InstanceType"
    if resolution.deployment.hosting.runs_on_machines:
        kind, path = "AWS::EC2::LaunchTemplate", "LaunchTemplateData.InstanceType"
    later = "Another one replaces the instances."
    hosting = resolution.deployment.hosting
    if hosting.instance_count.is_scaled and not (hosting.runs_on_machines or resolution.deployment.uses_components):
        later = (
            "Not to be changed while the endpoint scales: SageMaker refuses that. A template that was rendered with a "
            "fixed count comes in between."
        )
    if types := exchangeable_types(resolution):
        shown, mappings = shown_prices(resolution, types)
        yield Parameter(
            "InstanceType",
            "String",
            "Instance type: those for which the deployment's check has no error and nothing else changes. " + later,
            default=types[0],
            allowed=types,
            places=(at(kind, path, {"Ref": "InstanceType"}), *shown),
            mappings=mappings,
        )


def _count(deployment: Deployment) -> Iterator[Parameter]:
    count, own = {"Ref": "InstanceCount"}, deployment.hosting.instance_count.max
    allowed = [each for each in sorted({*_COUNTS, own}) if deployment.hosting.can_roll_out(each)]
    workers, mappings = _workers(deployment, "InstanceCount", allowed)
    yield Parameter(
        "InstanceCount",
        "Number",
        "Instances that serve the model, each billed by the hour.",
        default=str(own),
        allowed=tuple(map(str, allowed)),
        places=(
            at(_CONFIGURATION, "ProductionVariants.0.InitialInstanceCount", count),
            workers,
            shown_count(own, "InstanceCount"),
        ),
        mappings=mappings,
    )


def _most_instances(resolution: Resolution) -> Iterator[Parameter]:
    """Return the parameter of the instances that the copies of an inference component may take."""
    deployment = resolution.deployment
    own, copies = deployment.hosting.instance_count, resolution.component_copy.per_instance
    counts = [count for count in sorted({*_COUNTS, own.max}) if count >= own.min]
    allowed = [count for count in counts if deployment.hosting.can_roll_out(count * copies)]
    workers, mappings = _workers(deployment, "MaxInstances", allowed)
    most = {"Ref": "MaxInstances"}
    yield Parameter(
        "MaxInstances",
        "Number",
        "Instances that may run.",
        default=str(own.max),
        allowed=tuple(map(str, allowed)),
        places=(
            at(_CONFIGURATION, "ProductionVariants.0.ManagedInstanceScaling.MaxInstanceCount", most),
            at(_TARGET, "MaxCapacity", most if copies == 1 else {"Fn::FindInMap": ["Copies", most, "Most"]}),
            workers,
            shown_count(own.max, "MaxInstances"),
        ),
        mappings=mappings
        | ({} if copies == 1 else {"Copies": {str(count): {"Most": count * copies} for count in allowed}}),
    )


def _range_of_counts(deployment: Deployment) -> Iterator[Parameter]:
    """Return parameters with lists of counts: CloudFormation can't compare numbers, but a rule can look values up."""
    own, least, most = deployment.hosting.instance_count, {"Ref": "MinInstances"}, {"Ref": "MaxInstances"}
    counts = sorted({*_COUNTS, own.max, *filter(None, [own.min])})
    above_zero = [each for each in counts if deployment.hosting.can_roll_out(each)]
    sleeps = own.min == 0
    initial = only_if(_ZERO, 1, least) if sleeps else least  # no endpoint starts with zero instances
    weights = variant_weight(deployment.hosting), awake_weight(deployment.hosting)
    zero = {"Fn::Equals": [least, "0"]}
    yield Parameter(
        "MinInstances",
        "Number",
        "Instances that always run, each billed by the hour." + (" 0: the first job starts one." if sleeps else ""),
        default=str(own.min),
        allowed=tuple(map(str, [0, *above_zero] if sleeps else above_zero)),
        places=(
            at(_CONFIGURATION, "ProductionVariants.0.InitialInstanceCount", initial),
            at(_TARGET, "MinCapacity", least),
            *(
                [
                    _wake_from_zero,
                    at(_CONFIGURATION, "ProductionVariants.0.InitialVariantWeight", only_if(_ZERO, *weights)),
                ]
                if sleeps
                else []
            ),
        ),
        conditions={_ZERO: zero, _WAKES: {"Fn::And": [{"Condition": ENDPOINT}, zero]}} if sleeps else {},
    )
    workers, mappings = _workers(deployment, "MaxInstances", above_zero)
    yield Parameter(
        "MaxInstances",
        "Number",
        "Instances that may run.",
        default=str(own.max),
        allowed=tuple(map(str, above_zero)),
        places=(at(_TARGET, "MaxCapacity", most), workers, shown_count(own.max, "MaxInstances")),
        mappings=mappings,
        rules={"MinInstancesAtMostMaxInstances": _at_most(above_zero)},
    )


def _at_most(counts: list[int]) -> dict[str, Any]:
    assertions = [
        {
            "Assert": {
                "Fn::Or": [
                    {"Fn::Not": [{"Fn::Equals": [{"Ref": "MinInstances"}, str(count)]}]},
                    {"Fn::Contains": [[str(each) for each in counts if each >= count], {"Ref": "MaxInstances"}]},
                ]
            },
            "AssertDescription": "MinInstances is above MaxInstances; lower the one or raise the other.",
        }
        for count in counts[1:]
    ]
    return {"Assertions": assertions}


def _wake_from_zero(template: Template) -> None:
    """Bind waking to a minimum of 0. With a higher minimum an update keeps the number of instances."""
    policies = of_type(template, "AWS::ApplicationAutoScaling::ScalingPolicy")
    steps = {name for name, each in policies.items() if each["Properties"]["PolicyType"] == "StepScaling"}
    bind(template, steps, _WAKES)
    for endpoint in of_type(template, "AWS::SageMaker::Endpoint").values():
        excluded = endpoint["Properties"]["ExcludeRetainedVariantProperties"]
        endpoint["Properties"]["ExcludeRetainedVariantProperties"] = only_if(_ZERO, excluded)


def _workers(deployment: Deployment, parameter: str, counts: list[int]) -> tuple[Place, dict[str, Any]]:
    """Return the number of workers, which follows the number of instances up to a limit, and its mapping."""
    most = {str(count): {"Most": _most_workers(deployment, count)} for count in counts}
    follows = deployment.jobs.enabled and len({each["Most"] for each in most.values()}) > 1
    value = {"Fn::FindInMap": ["Workers", {"Ref": parameter}, "Most"]} if follows else deployment.most_workers
    place = at("AWS::Lambda::EventSourceMapping", "ScalingConfig.MaximumConcurrency", value)
    return place, {"Workers": most} if follows else {}


def _most_workers(deployment: Deployment, count: int) -> int:
    counts = deployment.hosting.instance_count.model_copy(update={"max": count})
    hosting = deployment.hosting.model_copy(update={"instance_count": counts})
    return deployment.model_copy(update={"hosting": hosting}).most_workers
