"""Finds parts of a template; types are given without `AWS::`."""

from typing import Any

Template = dict[str, Any]


def resources(template: Template, kind: str) -> list[dict[str, Any]]:
    """Return every resource of a type."""
    return [each for each in template["Resources"].values() if each["Type"] == f"AWS::{kind}"]


def all_of(template: Template, kind: str) -> list[dict[str, Any]]:
    """Return the properties of every resource of a type."""
    return [each.get("Properties", {}) for each in resources(template, kind)]


def only(template: Template, kind: str) -> dict[str, Any]:
    """Return the only resource of a type."""
    (resource,) = resources(template, kind)
    return resource


def properties(template: Template, kind: str) -> dict[str, Any]:
    """Return the properties of the only resource of a type."""
    (found,) = all_of(template, kind)
    return found


def variant(template: Template) -> dict[str, Any]:
    """Return the production variant of the endpoint."""
    found: dict[str, Any]
    (found,) = properties(template, "SageMaker::EndpointConfig")["ProductionVariants"]
    return found


def functions(template: Template) -> dict[str, dict[str, Any]]:
    """Return the properties of each function by its handler's name, such as `submit_job`."""
    return {each["Handler"].split(".")[-2]: each for each in all_of(template, "Lambda::Function")}


def logical_id(reference: Any) -> str:
    """Return the logical id of the resource that a Ref or Fn::GetAtt names."""
    name: str = reference["Ref"] if "Ref" in reference else reference["Fn::GetAtt"][0]
    return name


def referred(template: Template, reference: Any) -> dict[str, Any]:
    """Return the properties of the resource that a Ref or Fn::GetAtt names."""
    found: dict[str, Any] = template["Resources"][logical_id(reference)]["Properties"]
    return found


def policies(template: Template, prefix: str) -> list[dict[str, Any]]:
    """Return the documents of policies whose ids begin so: `Api` for functions of routes, `Endpoint` for the model."""
    return [
        resource["Properties"]["PolicyDocument"]
        for name, resource in template["Resources"].items()
        if resource["Type"] == "AWS::IAM::Policy" and name.startswith(prefix)
    ]


def routes(template: Template) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the API's methods by verb and whole path, without the catch-all methods for unknown routes."""
    resources = template["Resources"]

    def path(reference: dict[str, Any]) -> str:
        if "Ref" not in reference:  # the API's root
            return ""
        own = resources[reference["Ref"]]["Properties"]
        return f"{path(own['ParentId'])}/{own['PathPart']}"

    return {
        (method["HttpMethod"], path(method["ResourceId"]) or "/"): method
        for method in all_of(template, "ApiGateway::Method")
        if method["Integration"]["Type"] != "MOCK"
    }
