"""Creates a stack as CloudFormation does: each resource starts as soon as its dependencies are done.

MiniStack creates one resource after the other. On AWS a rollback can meet resources that are still being created, such
as an endpoint in status Creating, which SageMaker refuses to delete.
"""

import asyncio
import copy
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

from local_cloud.emulator.core import ministack

_engine = ministack.internals("ministack.services.cloudformation.engine", "_extract_deps")
_package = ministack.internals("ministack.services.cloudformation", "_exports", "_stacks")
_stacks = ministack.internals(
    "ministack.services.cloudformation.stacks",
    "_NO_VALUE",
    "_add_event",
    "_deploy_stack_async",
    "_evaluate_conditions",
    "_fail_property_validation",
    "_failed_operation",
    "_provision_keeping_seed",
    "_resolve_dynamic_references",
    "_resolve_refs",
    "_resolve_stack_outputs",
    "_roll_back_operation",
    "_runs_on_worker_thread",
    "_topological_sort",
    "_with_stack_tags",
    "now_iso",
)
_callers = [
    ministack.internals(f"ministack.services.cloudformation.{name}", "_deploy_stack_async")
    for name in ("handlers", "changesets")
]
_deploy_one_by_one = _stacks._deploy_stack_async

_WAIT_CONDITION = "AWS::CloudFormation::WaitCondition"
Stabilize = Callable[[str], None]
# By resource type: a function that waits until a new resource is usable, and raises if it never will be.
_stabilizers: dict[str, Stabilize] = {}
stabilizes_later: ContextVar[bool] = ContextVar("stabilizes_later", default=False)


def stabilize_with(resource_type: str, stabilize: Stabilize) -> None:
    """Let stacks wait for resources of a type; while stabilizes_later is set, their creation itself does not wait."""
    _stabilizers[resource_type] = stabilize


class _CreationFailedError(Exception):
    """A resource could not be created, or its creation was cancelled."""


class _Creation:
    """The creation of one stack; `created` holds the existing resources in the order of their creation."""

    def __init__(self, name: str, stack_id: str, template: dict[str, Any], parameters: dict[str, Any]) -> None:
        self.name, self.id, self.template, self.parameters = name, stack_id, template, parameters
        self.stack = _package._stacks[name]
        self.stack.update(_template=template, _resolved_params=parameters)
        self.conditions = _stacks._evaluate_conditions(template, parameters)
        self.resources: dict[str, Any] = self.stack.setdefault("_resources", {})
        self.created: list[str] = []
        self.failed: list[str] = []
        self._has_failed = asyncio.Event()

    async def run(self, ordered: list[str]) -> None:
        """Create the resources; `ordered` lists each one after its dependencies."""
        definitions = self.template["Resources"]
        tasks: dict[str, asyncio.Task[None]] = {}
        for logical_id in ordered:
            needed = [tasks[other] for other in _engine._extract_deps(definitions[logical_id], set(tasks))]
            tasks[logical_id] = asyncio.create_task(self._create_after(needed, logical_id, definitions[logical_id]))
        await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def _create_after(self, needed: list[asyncio.Task[None]], logical_id: str, definition: Any) -> None:
        await asyncio.gather(*needed)
        if self.failed or not self.is_wanted:
            raise _CreationFailedError
        await asyncio.sleep(0)  # resources that are ready together all start before the first result is known
        try:
            await self._create(logical_id, definition)
        except Exception as error:
            self._report(logical_id, "CREATE_FAILED", str(error))
            self.failed.append(logical_id)
            self._has_failed.set()
            raise _CreationFailedError from error

    async def _create(self, logical_id: str, definition: dict[str, Any]) -> None:
        kind = definition["Type"]
        properties, dynamic = self._resolve(definition.get("Properties", {}))
        self._report(logical_id, "CREATE_IN_PROGRESS")
        tags = self.stack.get("Tags") or []
        tagged = _stacks._with_stack_tags(kind, properties, tags, self.name, self.id, logical_id)
        provision = (_stacks._provision_keeping_seed, kind, logical_id, tagged, self.name)
        if _stacks._runs_on_worker_thread(kind):
            making = ministack.off_loop(*provision)
            if kind == _WAIT_CONDITION:
                making = self._unless_another_fails(making)
            (physical_id, attributes), seed = await making
        else:
            (physical_id, attributes), seed = provision[0](*provision[1:])
        self.resources[logical_id] = {
            "PhysicalResourceId": physical_id,
            "ResourceType": kind,
            "ResourceStatus": "CREATE_IN_PROGRESS",
            "LogicalResourceId": logical_id,
            "Properties": properties,
            "Attributes": attributes,
            "Timestamp": _stacks.now_iso(),
            **({"_dynamic": dynamic} if dynamic else {}),
            **({"_name_seed": seed} if seed else {}),
        }
        self.created.append(logical_id)
        if kind in _stabilizers:
            self._report(logical_id, "CREATE_IN_PROGRESS", "Resource creation Initiated")
            await self._unless_another_fails(ministack.off_loop(_stabilizers[kind], physical_id))
        self._report(logical_id, "CREATE_COMPLETE")

    def _resolve(self, properties: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        mappings = self.template.get("Mappings", {})
        known = (self.resources, self.parameters, self.conditions, mappings, self.name, self.id)
        found = _stacks._resolve_refs(copy.deepcopy(properties), *known)
        given = {name: value for name, value in found.items() if value is not _stacks._NO_VALUE}
        resolved: tuple[dict[str, Any], dict[str, Any]] = _stacks._resolve_dynamic_references(given)
        return resolved

    async def _unless_another_fails(self, making: Coroutine[Any, Any, Any]) -> Any:
        made = asyncio.ensure_future(making)
        failed = asyncio.ensure_future(self._has_failed.wait())
        await asyncio.wait({made, failed}, return_when=asyncio.FIRST_COMPLETED)
        failed.cancel()
        if not made.done():
            made.add_done_callback(lambda late: late.exception())  # no one waits for the task any more
            raise _CreationFailedError("Resource creation cancelled")
        return made.result()

    @property
    def is_wanted(self) -> bool:
        """False once the stack is being deleted, which writes its own events."""
        return bool(self.stack["StackStatus"] == "CREATE_IN_PROGRESS")

    def _report(self, logical_id: str, status: str, reason: str = "") -> None:
        if not self.is_wanted:
            return
        known = self.resources.get(logical_id, {})
        known.update({"ResourceStatus": status} if known else {})
        kind, physical_id = self.template["Resources"][logical_id]["Type"], known.get("PhysicalResourceId", "")
        _stacks._add_event(self.id, self.name, logical_id, kind, status, reason, physical_id)

    def is_refused(self, ordered: list[str], disable_rollback: bool) -> bool:
        """Refuse wrong values before anything is created; returns whether that has ended the stack."""
        return not self.stack.get("_disable_validation") and bool(
            _stacks._fail_property_validation(
                self.stack,
                self.id,
                self.name,
                self.template["Resources"],
                ordered,
                self.parameters,
                self.conditions,
                self.template.get("Mappings", {}),
                disable_rollback,
            )
        )

    def reason_of_failure(self) -> str:
        return f"The following resource(s) failed to create: [{', '.join(self.failed)}]. " if self.failed else ""

    def publish_outputs(self) -> str:
        """Set the stack's outputs and exports; returns why an output has no value, "" if all have one."""
        try:
            outputs, exports = _stacks._resolve_stack_outputs(
                self.template.get("Outputs", {}),
                self.conditions,
                self.resources,
                self.parameters,
                self.template.get("Mappings", {}),
                self.name,
                self.id,
            )
        except ValueError as error:
            return str(error)
        self.stack["Outputs"] = outputs
        _package._exports.update(exports)
        return ""

    async def roll_back(self, reason: str, disable_rollback: bool, retain_except_on_create: bool) -> None:
        operation = _stacks._failed_operation(
            is_update=False,
            previous_stack=None,
            created=self.created,
            failed_update=None,
            failed_logical_id=next(iter(self.failed), ""),
            replaced_ids=[],
            cancelled=False,
            template=self.template,
            param_values=self.parameters,
            retain_except_on_create=retain_except_on_create,
            stack_tags=self.stack.get("Tags"),
            previous_tags=[],
        )
        if disable_rollback:
            self.stack["_failed_operation"] = operation
            self.end("CREATE_FAILED", reason)
            return
        made = dict(self.resources)
        await _stacks._roll_back_operation(self.name, self.id, self.stack, operation, reason)
        for logical_id in self.stack.get("_rollback_failed", {}):
            # MiniStack forgets the resource; deleting the stack would leave it behind.
            self.resources[logical_id] = made[logical_id] | {"ResourceStatus": "DELETE_FAILED"}

    def end(self, status: str, reason: str = "") -> None:
        self.stack["StackStatus"], self.stack["StackStatusReason"] = status, reason
        _stacks._add_event(self.id, self.name, self.name, "AWS::CloudFormation::Stack", status, reason, self.id)


async def _deploy(*args: Any, **named: Any) -> None:
    """Replaces MiniStack's function for creations; updates, imports and circular templates still use the original."""
    if named.get("is_update") or named.get("imports"):
        await _deploy_one_by_one(*args, **named)
        return
    name, stack_id, template, parameters, disable_rollback = args[:5]
    creation = _Creation(name, stack_id, template, parameters)
    try:
        ordered = _stacks._topological_sort(template["Resources"], creation.conditions)
    except ValueError:
        await _deploy_one_by_one(*args, **named)
        return
    if creation.is_refused(ordered, disable_rollback):
        return
    stabilizes_later.set(True)
    await creation.run(ordered)
    if not creation.is_wanted:
        return
    if reason := creation.reason_of_failure() or creation.publish_outputs():
        await creation.roll_back(reason, disable_rollback, named.get("retain_except_on_create", False))
    else:
        creation.end("CREATE_COMPLETE")


def install() -> None:
    for module in (_stacks, *_callers):
        module._deploy_stack_async = _deploy
