"""Functions in a VPC: the checks of Lambda, and their VpcConfig, which MiniStack leaves out of templates."""

from typing import Any

from local_cloud.emulator.cloudformation.resource_types import extend_resource_type
from local_cloud.emulator.core import ministack
from local_cloud.emulator.services import iam
from local_cloud.emulator.vpc import network
from local_cloud.emulator.xray import daemon

_lambda = ministack.internals("ministack.services.lambda_svc", "_functions", "_vpc_config_with_id")

# What Lambda does with a function's role to connect it.
_INTERFACES = ("CreateNetworkInterface", "DeleteNetworkInterface", "DescribeNetworkInterfaces")


def _check(properties: dict[str, Any]) -> None:
    if not (vpc := properties.get("VpcConfig")):
        return
    network.check(vpc["SubnetIds"], vpc["SecurityGroupIds"])
    for action in _INTERFACES:
        if not iam.role_may(properties["Role"], f"ec2:{action}", "*"):
            raise ValueError(f"The provided execution role does not have permissions to call {action} on EC2")


def _connect(name: str, properties: dict[str, Any]) -> None:
    config = _lambda._functions[name]["config"]
    config["VpcConfig"] = _lambda._vpc_config_with_id(properties.get("VpcConfig"))


def _leads_to_xray(config: dict[str, Any], action: str) -> bool:
    vpc = config.get("VpcConfig") or {}
    if not vpc.get("SubnetIds"):
        return True
    leads, endpoints = network.Place(tuple(vpc["SubnetIds"]), tuple(vpc["SecurityGroupIds"])).way_to("xray")
    role = config["Role"].replace(":iam:", ":sts:").replace(":role/", ":assumed-role/")
    caller = f"{role}/{config['FunctionName']}"
    return leads and all(iam.endpoint_allows(each["PolicyDocument"], caller, action, "*") for each in endpoints)


def install() -> None:
    daemon.demand_way(_leads_to_xray)
    extend_resource_type("AWS::Lambda::Function", check=_check, complete=_connect)
