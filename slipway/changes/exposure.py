"""Doors that are open to the public, so that an update which opens one is told."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slipway.changes.permissions import documents, permission_document
from slipway.changes.policies import as_list, grants_of, shown
from slipway.changes.resources import Resource

# A condition on one of these keys says who may come, or from where.
# Source: "The meaning of public" (S3 user guide) and the global condition keys (IAM user guide).
_NARROWING = {
    "aws:principalaccount",
    "aws:principalarn",
    "aws:principalorgid",
    "aws:principalorgpaths",
    "aws:sourceaccount",
    "aws:sourcearn",
    "aws:sourceip",
    "aws:sourceorgid",
    "aws:sourceorgpaths",
    "aws:sourceowner",
    "aws:sourcevpc",
    "aws:sourcevpce",
    "aws:userid",
    "aws:username",
    "aws:vpcsourceip",
    "kms:calleraccount",
    "s3:dataaccesspointaccount",
    "s3:dataaccesspointarn",
    "sns:endpoint",
}
_BLOCKS = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")

# (type, path, the values that are public, what it is) ; "" among the values = also where the property is absent.
_SETTINGS = [
    ("AWS::Lambda::Url", "AuthType", ("NONE",), "anybody may call the function's URL"),
    ("AWS::S3::Bucket", "AccessControl", ("PublicRead", "PublicReadWrite", "AuthenticatedRead"), "the ACL is public"),
    ("AWS::RDS::DBInstance", "PubliclyAccessible", ("true",), "the database gets a public address"),
    ("AWS::RDS::DBCluster", "PubliclyAccessible", ("true",), "the database gets a public address"),
    ("AWS::Neptune::DBInstance", "PubliclyAccessible", ("true",), "the database gets a public address"),
    ("AWS::Redshift::Cluster", "PubliclyAccessible", ("true",), "the cluster gets a public address"),
    ("AWS::RedshiftServerless::Workgroup", "PubliclyAccessible", ("true",), "the workgroup gets a public address"),
    ("AWS::DMS::ReplicationInstance", "PubliclyAccessible", ("true", ""), "the instance gets a public address"),
    ("AWS::AmazonMQ::Broker", "PubliclyAccessible", ("true",), "the broker gets a public address"),
    ("AWS::Cognito::IdentityPool", "AllowUnauthenticatedIdentities", ("true",), "anybody gets credentials"),
    ("AWS::EC2::Subnet", "MapPublicIpOnLaunch", ("true",), "what starts in the subnet gets a public address"),
    ("AWS::EC2::Instance", "NetworkInterfaces.*.AssociatePublicIpAddress", ("true",), "it gets a public address"),
    (
        "AWS::EC2::LaunchTemplate",
        "LaunchTemplateData.NetworkInterfaces.*.AssociatePublicIpAddress",
        ("true",),
        "its instances get a public address",
    ),
    ("AWS::AutoScaling::LaunchConfiguration", "AssociatePublicIpAddress", ("true",), "instances get a public address"),
    (
        "AWS::ECS::Service",
        "NetworkConfiguration.AwsvpcConfiguration.AssignPublicIp",
        ("ENABLED",),
        "tasks get an address",
    ),
    ("AWS::ElasticLoadBalancingV2::LoadBalancer", "Scheme", ("internet-facing", ""), "it faces the internet"),
    ("AWS::ElasticLoadBalancing::LoadBalancer", "Scheme", ("internet-facing", ""), "it faces the internet"),
    ("AWS::EKS::Cluster", "ResourcesVpcConfig.EndpointPublicAccess", ("true", ""), "the API server is public"),
    (
        "AWS::MSK::Cluster",
        "BrokerNodeGroupInfo.ConnectivityInfo.PublicAccess.Type",
        ("SERVICE_PROVIDED_EIPS",),
        "public",
    ),
]


@dataclass(frozen=True)
class Door:
    """One way in; equal if it is the same one before and after."""

    logical_id: str
    property: str
    sentence: str


def doors(resources: dict[str, Resource]) -> set[Door]:
    """All that are open to the public by these resources."""
    return {door for each in resources.values() for door in _doors(each, resources)}


def opened(before: dict[str, Resource], after: dict[str, Resource]) -> list[Door]:
    """The doors that an update opens."""
    found = list(doors(after) - doors(before))
    for name in before.keys() & after.keys():
        found += _loosened(before[name], after[name])
    return sorted(found, key=lambda door: (door.logical_id, door.property, door.sentence))


def _doors(resource: Resource, resources: dict[str, Resource]) -> Iterator[Door]:
    name, properties = resource.logical_id, resource.properties
    for kind, path, public, sentence in _SETTINGS:
        if kind == resource.type:
            values = [shown(each) for each in values_at(properties, path.split("."))] or [""]
            if set(values) & set(public):
                yield Door(name, path, sentence)
    if resource.type in ("AWS::ApiGateway::Method", "AWS::ApiGatewayV2::Route"):
        yield from _open_method(resource, resources)
    if resource.type == "AWS::S3::Bucket" and "PublicAccessBlockConfiguration" in properties:
        block = properties["PublicAccessBlockConfiguration"]
        for key in [each for each in _BLOCKS if isinstance(block, dict) and block.get(each, "false") == "false"]:
            yield Door(name, f"PublicAccessBlockConfiguration.{key}", f"{key} is off")
    for cidr, ports in _rules(resource):
        yield Door(name, "CidrIp", f"{cidr} may connect to {ports}")
    if resource.type in ("AWS::EC2::EIP", "AWS::EC2::EIPAssociation"):
        for key in [each for each in ("InstanceId", "NetworkInterfaceId") if each in properties]:
            yield Door(name, key, f"{shown(properties[key])} gets a public address")
    yield from _open_policies(resource)


def _open_method(resource: Resource, resources: dict[str, Resource]) -> Iterator[Door]:
    properties = resource.properties
    method = str(properties.get("HttpMethod") or properties.get("RouteKey"))
    open_to_all = properties.get("AuthorizationType", "NONE") == "NONE" and properties.get("ApiKeyRequired") != "true"
    if not open_to_all or method.startswith("OPTIONS"):  # a browser asks OPTIONS without credentials
        return
    api = properties.get("RestApiId") or properties.get("ApiId")
    owner = resources.get(api["Ref"]) if isinstance(api, dict) and isinstance(api.get("Ref"), str) else None
    if owner and (_is_private(owner) or _has_narrow_policy(owner)):
        return
    yield Door(resource.logical_id, "AuthorizationType", f"anybody may call {method}: no authorization and no API key")


def _is_private(api: Resource) -> bool:
    types = values_at(api.properties, ["EndpointConfiguration", "Types"])
    return types == [["PRIVATE"]] or types == ["PRIVATE"]


def _has_narrow_policy(api: Resource) -> bool:
    return "Policy" in api.properties and not any(_is_public(each) for each in grants_of(api.properties["Policy"]))


def _open_policies(resource: Resource) -> Iterator[Door]:
    if resource.type == "AWS::EC2::VPCEndpoint":  # its policy narrows what goes through it, and lets nobody in
        return
    permission = permission_document(resource)
    for path, document in [("Principal", permission)] if permission else documents(resource.properties):
        actions = sorted({each.action for each in grants_of(document) if _is_public(each)})
        for action in actions:
            yield Door(resource.logical_id, path, f"the policy allows {action} to everybody")


def _is_public(grant: Any) -> bool:
    if grant.principal != "*" and not grant.principal.startswith("not "):
        return False
    return not any(
        key in _NARROWING and "Not" not in operator and operator != "Null" and not _is_everywhere(values)
        for operator, key, values in grant.conditions
    )


def _is_everywhere(values: tuple[str, ...]) -> bool:
    return any(each == "*" or _is_whole_internet(each) for each in values)


def _is_whole_internet(text: str) -> bool:
    try:
        return ipaddress.ip_network(text, strict=False).prefixlen <= 1
    except ValueError:
        return False


def _rules(resource: Resource) -> Iterator[tuple[str, str]]:
    """The whole internet's address range and the ports which security groups let it reach."""
    if resource.type == "AWS::EC2::SecurityGroup":
        rules = as_list(resource.properties.get("SecurityGroupIngress", []))
    elif resource.type == "AWS::EC2::SecurityGroupIngress":
        rules = [resource.properties]
    else:
        return
    for rule in [each for each in rules if isinstance(each, dict)]:
        for key in ("CidrIp", "CidrIpv6"):
            cidr = rule.get(key)
            if isinstance(cidr, str) and _is_whole_internet(cidr):
                yield cidr, _ports(rule)


def _ports(rule: dict[str, Any]) -> str:
    first, last = shown(rule.get("FromPort", "any")), shown(rule.get("ToPort", "any"))
    protocol = shown(rule.get("IpProtocol", "-1"))
    if protocol == "-1":
        return "every port"
    return f"{protocol} port {first}" if first == last else f"{protocol} ports {first} to {last}"


def _loosened(before: Resource, after: Resource) -> Iterator[Door]:
    """Doors that only the step from one to the other opens."""
    if before.type == "AWS::ApiGateway::RestApi" and _is_private(before) and not _is_private(after):
        yield Door(after.logical_id, "EndpointConfiguration.Types", "a private API gets an address on the internet")
    key = "PublicAccessBlockConfiguration"
    if before.type == "AWS::S3::Bucket" and before.properties.get(key) and key not in after.properties:
        yield Door(after.logical_id, key, "the bucket's public access block is removed")


def values_at(value: Any, path: list[str]) -> list[Any]:
    """Every value at a path, in which `*` stands for the items of a list."""
    if not path:
        return [value]
    if isinstance(value, list) and path[0] == "*":
        return [found for each in value for found in values_at(each, path[1:])]
    return values_at(value[path[0]], path[1:]) if isinstance(value, dict) and path[0] in value else []
