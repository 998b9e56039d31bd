"""Records which statement of a role's policies allowed which action, and which actions were denied to a role.

A line of JSON for each, once, in a file of this emulator in the folder that the environment names. Statements are named
by the template of the role's stack, which is written beside them.
"""

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from local_cloud.emulator.core import ministack

SETTING = "SLIPWAY_LOCAL_PERMISSIONS"

_iam = ministack.internals("ministack.services.iam", "_roles.get_scoped")
_iam_evaluator = ministack.internals(
    "ministack.core.iam_evaluator", "_first_match", "evaluate", "evaluate_resource_policy", "parse_policy_document"
)
_package = ministack.internals("ministack.services.cloudformation", "_stacks.get_scoped")

_reads_resource_policy: ContextVar[bool] = ContextVar("reads_resource_policy", default=False)


def install() -> None:
    if SETTING not in os.environ:
        return
    record = _Record(Path(os.environ[SETTING]))
    evaluate, evaluate_resource_policy = _iam_evaluator.evaluate, _iam_evaluator.evaluate_resource_policy

    def evaluate_and_record(context: Any, policies: Any, *limits: Any) -> Any:
        result = evaluate(context, policies, *limits)
        if not _reads_resource_policy.get() and ":assumed-role/" in context.principal_arn:
            record.add(context, is_allowed=result.decision == "Allow")
        return result

    def evaluate_policy_of_resource(*args: Any, **named: Any) -> Any:
        token = _reads_resource_policy.set(True)
        try:
            return evaluate_resource_policy(*args, **named)
        finally:
            _reads_resource_policy.reset(token)

    _iam_evaluator.evaluate = evaluate_and_record
    _iam_evaluator.evaluate_resource_policy = evaluate_policy_of_resource


class _Record:
    """The lines of this emulator."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._templates: dict[int, tuple[Any, str]] = {}  # by id; the template stays here, so no id comes again
        self._owners: dict[tuple[str, str], tuple[Any, str] | None] = {}  # stack and logical id, by account and role
        self._seen: set[tuple[Any, ...]] = set()

    def add(self, context: Any, *, is_allowed: bool) -> None:
        """Note one decision on a call of a role of a stack."""
        account, role_name = context.principal_account, context.principal_arn.split("/")[1]
        with self._lock:
            if (owner := self._owner(account, role_name)) is None:
                return
            (stack_account, region, stack_name), role = owner
            stack = _package._stacks.get_scoped(stack_account, region, stack_name) or {}
            if not is_allowed and stack.get("StackStatus", "DELETE").startswith("DELETE"):
                return  # what still runs has lost its permissions
            for line in _matches(context, role_name) if is_allowed else [{"denied": context.resource_arn}]:
                self._write(stack["_template"], {"stack": stack_name, "role": role, "action": context.action} | line)

    def _owner(self, account: str, role_name: str) -> tuple[Any, str] | None:
        key = account, role_name
        if key not in self._owners:
            self._owners[key] = next(
                (
                    ((stack_account, region, stack["StackName"]), logical_id)
                    for stack_account, region, stack in ministack.in_all_scopes(_package._stacks)
                    for logical_id, each in stack.get("_resources", {}).items()
                    if stack_account == account and each.get("PhysicalResourceId") == role_name
                ),
                None,
            )
        return self._owners[key]

    def _write(self, template: Any, line: dict[str, Any]) -> None:
        key = (id(template), *line.values())
        if key in self._seen:
            return
        self._seen.add(key)
        if id(template) not in self._templates:
            text = json.dumps(template, sort_keys=True)
            digest = hashlib.sha256(text.encode()).hexdigest()[:16]
            self._templates[id(template)] = template, digest
            (self._folder / f"{digest}.template.json").write_text(text)
        with (self._folder / f"{os.getpid()}.jsonl").open("a") as file:
            file.write(json.dumps({"template": self._templates[id(template)][1]} | line) + "\n")


def _matches(context: Any, role_name: str) -> Iterator[dict[str, Any]]:
    """Each policy, statement and resource of it that allows the action; the last two by their number."""
    role = _iam._roles.get_scoped(context.principal_account, None, role_name)
    for policy, document in (role or {}).get("InlinePolicies", {}).items():
        for number, statement in enumerate(_iam_evaluator.parse_policy_document(document)):
            for place, resource in enumerate(statement.resources):
                statement.resources = [resource]
                if _iam_evaluator._first_match(context, [statement], "Allow"):
                    yield {"policy": policy, "statement": number, "resource": place}
