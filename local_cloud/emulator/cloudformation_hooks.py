"""The hooks into the emulator's CloudFormation: resource types that it lacks, and more in those that it has."""

from collections.abc import Callable
from typing import Any

from local_cloud.emulator import hooks

_provisioners = hooks.internals(
    "ministack.services.cloudformation.provisioners", "_REPLACING_PROPERTIES", "_RESOURCE_HANDLERS"
)
_stacks = hooks.internals("ministack.services.cloudformation.stacks", "_runs_on_worker_thread")

Properties = dict[str, Any]
Provisioned = tuple[str, dict[str, Any]]
_own_types: set[str] = set()


def register_resource_type(
    name: str,
    *,
    create: Callable[[str, Properties, str], Provisioned],
    update: Callable[[str, Properties, Properties, str], Provisioned],
    delete: Callable[[str, Properties], None],
    replaced_by: tuple[str, ...],
) -> None:
    """Provision a type that the emulator lacks.

    create(logical id, properties, stack name) and update(physical id, old properties, new ones, stack name) return
    the physical id and the attributes; delete takes the physical id and the properties. replaced_by names the
    properties whose change makes a new resource. The handlers run on a thread of their own.
    """
    _provisioners._RESOURCE_HANDLERS[name] = {"create": create, "update": update, "delete": delete}
    _provisioners._REPLACING_PROPERTIES[name] = replaced_by
    _own_types.add(name)


def _run_own_types_on_threads() -> None:
    runs_on_thread = _stacks._runs_on_worker_thread
    _stacks._runs_on_worker_thread = lambda name: name in _own_types or runs_on_thread(name)


_run_own_types_on_threads()


def extend_resource_type(
    name: str,
    *,
    check_new: Callable[[Properties], None] | None = None,
    check: Callable[[Properties], None] | None = None,
    complete: Callable[[str, Properties], None] | None = None,
) -> None:
    """Add to a type of the emulator.

    check_new(properties) may refuse a creation, check(properties) an update too; complete(physical id, properties)
    sets what the emulator leaves out.
    """
    handlers = dict(_provisioners._RESOURCE_HANDLERS[name])

    def provision(properties: Properties, original: Callable[[], Any]) -> Any:
        if check:
            check(properties)
        result = original()
        if complete:
            complete(result[0], properties)
        return result

    def create(logical_id: str, properties: Properties, stack: str) -> Any:
        if check_new:
            check_new(properties)
        return provision(properties, lambda: handlers["create"](logical_id, properties, stack))

    def update(physical_id: str, old: Properties, new: Properties, *rest: Any) -> Any:
        return provision(new, lambda: handlers["update"](physical_id, old, new, *rest))

    _provisioners._RESOURCE_HANDLERS[name] = handlers | {"create": create}
    if "update" in handlers:
        _provisioners._RESOURCE_HANDLERS[name]["update"] = update
