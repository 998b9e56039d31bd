"""The registry of the image in `serving.image_uri`: its account is a parameter, region and domain are the stack's."""

import re
from collections.abc import Iterator

from ..editing.places import Template, with_text
from .parameter import Parameter

_URI = re.compile(
    r"(?P<account>[^.]+)\.dkr\.ecr\.(?P<region>[a-z0-9-]+|\$\{AWS::Region\})\.[^/]+/[^:@]+(?P<tag>:[^@]+)?"
)
_OF_STACK = "${AWS::AccountId}"


def in_region_of_stack(template: Template, image: str) -> None:
    """Replace region and domain of the URI by the stack's: SageMaker pulls images from its own region only."""
    if own := _URI.match(image):
        account = {"Ref": "AWS::AccountId" if own["account"] == _OF_STACK else "ImageAccount"}
        region, domain = {"Ref": "AWS::Region"}, {"Ref": "AWS::URLSuffix"}
        host, arn = f"{image.partition('/')[0]}/", f":ecr:{own['region']}:{own['account']}:"
        resources = with_text(template["Resources"], host, account, ".dkr.ecr.", region, ".", domain, "/")
        template["Resources"] = with_text(resources, arn, ":ecr:", region, ":", account, ":")


def parameters(image: str) -> Iterator[Parameter]:
    """Return no parameters for an image of AWS, or for one in the registry of the stack's account."""
    own = _URI.match(image)
    if own and own["account"] != _OF_STACK:
        yield Parameter(
            "ImageAccount",
            "String",
            "Account whose registry holds the image in the region of the stack, and lets the targets pull it.",
            own=own["account"],
            pattern="^[0-9]{12}$",
        )


def tag_of(image: str) -> str:
    """Return the image's tag; empty for an image with a digest, or without both."""
    own = _URI.match(image)
    return (own["tag"] or "")[1:] if own else image.rpartition(":")[2]
