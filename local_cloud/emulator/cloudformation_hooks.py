"""The hook in the types that the emulator's CloudFormation already has."""

import importlib
from collections.abc import Callable
from typing import Any

from local_cloud.emulator import hooks

hooks.check_emulator({"ministack.services.cloudformation.provisioners": ("_RESOURCE_HANDLERS",)})

_provisioners: Any = importlib.import_module("ministack.services.cloudformation.provisioners")


def extend_resource_type(
    name: str,
    *,
    check_new: Callable[[dict[str, Any]], None] | None = None,
    check: Callable[[dict[str, Any]], None] | None = None,
    complete: Callable[[str, dict[str, Any]], None] | None = None,
) -> None:
    """Add to a type of the emulator.

    check_new(properties) may refuse a creation, check(properties) an update too; complete(physical id, properties)
    sets what the emulator leaves out.
    """
    handlers = dict(_provisioners._RESOURCE_HANDLERS[name])

    def provision(properties: dict[str, Any], original: Callable[[], Any]) -> Any:
        if check:
            check(properties)
        result = original()
        if complete:
            complete(result[0], properties)
        return result

    def create(logical_id: str, properties: dict[str, Any], stack: str) -> Any:
        if check_new:
            check_new(properties)
        return provision(properties, lambda: handlers["create"](logical_id, properties, stack))

    def update(physical_id: str, old: dict[str, Any], new: dict[str, Any], *rest: Any) -> Any:
        return provision(new, lambda: handlers["update"](physical_id, old, new, *rest))

    _provisioners._RESOURCE_HANDLERS[name] = handlers | {"create": create}
    if "update" in handlers:
        _provisioners._RESOURCE_HANDLERS[name]["update"] = update
