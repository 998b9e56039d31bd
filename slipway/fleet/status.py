"""Shows which target runs which template, and which failed and why."""

import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting import FLEET_PREFIX
from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.paths import UnknownDeploymentError
from llm_hosting.fleets.file import find_fleet, parse_fleet
from llm_hosting.fleets.fleet import Fleet
from slipway.changes.template.reading import NoTemplateError
from slipway.fleet import cost
from slipway.fleet.deployed_set import DeployedSet, call_as, deployed_set
from slipway.operations.last_failure import reasons
from slipway.shared.aws_clients import Clients, clients_in
from slipway.shared.aws_errors import sentence
from slipway.shared.table import table_lines

_SETTINGS = "-account-settings"
_SUFFIXES = (_SETTINGS, "-canary", "")
_FAILED = ("FAILED", "FAILED_IMPORT", "INOPERABLE", "CANCELLED")
_FAILED_OPERATIONS = ("FAILED", "STOPPED")
_TARGETS = ("STACK SET", "ACCOUNT", "REGION", "STATUS", "TEMPLATE", "REASON")
_OPERATIONS = ("STACK SET", "STARTED", "OPERATION", "STATUS", "REASON")


def run(name: str, root: Path, region: str | None, role: str | None, *, as_json: bool) -> int:
    """Print the state of each stack, with its cost and use.

    region: of the stack sets. role: the name of a role in each account, to ask for cost and use.
    Returns the exit status: 0; 1 if a stack or the last operation of a set failed, or if
    nothing is deployed; 2 for an unknown name or if AWS gave no answer.
    """
    try:
        path = find_fleet(name, root / "fleets")
        fleet, problems = parse_fleet(path)
        if fleet is None:
            raise DeploymentError(path, [f"{each.field}: {each.message}" for each in problems])
        clients = clients_in(region)
        found = state_of(path.stem, fleet, clients)
        found["cost"] = cost.cost_of(_services(found), role, clients)
    except (UnknownDeploymentError, DeploymentError, NoTemplateError) as error:
        print(error, file=sys.stderr)
        return 2
    except (BotoCoreError, ClientError) as error:
        print(sentence(error), file=sys.stderr)
        return 2
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        print("\n".join([*lines(found), *cost.lines(found["cost"])]))
    return 1 if found["failed"] else 0


def state_of(name: str, fleet: Fleet, clients: Clients) -> dict[str, Any]:
    """The object that `--json` prints.

    template: the version that a stack runs; null if it is not CURRENT, because StackSets keeps no version of each
    stack and only the stack's own account sees the stack. before: the version that has not arrived, or only in part;
    a failed update is rolled back to the version before it, unless the reason says otherwise. last_operation: on the
    stack.

    stack: the fleet's own stack, which creates the sets and deletes them if its first deploy fails.
    """
    client, caller = clients("cloudformation"), call_as(fleet)
    names = [f"{name}{suffix}" for suffix in _SUFFIXES]
    deployed = {each: found for each in names if (found := deployed_set(each, client, caller))}
    sets = [_set_state(each, found) for each, found in deployed.items()]
    stack = _stack_state(f"{FLEET_PREFIX}{name}", client)
    failed = name not in deployed or bool(stack and stack["reason"]) or any(map(_has_failed, sets))
    return {"fleet": name, "failed": failed, "stack": stack, "stack_sets": sets}


def _services(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The targets that have a stack with a service."""
    sets = [each for each in found["stack_sets"] if not each["name"].endswith(_SETTINGS)]
    return [{"stack_set": each["name"]} | target for each in sets for target in each["targets"] if target["stack"]]


def _stack_state(name: str, client: Any) -> dict[str, Any] | None:
    """The state of the fleet's own stack; None = there is none. reason: empty unless its last operation failed."""
    try:
        status = client.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    failed = "ROLLBACK" in status or "FAILED" in status
    return {"name": name, "status": status, "reason": next(reasons(name, client), status) if failed else ""}


def _has_failed(found: dict[str, Any]) -> bool:
    last = found["operations"][:1]
    return any(each["status"] in _FAILED_OPERATIONS for each in last) or any(
        each["status"] in _FAILED for each in found["targets"]
    )


def _set_state(name: str, deployed: DeployedSet) -> dict[str, Any]:
    version = deployed.version
    return {
        "name": name,
        "template": version,
        "targets": [
            {
                "account": account,
                "region": region,
                "status": _status(each),
                "template": version if each["Status"] == "CURRENT" else None,
                "before": None if each["Status"] == "CURRENT" else version,
                "last_operation": each.get("LastOperationId"),
                "reason": each.get("StatusReason", ""),
                "stack": each.get("StackId"),
            }
            for (account, region), each in sorted(deployed.instances.items())
        ],
        "operations": [
            {
                "id": each["OperationId"],
                "action": each["Action"],
                "status": each["Status"],
                "started": _time(each.get("CreationTimestamp")),
                "ended": _time(each.get("EndTimestamp")),
                "reason": each.get("StatusReason", ""),
            }
            for each in deployed.operations()
        ],
    }


def _status(instance: dict[str, Any]) -> str:
    """Return CURRENT, or the state after the last operation, which is more exact than OUTDATED."""
    if instance["Status"] == "CURRENT":
        return "CURRENT"
    return str(instance.get("StackInstanceStatus", {}).get("DetailedStatus") or instance["Status"])


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The lines of the page."""
    stack = found["stack"]
    if not found["stack_sets"] and not stack:
        yield f"{found['fleet']}: not deployed"
        return
    said = "something failed" if found["failed"] else "nothing failed"
    yield f"{found['fleet']}: {said}"
    if stack:
        because = f": {_line(stack['reason'])}" if stack["reason"] else ""
        yield f"  {stack['name']}: {stack['status']}{because}"
    if not found["stack_sets"]:
        yield "  no stack set: nothing is deployed"
        return
    for each in found["stack_sets"]:
        yield f"  {each['name']}: template {each['template']}, stacks: {len(each['targets'])}"
    targets = [(each["name"], target) for each in found["stack_sets"] for target in each["targets"]]
    yield from ("", *table_lines(_TARGETS, [_target_row(name, target) for name, target in targets]))
    operations = [(each["name"], operation) for each in found["stack_sets"] for operation in each["operations"]]
    yield from ("", *table_lines(_OPERATIONS, [_operation_row(name, each) for name, each in operations]))


def _target_row(name: str, target: dict[str, Any]) -> tuple[str, ...]:
    template = target["template"] or f"as before {target['before']}"
    return name, target["account"], target["region"], target["status"], template, _line(target["reason"])


def _operation_row(name: str, operation: dict[str, Any]) -> tuple[str, ...]:
    started = (operation["started"] or "")[:16].replace("T", " ")
    return name, started, operation["action"], operation["status"], _line(operation["reason"])


def _line(text: str) -> str:
    return " ".join(text.split())
