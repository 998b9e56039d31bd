"""How a caller on this machine stands for one at another address: by a header that only the local cloud knows."""

import json
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

SOURCE_HEADER = "x-slipway-source-ip"


def headers_of_admitted(gateway: Any, api_id: str) -> dict[str, str]:
    """Return headers with which a call comes from an address that an API's policy admits; {} if it admits this one.

    gateway: a boto3 client of the local cloud's API Gateway.
    """
    policy = gateway.get_rest_api(restApiId=api_id).get("policy") or "{}"
    networks = list(_networks(json.loads(policy.replace('\\"', '"'))))
    return {SOURCE_HEADER: str(next(iter(ip_network(networks[0]))))} if networks else {}


def _networks(policy: dict[str, Any]) -> Iterator[str]:
    for statement in policy.get("Statement", []):
        for named in statement.get("Condition", {}).get("NotIpAddress", {}).values():
            yield from [named] if isinstance(named, str) else named
