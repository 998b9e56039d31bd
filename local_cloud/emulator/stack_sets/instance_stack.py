"""The stack of one target: creates, updates and deletes it in its account and region, and says why that failed."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.stack_sets.operation import Target

_handlers = ministack.internals(
    "ministack.services.cloudformation.handlers",
    "_create_stack",
    "_delete_stack",
    "_resolve_template",
    "_update_stack",
)
_package = ministack.internals("ministack.services.cloudformation", "_stack_events", "_stacks")

_BODY = "_BodyOfStackSet"
_UNCHANGED = "No updates are to be performed"
_FAILED_CREATIONS = ("ROLLBACK_COMPLETE", "CREATE_FAILED", "ROLLBACK_FAILED", "DELETE_FAILED")
_GOOD = ("CREATE_COMPLETE", "UPDATE_COMPLETE")


async def apply(target: Target, name: str, request: dict[str, Any], body: str) -> tuple[str, str]:
    """Create or update the stack; replace one whose creation failed.

    request: the parameters of CreateStack. Returns the stack's id, and the reason of a failure, otherwise "".
    """
    stack = _find(target, name)
    if stack and stack["StackStatus"] in _FAILED_CREATIONS:
        if reason := await delete(target, name):
            return stack["StackId"], reason
        stack = None
    operation = _handlers._update_stack if stack else _handlers._create_stack
    refusal = await _finish(target, operation, request | {"StackName": [name], _BODY: [body]})
    made = _find(target, name)
    stack_id = str(made["StackId"]) if made else ""
    if _UNCHANGED in refusal:
        return stack_id, ""
    if refusal or (made and made["StackStatus"] in _GOOD):
        return stack_id, refusal
    return stack_id, _failures(target, stack_id) or f"Stack {stack_id} is in {made and made['StackStatus']} state."


async def delete(target: Target, name: str) -> str:
    """Delete the stack, if it exists; returns the reason of a failure, otherwise ""."""
    stack = _find(target, name)
    if stack is None:
        return ""
    if refusal := await _finish(target, _handlers._delete_stack, {"StackName": [name]}):
        return refusal
    return "" if _find(target, name) is None else _failures(target, stack["StackId"]) or "The stack was not deleted."


async def _finish(target: Target, operation: Callable[[Any], Any], request: dict[str, Any]) -> str:
    """Run an operation on a stack to its end; returns CloudFormation's refusal, otherwise ""."""
    others = asyncio.all_tasks()
    with ministack.scope(*target):
        status, _, content = operation(request)
    # The new tasks are the operation's own: nothing else has run since, as the handler does not await.
    if started := asyncio.all_tasks() - others:
        await asyncio.wait(started)
    if status == 200:
        return ""
    found = re.search(r"<Message>(.*?)</Message>", content.decode(), re.DOTALL)
    return found[1] if found else content.decode()


def _find(target: Target, name: str) -> dict[str, Any] | None:
    with ministack.scope(*target):
        stack: dict[str, Any] | None = _package._stacks.get(name)
    return stack if stack and stack["StackStatus"] != "DELETE_COMPLETE" else None


def _failures(target: Target, stack_id: str) -> str:
    """The reason of the first failure since the last operation began."""
    with ministack.scope(*target):
        events = list(_package._stack_events.get(stack_id) or [])
    begun = [
        number
        for number, event in enumerate(events)
        if event["PhysicalResourceId"] == stack_id
        and event["ResourceStatus"] in ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS")
    ]
    for event in events[begun[-1] if begun else 0 :]:
        if event["ResourceStatus"].endswith("FAILED"):
            return (
                f"ResourceLogicalId:{event['LogicalResourceId']}, ResourceType:{event['ResourceType']}, "
                f"ResourceStatusReason:{event.get('ResourceStatusReason', '')}."
            )
    return ""


def _use_body_of_stack_set() -> None:
    """Take a stack set's template from a member of its own: it may exceed the limit of a TemplateBody."""
    resolve = _handlers._resolve_template

    def resolve_template(parameters: dict[str, Any]) -> Any:
        return (parameters[_BODY][0], None) if _BODY in parameters else resolve(parameters)

    _handlers._resolve_template = resolve_template


def install() -> None:
    _use_body_of_stack_set()
