"""Rules of a portable template that belong to no parameter: the regions in which it can be deployed."""

from typing import Any

from ..catalog.regions import regions_without_components
from .editing.places import Template, of_type


def region_rules(template: Template) -> dict[str, Any]:
    """Return rules that refuse regions without AWS's images or without inference components, if it needs them."""
    region, found = {"Ref": "AWS::Region"}, {}
    for mapping in template["Mappings"].values():
        if all("Account" in row for row in mapping.values()):
            has_images = {"Fn::Contains": [sorted(mapping), region]}
            described = "AWS publishes no deep learning containers in this region."
            found["RegionHasImages"] = _rule(has_images, described)
    if of_type(template, "AWS::SageMaker::InferenceComponent"):
        has_components = {"Fn::Not": [{"Fn::Contains": [list(regions_without_components()), region]}]}
        described = "CloudFormation makes no inference components in this region."
        found["RegionHasComponents"] = _rule(has_components, described)
    return found


def _rule(condition: dict[str, Any], description: str) -> dict[str, Any]:
    return {"Assertions": [{"Assert": condition, "AssertDescription": description}]}
