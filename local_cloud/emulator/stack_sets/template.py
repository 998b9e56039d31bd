"""Reads and checks the template of a stack set, with the permissions of the administrator's account."""

from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.stack_sets.refusal import StackSetsError
from local_cloud.emulator.stack_sets.stack_set import parameters_of

_engine = ministack.internals("ministack.services.cloudformation.engine", "_parse_template", "_resolve_parameters")
_handlers = ministack.internals(
    "ministack.services.cloudformation.handlers", "_required_capabilities", "_resolve_template", "_uses_macro"
)


def read(properties: dict[str, Any]) -> str:
    """Read and check the body of the template. Raises StackSetsError.

    A TemplateBody has at most 51,200 bytes, the object of a TemplateURL at most 1 MB.
    """
    given = {name: [properties[name]] for name in ("TemplateBody", "TemplateURL") if properties.get(name)}
    if len(given) != 1:
        raise StackSetsError("ValidationError", "Either Template URL or Template Body must be specified.")
    body, refusal = _handlers._resolve_template(given)
    if refusal:
        raise StackSetsError("ValidationError", refusal[2].decode())
    _check(body, properties)
    return str(body)


def _check(body: str, properties: dict[str, Any]) -> None:
    try:
        template = _engine._parse_template(body)
    except Exception as error:
        raise StackSetsError("ValidationError", f"Template format error: {error}") from error
    kinds = {each.get("Type") for each in template["Resources"].values()}
    if properties["PermissionModel"] == "SERVICE_MANAGED":
        if _handlers._uses_macro(template):
            raise StackSetsError("ValidationError", "Service-managed stack sets do not support macros in templates.")
        if "AWS::CloudFormation::Stack" in kinds:
            raise StackSetsError("ValidationError", "Service-managed stack sets do not support nested stacks.")
    required, _ = _handlers._required_capabilities(template, strict=True)
    if missing := [each for each in required if not _acknowledged(each, properties.get("Capabilities") or [])]:
        raise StackSetsError("InsufficientCapabilitiesException", f"Requires capabilities : [{', '.join(missing)}]")
    _check_parameters(template, properties)


def _acknowledged(capability: str, given: list[str]) -> bool:
    return capability in given or (capability == "CAPABILITY_IAM" and "CAPABILITY_NAMED_IAM" in given)


def _check_parameters(template: dict[str, Any], properties: dict[str, Any]) -> None:
    """Check the set's parameters, and those of each group with its overrides: all must exist and have values."""
    own = parameters_of(properties.get("Parameters"))
    groups = properties.get("StackInstancesGroup") or []
    for values in [own, *(own | parameters_of(group.get("ParameterOverrides")) for group in groups)]:
        if unknown := sorted(set(values) - set(template.get("Parameters") or {})):
            raise StackSetsError("ValidationError", f"Parameters: [{', '.join(unknown)}] do not exist in the template")
        try:
            _engine._resolve_parameters(
                template, [{"Key": name, "Value": value, "UsePreviousValue": False} for name, value in values.items()]
            )
        except ValueError as error:
            raise StackSetsError("ValidationError", str(error)) from error
