"""Creates in the local cloud the VPC that a deployment names, as preflight assumes it."""

import json
import urllib.request
from collections.abc import Sequence

from .cloud import ACCOUNT, LocalCloud


def put_network(
    cloud: LocalCloud,
    vpc_id: str,
    subnet_ids: Sequence[str],
    region: str,
    *,
    security_group_ids: Sequence[str] = (),
    route_table_ids: Sequence[str] = (),
    leads_out: bool = True,
) -> None:
    """Create the user's network: private subnets, security groups that let TCP 443 out, route tables.

    leads_out: whether a route leads to a NAT gateway.
    """
    network = {
        "account": ACCOUNT,
        "region": region,
        "vpc_id": vpc_id,
        "subnet_ids": list(subnet_ids),
        "security_group_ids": list(security_group_ids),
        "route_table_ids": list(route_table_ids),
        "leads_out": leads_out,
    }
    urllib.request.urlopen(f"{cloud.url}/_slipway/network", json.dumps(network).encode(), timeout=60).close()
