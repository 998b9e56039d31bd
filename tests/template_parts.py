"""Parts of a template by their type, which is given without `AWS::`."""

from typing import Any

Template = dict[str, Any]


def resources(template: Template, kind: str) -> list[dict[str, Any]]:
    """Every resource of a type."""
    return [each for each in template["Resources"].values() if each["Type"] == f"AWS::{kind}"]


def all_of(template: Template, kind: str) -> list[dict[str, Any]]:
    """The properties of every resource of a type."""
    return [each["Properties"] for each in resources(template, kind)]


def only(template: Template, kind: str) -> dict[str, Any]:
    """The one resource of a type."""
    (resource,) = resources(template, kind)
    return resource


def properties(template: Template, kind: str) -> dict[str, Any]:
    """The properties of the one resource of a type."""
    (found,) = all_of(template, kind)
    return found


def variant(template: Template) -> dict[str, Any]:
    """The production variant of the endpoint."""
    found: dict[str, Any]
    (found,) = properties(template, "SageMaker::EndpointConfig")["ProductionVariants"]
    return found


def policies(template: Template, prefix: str) -> list[dict[str, Any]]:
    """Documents of the policies whose logical ids begin so: `Api` for the functions, `Endpoint` for the model."""
    return [
        resource["Properties"]["PolicyDocument"]
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] == "AWS::IAM::Policy" and logical_id.startswith(prefix)
    ]
