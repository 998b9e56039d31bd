"""The only variant of an endpoint: its name, how SageMaker routes requests, and where instances start."""

from aws_cdk import aws_sagemaker as sagemaker

from ..deployment.settings.hosting import Hosting

VARIANT_NAME = "AllTraffic"  # an update needs the same variant name in the old and the new configuration


def routing(hosting: Hosting) -> sagemaker.CfnEndpointConfig.RoutingConfigProperty:
    """Return the routing of `hosting.routing`."""
    prefix_aware = sagemaker.CfnEndpointConfig.PrefixAwareRoutingConfigProperty(
        prefix_length=hosting.routing_prefix_in_bytes,
        concurrency_threshold=hosting.scaling.concurrent_requests_per_instance,
    )
    return sagemaker.CfnEndpointConfig.RoutingConfigProperty(
        routing_strategy=hosting.routing.replace("-", "_").upper(),
        prefix_aware_routing_config=prefix_aware if hosting.routing == "prefix-aware" else None,
    )


def reserved_capacity(hosting: Hosting) -> sagemaker.CfnEndpointConfig.CapacityReservationConfigProperty | None:
    """Return the reserved capacity in which all instances start; None = they start on demand."""
    if hosting.reserved_capacity_arn is None:
        return None
    return sagemaker.CfnEndpointConfig.CapacityReservationConfigProperty(
        capacity_reservation_preference="capacity-reservations-only",  # the only one
        ml_reservation_arn=hosting.reserved_capacity_arn,
    )
