"""Rules of a portable template that no parameter brings with it."""

from typing import Any

from .editing.places import Template


def region_rule(template: Template) -> dict[str, Any]:
    """Refuse a region in which AWS publishes no images; empty where the template names no image of AWS's."""
    for mapping in template["Mappings"].values():
        if all("Account" in row for row in mapping.values()):
            return {
                "RegionHasImages": {
                    "Assertions": [
                        {
                            "Assert": {"Fn::Contains": [sorted(mapping), {"Ref": "AWS::Region"}]},
                            "AssertDescription": "AWS publishes no deep learning containers in this region.",
                        }
                    ]
                }
            }
    return {}
