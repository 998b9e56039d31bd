"""Creates in the local cloud the VPC and subnets that a deployment names, with a way out, as preflight assumes."""

import json
import urllib.request
from collections.abc import Sequence

from .cloud import ACCOUNT, LocalCloud


def put_network(cloud: LocalCloud, vpc_id: str, subnet_ids: Sequence[str], region: str) -> None:
    """Create the user's network: private subnets with a route to a NAT gateway."""
    network = {"account": ACCOUNT, "region": region, "vpc_id": vpc_id, "subnet_ids": list(subnet_ids)}
    urllib.request.urlopen(f"{cloud.url}/_slipway/network", json.dumps(network).encode(), timeout=60).close()
