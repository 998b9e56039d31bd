"""The resource schemas of CloudFormation, as cfn-lint carries them: read when a type is first asked for."""

import contextlib
import functools
import importlib.resources
import json
from typing import Any

Path = tuple[str, ...]
_MOST_TYPES = "us-east-1"  # the region that has them all


class Schema:
    """What CloudFormation says about the properties of one resource type."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content
        self.create_only = self._paths("createOnlyProperties")
        self.conditionally_create_only = self._paths("conditionalCreateOnlyProperties")
        self.read_only = self._paths("readOnlyProperties")
        self.tags: Path = _path(content.get("tagging", {}).get("tagProperty", "/properties/Tags"))
        handlers = content.get("handlers")
        self.never_updates = bool(handlers and "update" not in handlers)

    def _paths(self, key: str) -> list[Path]:
        return [_path(each) for each in self.content.get(key, [])]

    def is_set(self, path: Path) -> bool:
        """A list whose order means nothing (`insertionOrder: false`)."""
        return self.at(path).get("insertionOrder") is False or (self.content.get("typeName"), path) in _SETS

    def knows(self, path: Path) -> bool:
        """Whether the type has such a property."""
        return path[0] in self.content.get("properties", {})

    def physical_names(self, resource_type: str) -> list[str]:
        """The properties that together name a resource of the type in its account; [] where AWS names it."""
        identity = [_path(each) for each in self.content.get("primaryIdentifier", [])]
        if identity and not any(each in self.read_only for each in identity):
            return [path[0] for path in identity]
        noun = resource_type.split("::")[-1]
        own = [path[0] for path in self.create_only if len(path) == 1 and _names(path[0], noun)]
        return sorted(own, key=len)[-1:]

    def at(self, path: Path) -> dict[str, Any]:
        """The schema of a property; {} where the type says nothing about it."""
        found = self.content
        for part in path:
            found = self._followed(found)
            step = found.get("items") if part == "*" else found.get("properties", {}).get(part)
            if not isinstance(step, dict):
                return {}
            found = step
        return self._followed(found)

    def _followed(self, schema: dict[str, Any]) -> dict[str, Any]:
        while isinstance(schema.get("$ref"), str):
            found: Any = self.content
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found.get(part, {}) if isinstance(found, dict) else {}
            schema = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
        return schema


@functools.cache
def schema_of(resource_type: str, region: str) -> Schema | None:
    """None for a type that no schema describes, for custom resources and for what a macro makes of SAM's types."""
    if (
        resource_type.startswith(("Custom::", "AWS::Serverless::"))
        or resource_type == "AWS::CloudFormation::CustomResource"
    ):
        return None
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # takes half a second, which other commands need not wait
    from cfnlint.schema._exceptions import ResourceNotFoundError

    for known in (region, _MOST_TYPES):  # a region that cfn-lint does not know, or not with the type
        with contextlib.suppress(ResourceNotFoundError, KeyError):
            return Schema(PROVIDER_SCHEMA_MANAGER.get_resource_schema(known, resource_type).schema)
    return None


@functools.cache
def stateful_types() -> frozenset[str]:
    """The types that hold data: cfn-lint's list, and those that it lacks."""
    text = importlib.resources.files("cfnlint.data.AdditionalSpecs").joinpath("StatefulResources.json").read_text()
    return frozenset(json.loads(text)["ResourceTypes"]) | STATEFUL_TOO


STATEFUL_TOO = frozenset(
    {
        "AWS::ACMPCA::CertificateAuthority",
        "AWS::APS::Workspace",
        "AWS::Cassandra::Table",
        "AWS::CloudTrail::EventDataStore",
        "AWS::CodeCommit::Repository",
        "AWS::Cognito::IdentityPool",
        "AWS::DocDBElastic::Cluster",
        "AWS::ECR::Repository",  # images
        "AWS::ElastiCache::ServerlessCache",
        "AWS::Kendra::Index",
        "AWS::KinesisFirehose::DeliveryStream",  # records on their way
        "AWS::Lightsail::Database",
        "AWS::MSK::Cluster",
        "AWS::MemoryDB::Cluster",
        "AWS::OpenSearchServerless::Collection",
        "AWS::RDS::GlobalCluster",
        "AWS::RedshiftServerless::Namespace",
        "AWS::Route53::HostedZone",
        "AWS::S3Express::DirectoryBucket",
        "AWS::S3Tables::Table",
        "AWS::S3Vectors::Index",
        "AWS::S3Vectors::VectorBucket",
        "AWS::SSM::Parameter",
        "AWS::SageMaker::Domain",
        "AWS::SageMaker::FeatureGroup",
        "AWS::SageMaker::NotebookInstance",  # the volume with the notebooks
        "AWS::Serverless::SimpleTable",
        "AWS::Timestream::Database",
        "AWS::Timestream::Table",
    }
)

BILLED_BY_THE_HOUR = frozenset(
    {
        "AWS::AmazonMQ::Broker",
        "AWS::AppRunner::Service",
        "AWS::AutoScaling::AutoScalingGroup",  # its instances
        "AWS::DAX::Cluster",
        "AWS::DMS::ReplicationInstance",
        "AWS::DirectoryService::MicrosoftAD",
        "AWS::EC2::CapacityReservation",  # billed used or not
        "AWS::EC2::ClientVpnEndpoint",
        "AWS::EC2::EC2Fleet",
        "AWS::EC2::EIP",
        "AWS::EC2::Host",
        "AWS::EC2::Instance",
        "AWS::EC2::NatGateway",
        "AWS::EC2::SpotFleet",
        "AWS::EC2::TransitGatewayAttachment",
        "AWS::EC2::TransitGatewayVpcAttachment",
        "AWS::EC2::VPCEndpoint",
        "AWS::EC2::VPNConnection",
        "AWS::ECS::Service",  # its tasks
        "AWS::EKS::Cluster",
        "AWS::EKS::Nodegroup",
        "AWS::ElasticLoadBalancing::LoadBalancer",
        "AWS::ElasticLoadBalancingV2::LoadBalancer",
        "AWS::GlobalAccelerator::Accelerator",
        "AWS::Lightsail::Instance",
        "AWS::MSK::ServerlessCluster",
        "AWS::MWAA::Environment",
        "AWS::NetworkFirewall::Firewall",
        "AWS::RDS::DBProxy",
        "AWS::Route53Resolver::ResolverEndpoint",
        "AWS::SageMaker::App",
        "AWS::SageMaker::Cluster",
        "AWS::SageMaker::Endpoint",  # the instances of its variants
        "AWS::SageMaker::InferenceComponent",  # a share of the endpoint's instances
        "AWS::SageMaker::NotebookInstance",
        "AWS::Transfer::Server",
    }
)


_SETS = {  # told apart by the name of each item: API reference of DynamoDB, CreateTable
    (table, (name,))
    for table in ("AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable")
    for name in ("AttributeDefinitions", "GlobalSecondaryIndexes", "LocalSecondaryIndexes")
}


def _names(name: str, noun: str) -> bool:
    """Such as GroupName of a SecurityGroup, or DBInstanceIdentifier of a DBInstance."""
    return name == f"{noun}Identifier" or (name.endswith("Name") and noun.endswith(name.removesuffix("Name")))


def _path(pointer: str) -> Path:
    return tuple(pointer.removeprefix("/properties/").replace("/items/", "/*/").split("/"))
