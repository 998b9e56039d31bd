"""Route 53: a record's zone of the account is taken for granted, because nothing on this machine asks DNS."""

from typing import Any

from local_cloud.emulator.cloudformation.resource_types import extend_resource_type
from local_cloud.emulator.core import ministack

_route53 = ministack.internals("ministack.services.route53", "_zones")


def _keep_zone(properties: dict[str, Any]) -> None:
    if zone := properties.get("HostedZoneId"):
        name = str(properties["Name"]).rstrip(".").partition(".")[2]
        _route53._zones.setdefault(zone, {"id": zone, "name": f"{name}."})


def install() -> None:
    extend_resource_type("AWS::Route53::RecordSet", check_new=_keep_zone)
