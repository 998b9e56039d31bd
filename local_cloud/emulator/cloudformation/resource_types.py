"""Registers resource types that MiniStack lacks, and adds checks and settings to those that it has."""

import functools
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from local_cloud.emulator.cloudformation import stack_creation
from local_cloud.emulator.core import ministack

_provisioners = ministack.internals(
    "ministack.services.cloudformation.provisioners",
    "_NAME_SEED",
    "_REPLACING_PROPERTIES",
    "_RESOURCE_HANDLERS",
    "_STACK_TAG_PROPERTY",
)
_package = ministack.internals("ministack.services.cloudformation", "_stacks")
_stacks = ministack.internals(
    "ministack.services.cloudformation.stacks", "_add_event", "_runs_on_worker_thread", "now_iso"
)

_changesets = ministack.internals("ministack.services.cloudformation.changesets", "now_iso")
_handlers = ministack.internals("ministack.services.cloudformation.handlers", "now_iso")

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
    stabilize: Callable[[str], None] | None = None,
) -> None:
    """Provision a type that MiniStack lacks.

    create(logical id, properties, stack name) and update(physical id, old properties, new properties, stack name)
    return the physical id and the attributes. delete takes the physical id and the properties. A change of a property
    in replaced_by makes a new resource. stabilize(physical id) waits until a new resource is usable, and raises if it
    never will be. The handlers run on their own thread.
    """

    def create_stably(logical_id: str, properties: Properties, stack: str) -> Provisioned:
        physical_id, attributes = create(logical_id, properties, stack)
        if stabilize and not stack_creation.stabilizes_later.get():
            try:
                stabilize(physical_id)
            except Exception:
                # MiniStack's update engine forgets a resource whose creation failed, which would leave it behind.
                delete(physical_id, properties)
                raise
        return physical_id, attributes

    if stabilize:
        stack_creation.stabilize_with(name, stabilize)
    _provisioners._RESOURCE_HANDLERS[name] = {"create": create_stably, "update": update, "delete": delete}
    _provisioners._REPLACING_PROPERTIES[name] = replaced_by
    _own_types.add(name)


def _now() -> str:
    return datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# Events and stacks are as old as their log lines and metrics, which follow the cloud's clock.
_stacks.now_iso = _now
_changesets.now_iso = _now
_handlers.now_iso = _now


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
    check_update: Callable[[str], None] | None = None,
    check_delete: Callable[[str], None] | None = None,
    forget: Callable[[str, Properties], None] | None = None,
    generated_name: tuple[str, str] | None = None,
) -> None:
    """Add checks and settings to a type of MiniStack.

    check_new(properties) may refuse a creation, check(properties) a creation or an update, check_update(physical id)
    an update, and check_delete(physical id) a deletion. complete(physical id, properties) sets what MiniStack leaves
    out; forget(physical id, properties) cleans up after a deletion. generated_name holds the property that names the
    resource, and the form of a generated value with {stack}, {logical_id} and {unique}.
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
        if generated_name and not properties.get(generated_name[0]):
            member, form = generated_name
            unique = secrets.token_hex(6).upper()
            properties = properties | {member: form.format(stack=stack, logical_id=logical_id, unique=unique)}
        return provision(properties, lambda: handlers["create"](logical_id, properties, stack))

    def update(physical_id: str, old: Properties, new: Properties, *rest: Any) -> Any:
        if check_update:
            check_update(physical_id)
        if generated_name and not (old.get(generated_name[0]) or new.get(generated_name[0])):
            old, new = old | {generated_name[0]: physical_id}, new | {generated_name[0]: physical_id}
        return provision(new, lambda: handlers["update"](physical_id, old, new, *rest))

    def delete(physical_id: str, properties: Properties, *rest: Any) -> None:
        if check_delete:
            check_delete(physical_id)
        handlers["delete"](physical_id, properties, *rest)
        if forget:
            forget(physical_id, properties)

    _provisioners._RESOURCE_HANDLERS[name] = handlers | {"create": create, "delete": delete}
    if "update" in handlers:
        _provisioners._RESOURCE_HANDLERS[name]["update"] = update


def demand_required_members() -> None:
    """Refuse resources of our own types that lack a required member, also in templates that `checks` has not seen."""
    for name in _own_types:
        extend_resource_type(name, check=functools.partial(_refuse_incomplete, name))


def _refuse_incomplete(name: str, properties: Properties) -> None:
    # Imported late: loading botocore would delay the start of the cloud.
    from local_cloud.template_checks import api_requests

    missing = [each for each in api_requests.problems(name, properties) if "Missing required parameter" in each]
    if missing:
        raise ValueError(f"{'; '.join(missing)}.")


def add_update_event(stack_name: str, physical_id: str, text: str) -> None:
    """Add an event to a stack that says what the update of a resource waits for."""
    stack = _package._stacks[stack_name]
    for logical_id, each in stack["_resources"].items():
        if each.get("PhysicalResourceId") == physical_id:
            named = (stack["StackId"], stack_name, logical_id, each["ResourceType"])
            _stacks._add_event(*named, "UPDATE_IN_PROGRESS", text, physical_id)


def generate_unique_names(name: str) -> None:
    """Give each new resource of a type a unique generated name, so that a later stack adopts no retained one."""
    create = _provisioners._RESOURCE_HANDLERS[name]["create"]

    def create_seeded(*args: Any) -> Any:
        if not _provisioners._NAME_SEED.get():
            _provisioners._NAME_SEED.set(secrets.token_hex(4))  # kept by the engine for later updates
        return create(*args)

    _provisioners._RESOURCE_HANDLERS[name] = _provisioners._RESOURCE_HANDLERS[name] | {"create": create_seeded}


def replace_when_changed(name: str, *properties: str) -> None:
    """Replace a resource of the type when one of these properties changes."""
    _provisioners._REPLACING_PROPERTIES[name] = (*_provisioners._REPLACING_PROPERTIES[name], *properties)


def tag_with_stack(name: str) -> None:
    """Add the stack's tags to the `Tags` of a type."""
    _provisioners._STACK_TAG_PROPERTY[name] = ("Tags", "list")
