"""The price in USD an hour of a resource's instances, by the catalog: an indication, never a bill."""

from typing import Any

from llm_hosting.catalog.instances import ec2_instances, instances
from slipway.changes.template.resources import Resource, Resources, values_at


def usd_per_hour(resource: Resource, resources: Resources) -> float | None:
    """The price of a resource's instances; None if it has none, or if template or catalog do not tell their price."""
    properties = resource.properties
    if resource.type == "AWS::SageMaker::EndpointConfig":
        return _of_variants(values_at(properties, ["ProductionVariants", "*"]))
    if resource.type == "AWS::EC2::Instance":
        return _ec2(_type_of(properties, resources))
    if resource.type == "AWS::EC2::LaunchTemplate" and not _starts_here(resource, resources):
        return _ec2(next(iter(values_at(properties, ["LaunchTemplateData", "InstanceType"])), None))
    return None


def _of_variants(variants: list[Any]) -> float | None:
    """The price of the instances that each variant starts with."""
    prices = [_of_variant(each) for each in variants if isinstance(each, dict) and "ServerlessConfig" not in each]
    return None if not prices or None in prices else sum(each for each in prices if each is not None)


def _of_variant(variant: dict[str, Any]) -> float | None:
    pools = values_at(variant, ["InstancePools", "*", "InstanceType"])
    price = usd_per_instance(str(variant.get("InstanceType") or next(iter(pools), "")))
    return _times(price, variant.get("InitialInstanceCount", "1"))


def usd_per_instance(endpoint_type: str) -> float | None:
    """The price of one instance of an endpoint's type in USD an hour; None if it is not known."""
    known = instances().get(endpoint_type)
    return known.usd_per_hour if known else None


def _type_of(properties: dict[str, Any], resources: Resources) -> Any:
    """The type of an instance: its own, or that of its launch template."""
    if "InstanceType" in properties:
        return properties["InstanceType"]
    for key in ("LaunchTemplateId", "LaunchTemplateName"):
        for reference in values_at(properties, ["LaunchTemplate", key]):
            name = reference.get("Ref") if isinstance(reference, dict) else None
            if isinstance(name, str) and name in resources:
                found = values_at(resources[name].properties, ["LaunchTemplateData", "InstanceType"])
                return next(iter(found), None)
    return None


def _starts_here(template: Resource, resources: Resources) -> bool:
    """Whether an instance in the same template uses the launch template, and so is billed itself."""
    references = [found for each in resources.values() for found in values_at(each.properties, ["LaunchTemplate"])]
    return any(template.logical_id in str(each) for each in references)


def _ec2(instance_type: Any) -> float | None:
    known = ec2_instances().get(str(instance_type))
    return known.usd_per_hour if known else None


def _times(price: float | None, count: Any) -> float | None:
    try:
        return None if price is None else price * int(count)
    except (TypeError, ValueError):
        return None
