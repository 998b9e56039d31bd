"""Properties that open a resource to the public by their value."""

from collections.abc import Iterator

from slipway.changes.policies import as_list, shown
from slipway.changes.resources import Resource, values_at

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
    ("AWS::AppSync::GraphQLApi", "AuthenticationType", ("API_KEY",), "whoever has a key may call it"),
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


def public_settings(resource: Resource) -> Iterator[tuple[str, str]]:
    """The property and a sentence of each that is public, or may be."""
    for kind, path, public, sentence in _SETTINGS:
        if kind == resource.type:
            found = values_at(resource.properties, path.split("."))
            values = [shown(each) for value in found for each in as_list(value)] or [""]
            if set(values) & set(public):
                yield path, sentence
