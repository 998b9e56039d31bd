"""A stack set: its settings, its instances and its operations."""

import asyncio
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.stack_sets import instance_stack, roles
from local_cloud.emulator.stack_sets.operation import Operation, Result, Target
from local_cloud.emulator.stack_sets.refusal import StackSetsError

# Stack sets by name, in the account and region that own them.
stack_sets: Any = ministack.scoped_store()


@dataclass
class StackInstance:
    """A stack instance, with or without a stack; `status` is CURRENT, OUTDATED or INOPERABLE."""

    unit: str
    overrides: dict[str, str]
    stack_name: str
    stack_id: str = ""
    status: str = "OUTDATED"
    detailed_status: str = "PENDING"
    reason: str = ""
    operation_id: str = ""


@dataclass(eq=False)
class StackSet:
    """A stack set with the properties of its resource type; the management account owns a service-managed set."""

    name: str
    account: str
    region: str
    properties: dict[str, Any]
    body: str
    id: str = ""
    instances: dict[Target, StackInstance] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.id = self.id or f"{self.name}:{uuid.uuid4()}"

    @property
    def arn(self) -> str:
        return f"arn:aws:cloudformation:{self.region}:{self.account}:stackset/{self.id}"

    @property
    def is_service_managed(self) -> bool:
        return bool(self.properties["PermissionModel"] == "SERVICE_MANAGED")

    @property
    def management(self) -> str | None:
        return self.account if self.is_service_managed else None

    @property
    def is_automatic(self) -> bool:
        return _is_true((self.properties.get("AutoDeployment") or {}).get("Enabled"))

    @property
    def retains_on_removal(self) -> bool:
        return _is_true((self.properties.get("AutoDeployment") or {}).get("RetainStacksOnAccountRemoval"))

    @property
    def queues(self) -> bool:
        return _is_true((self.properties.get("ManagedExecution") or {}).get("Active"))

    @property
    def parameters(self) -> dict[str, str]:
        return parameters_of(self.properties.get("Parameters"))

    def add(self, targets: dict[Target, str], overrides: dict[str, str]) -> None:
        for target, unit in targets.items():
            made = StackInstance(unit, overrides, f"StackSet-{self.name}-{uuid.uuid4()}")
            known = self.instances.setdefault(target, made)
            known.unit, known.overrides = unit, overrides

    async def run(self, operation: Operation, *, queues: bool = False) -> None:
        """Create, update or delete the stacks of the operation's targets, after earlier operations.

        queues: wait for earlier operations even without managed execution. Raises StackSetsError.
        """
        if self._turn.locked() and not (queues or self.queues):
            message = f"Another Operation on StackSet {self.arn} is in progress"
            raise StackSetsError("OperationInProgressException", message)
        self.operations.append(operation)
        async with self._turn:
            for target in operation.targets:
                instance = self.instances[target]
                instance.operation_id, instance.status, instance.detailed_status = operation.id, "OUTDATED", "PENDING"
            act = self._delete if operation.action == "DELETE" else self._apply
            await operation.run(lambda target: act(target, operation))
            for target, result in operation.results.items():
                self._settle(target, operation, result)

    async def _apply(self, target: Target, operation: Operation) -> str:
        instance = self.instances[target]
        instance.detailed_status = "RUNNING"
        reason = self._missing_role(target)
        if not reason:
            instance.stack_id, reason = await instance_stack.apply(
                target, instance.stack_name, self._request(instance.overrides), self.body
            )
        self._settle(target, operation, Result("FAILED" if reason else "SUCCEEDED", reason))
        return reason

    async def _delete(self, target: Target, operation: Operation) -> str:
        instance = self.instances[target]
        instance.detailed_status = "RUNNING"
        reason = ""
        if instance.stack_id and not operation.retains:
            reason = self._missing_role(target) or await instance_stack.delete(target, instance.stack_name)
        self._settle(target, operation, Result("FAILED" if reason else "SUCCEEDED", reason))
        return reason

    def _settle(self, target: Target, operation: Operation, result: Result) -> None:
        if (instance := self.instances.get(target)) is None:
            return
        if operation.action == "DELETE" and result.status == "SUCCEEDED":
            del self.instances[target]
            return
        instance.detailed_status, instance.reason = result.status, result.reason
        instance.status = "CURRENT" if result.status == "SUCCEEDED" else "OUTDATED"
        if operation.action == "DELETE" and result.status == "FAILED":
            instance.status = instance.detailed_status = "INOPERABLE"

    def _missing_role(self, target: Target) -> str:
        if self.is_service_managed:
            return ""
        name = self.properties.get("ExecutionRoleName") or roles.EXECUTION
        administration = self.properties.get("AdministrationRoleARN") or ""
        return roles.missing_execution_role(target[0], name, roles.administration_role(self.account, administration))

    def _request(self, overrides: dict[str, str]) -> dict[str, Any]:
        """The parameters for CreateStack and UpdateStack."""
        request: dict[str, Any] = {"Tags": [""]}
        for number, (name, value) in enumerate((self.parameters | overrides).items(), 1):
            request[f"Parameters.member.{number}.ParameterKey"] = [name]
            request[f"Parameters.member.{number}.ParameterValue"] = [value]
        for number, capability in enumerate(self.properties.get("Capabilities") or [], 1):
            request[f"Capabilities.member.{number}"] = [capability]
        for number, tag in enumerate(self.properties.get("Tags") or [], 1):
            request[f"Tags.member.{number}.Key"] = [tag["Key"]]
            request[f"Tags.member.{number}.Value"] = [tag["Value"]]
        return request


def parameters_of(given: Iterable[dict[str, Any]] | None) -> dict[str, str]:
    """Convert a list of ParameterKey and ParameterValue to a dict."""
    return {each["ParameterKey"]: str(each["ParameterValue"]) for each in given or []}


def _is_true(value: Any) -> bool:
    return str(value).lower() == "true"
