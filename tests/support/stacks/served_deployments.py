"""Deployments on a local cloud, for tests that run in another environment.

`python -m support.stacks.served_deployments <file> ...` deploys the files and then prints one JSON object. It holds the
`cloud_url` and, by name, the `url` of each API, its `key` (or a token), its named `keys`, and the `environment` of a
command line that operates the deployment. The program ends with standard input.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from local_cloud.api_client import connect
from local_cloud.assembly import Stack, read_stacks, synthesize
from local_cloud.checks import mark_as_linted
from local_cloud.cloud import LocalCloud, free_port
from local_cloud.deploy import deploy
from slipway.stack.deployed_stack import DeployedStack
from slipway.stack.keys import DeployedKeys, KeysError
from slipway.stack.operator_token import OperatorToken
from support.deployments.known_deployments import ACCOUNT_SETTINGS
from support.repository import ROOT

ASLEEP = ("asleep", "gateway-asleep")  # the deployments whose instances are stopped
BROKEN = "gateway-broken"  # the deployment whose functions can't run


def main() -> None:
    """Deploy the files, print their APIs, and serve until standard input ends."""
    with LocalCloud(port=free_port()) as cloud:  # it starts while the app synthesizes
        stacks = {stack.name: stack for stack in read_stacks(synthesize([ACCOUNT_SETTINGS, *sys.argv[1:]], _folder()))}
        for stack in stacks.values():
            mark_as_linted(stack)  # tests/templates lints templates of the same engine and mode
        cloud.wait_until_ready()
        deploy(cloud, stacks.pop(ACCOUNT_SETTINGS))
        with ThreadPoolExecutor() as side_by_side:
            served = dict(
                zip(stacks, side_by_side.map(lambda stack: _served(cloud, stack), stacks.values()), strict=True)
            )
        print(json.dumps(served), flush=True)
        sys.stdin.read()


def _folder() -> Path:
    return ROOT / "cdk.out" / "clients"


def _served(cloud: LocalCloud, stack: Stack) -> dict[str, Any]:
    outputs = deploy(cloud, stack)
    if stack.name in ASLEEP:
        _put_to_sleep(cloud.client("sagemaker", region=stack.region), outputs["EndpointName"])
    if stack.name == BROKEN:
        _break(cloud.client("lambda", region=stack.region))
    api = connect(cloud, outputs, stack.region)
    return {
        "url": api.url,
        "key": OperatorToken(_found(cloud, stack)).value() if "TokenIssuer" in outputs else api.api_key,
        "keys": _named_keys(cloud, stack),
        "cloud_url": cloud.url,
        "environment": {
            "AWS_ENDPOINT_URL": cloud.url,
            "AWS_ACCESS_KEY_ID": cloud.deployer.access_key_id,
            "AWS_SECRET_ACCESS_KEY": cloud.deployer.secret_access_key,
            "AWS_REGION": stack.region,
        },
    }


def _put_to_sleep(sagemaker: Any, endpoint: str) -> None:
    """Take the endpoint to zero instances, as its scaling does after a while without requests."""
    none = [{"VariantName": "AllTraffic", "DesiredInstanceCount": 0}]
    sagemaker.update_endpoint_weights_and_capacities(EndpointName=endpoint, DesiredWeightsAndCapacities=none)
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=endpoint, WaiterConfig={"Delay": 1})


def _break(lambda_: Any) -> None:
    """Take all concurrency from the functions, so that API Gateway answers 503."""
    pages = lambda_.get_paginator("list_functions").paginate().search("Functions[].FunctionName")
    for name in [each for each in pages if each.startswith(BROKEN)]:
        lambda_.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)


def _found(cloud: LocalCloud, stack: Stack) -> DeployedStack:
    clients = partial(cloud.client, region=stack.region)
    (described,) = clients("cloudformation").describe_stacks(StackName=stack.name)["Stacks"]
    return DeployedStack(described, clients)


def _named_keys(cloud: LocalCloud, stack: Stack) -> dict[str, str]:
    """Make a new value for each key that the deployment names."""
    try:
        keys = DeployedKeys(_found(cloud, stack))
    except KeysError:
        return {}
    return {name: keys.create(key)[1] for name, key in keys.named.items()}


main()
