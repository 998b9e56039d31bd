"""Properties with a value that opens the resource to the public."""

from collections.abc import Iterator

from slipway.changes.template.resources import Resource, values_at
from slipway.changes.template.values import as_list, shown

# (type, path, the values that are public, the sentence)
_SETTINGS = [
    ("AWS::S3::Bucket", "AccessControl", ("PublicRead", "PublicReadWrite", "AuthenticatedRead"), "the ACL is public"),
    ("AWS::EC2::Subnet", "MapPublicIpOnLaunch", ("true",), "what starts in the subnet gets a public address"),
    ("AWS::EC2::Instance", "NetworkInterfaces.*.AssociatePublicIpAddress", ("true",), "it gets a public address"),
    (
        "AWS::EC2::LaunchTemplate",
        "LaunchTemplateData.NetworkInterfaces.*.AssociatePublicIpAddress",
        ("true",),
        "its instances get a public address",
    ),
]


def public_settings(resource: Resource) -> Iterator[tuple[str, str]]:
    """Each property that is public, or may be, with a sentence."""
    for kind, path, public, sentence in _SETTINGS:
        if kind == resource.type:
            found = values_at(resource.properties, path.split("."))
            if {shown(each) for value in found for each in as_list(value)} & set(public):
                yield path, sentence
