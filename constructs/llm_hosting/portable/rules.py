"""Rules of a portable template that belong to no parameter."""

from typing import Any

from .editing.places import Template


def region_rule(template: Template) -> dict[str, Any]:
    """Return a rule that refuses regions without AWS's images; empty if the template names none of these images."""
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
