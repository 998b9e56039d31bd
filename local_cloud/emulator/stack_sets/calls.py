"""The calls that read stack sets, their instances and their operations."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.stack_sets import organization
from local_cloud.emulator.stack_sets.operation import Operation, Target
from local_cloud.emulator.stack_sets.refusal import StackSetsError
from local_cloud.emulator.stack_sets.stack_set import StackInstance, StackSet, stack_sets
from local_cloud.emulator.stack_sets.templates import owner

_handlers = ministack.internals("ministack.services.cloudformation.handlers", "_ACTION_HANDLERS")
_helpers = ministack.internals("ministack.services.cloudformation.helpers", "_error", "_esc", "_p", "_page", "_xml")

Parameters = dict[str, Any]


def _given(parameters: Parameters, name: str) -> str:
    return str(_helpers._p(parameters, name))


def _in_account(parameters: Parameters) -> list[StackSet]:
    call_as = _given(parameters, "CallAs") or "SELF"
    account = owner(call_as, service_managed=call_as == "DELEGATED_ADMIN")
    with ministack.scope(account, ministack.region()):
        found: list[StackSet] = list(stack_sets.values())
    return [each for each in found if call_as == "SELF" or each.is_service_managed]


def _stack_set(parameters: Parameters) -> StackSet:
    name = _given(parameters, "StackSetName")
    for each in _in_account(parameters):
        if name in (each.name, each.id, each.arn):
            return each
    raise StackSetsError("StackSetNotFoundException", f"StackSet {name} not found")


def _describe_stack_set(parameters: Parameters) -> dict[str, Any]:
    found = _stack_set(parameters)
    shown = found.properties
    regions = sorted({region for _, region in found.instances})
    units = {unit for group in shown.get("StackInstancesGroup") or [] for unit in _units(group)}
    details = {
        "StackSetARN": found.arn,
        "TemplateBody": found.body,
        "Parameters": [{"ParameterKey": name, "ParameterValue": value} for name, value in found.parameters.items()],
        "Capabilities": shown.get("Capabilities") or [],
        "Tags": shown.get("Tags") or [],
        "AdministrationRoleARN": shown.get("AdministrationRoleARN"),
        "ExecutionRoleName": shown.get("ExecutionRoleName"),
        "OrganizationalUnitIds": sorted(units),
        "Regions": regions,
    }
    return {"StackSet": _summary(found) | details}


def _units(group: dict[str, Any]) -> list[str]:
    return group["DeploymentTargets"].get("OrganizationalUnitIds") or []


def _summary(found: StackSet) -> dict[str, Any]:
    return {
        "StackSetName": found.name,
        "StackSetId": found.id,
        "Description": found.properties.get("Description"),
        "Status": "ACTIVE",
        "AutoDeployment": found.properties.get("AutoDeployment"),
        "PermissionModel": found.properties["PermissionModel"],
        "ManagedExecution": {"Active": found.queues},
    }


def _list_stack_sets(parameters: Parameters) -> dict[str, Any]:
    wanted = _given(parameters, "Status") or "ACTIVE"
    return {"Summaries": [_summary(each) for each in _in_account(parameters) if wanted == "ACTIVE"]}


def _list_instances(parameters: Parameters) -> dict[str, Any]:
    found = _stack_set(parameters)
    account, region = (_given(parameters, f"StackInstance{name}") for name in ("Account", "Region"))
    return {
        "Summaries": [
            _instance(found, target, each)
            for target, each in sorted(found.instances.items())
            if account in ("", target[0]) and region in ("", target[1])
        ]
    }


def _describe_instance(parameters: Parameters) -> dict[str, Any]:
    found = _stack_set(parameters)
    target = (_given(parameters, "StackInstanceAccount"), _given(parameters, "StackInstanceRegion"))
    if target not in found.instances:
        message = f"Stack instance for StackSet {found.name}, account {target[0]} and region {target[1]} not found"
        raise StackSetsError("StackInstanceNotFoundException", message)
    each = found.instances[target]
    overrides = [{"ParameterKey": name, "ParameterValue": value} for name, value in each.overrides.items()]
    return {"StackInstance": _instance(found, target, each) | {"ParameterOverrides": overrides}}


def _instance(stack_set: StackSet, target: Target, each: StackInstance) -> dict[str, Any]:
    return {
        "StackSetId": stack_set.id,
        "Account": target[0],
        "Region": target[1],
        "StackId": each.stack_id or None,
        "Status": each.status,
        "StackInstanceStatus": {"DetailedStatus": each.detailed_status},
        "StatusReason": each.reason or None,
        "OrganizationalUnitId": each.unit or None,
        "LastOperationId": each.operation_id,
    }


def _list_operations(parameters: Parameters) -> dict[str, Any]:
    return {"Summaries": [_operation(each) for each in reversed(_stack_set(parameters).operations)]}


def _describe_operation(parameters: Parameters) -> dict[str, Any]:
    found = _stack_set(parameters)
    operation = _operation_of(found, parameters)
    more = {"StackSetId": found.id, "RetainStacks": operation.retains if operation.action == "DELETE" else None}
    return {"StackSetOperation": _operation(operation) | more}


def _operation_of(stack_set: StackSet, parameters: Parameters) -> Operation:
    wanted = _given(parameters, "OperationId")
    for each in stack_set.operations:
        if each.id == wanted:
            return each
    raise StackSetsError("OperationNotFoundException", f"Operation with id {wanted} not found")


def _operation(each: Operation) -> dict[str, Any]:
    return {
        "OperationId": each.id,
        "Action": each.action,
        "Status": each.status,
        "CreationTimestamp": _time(each.created),
        "EndTimestamp": _time(each.ended) if each.ended else None,
        "StatusDetails": {"FailedStackInstancesCount": each.failed},
        "OperationPreferences": each.preferences.given,
    }


def _time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()


def _list_results(parameters: Parameters) -> dict[str, Any]:
    found = _stack_set(parameters)
    return {
        "Summaries": [
            {"Account": account, "Region": region, "Status": each.status, "StatusReason": each.reason or None}
            for (account, region), each in _operation_of(found, parameters).results.items()
        ]
    }


def _activate_access(parameters: Parameters) -> dict[str, Any]:
    account = ministack.account_id()
    if organization.management_account(account) != account:
        raise StackSetsError("InvalidOperationException", "Only the management account activates trusted access.")
    organization.with_trusted_access.add(account)
    return {}


def _describe_access(parameters: Parameters) -> dict[str, Any]:
    management = organization.management_account(ministack.account_id())
    return {"Status": "ENABLED" if management in organization.with_trusted_access else "DISABLED"}


def _answering(action: str, operation: Callable[[Parameters], dict[str, Any]]) -> Callable[[Parameters], Any]:
    def handle(parameters: Parameters) -> Any:
        try:
            content = operation(parameters)
        except StackSetsError as error:
            return _helpers._error(error.code, str(error))
        more = ""
        if "Summaries" in content:
            size = int(_given(parameters, "MaxResults") or 100)
            content["Summaries"], more, refusal = _helpers._page(content["Summaries"], parameters, action, size)
            if refusal:
                return refusal
        return _helpers._xml(200, f"{action}Response", f"<{action}Result>{_members(content)}{more}</{action}Result>")

    return handle


def _members(content: dict[str, Any]) -> str:
    return "".join(f"<{name}>{_value(each)}</{name}>" for name, each in content.items() if each is not None)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return _members(value)
    if isinstance(value, list):
        return "".join(f"<member>{_value(each)}</member>" for each in value)
    return str(value).lower() if isinstance(value, bool) else str(_helpers._esc(str(value)))


def install() -> None:
    for action, operation in {
        "ActivateOrganizationsAccess": _activate_access,
        "DescribeOrganizationsAccess": _describe_access,
        "DescribeStackInstance": _describe_instance,
        "DescribeStackSet": _describe_stack_set,
        "DescribeStackSetOperation": _describe_operation,
        "ListStackInstances": _list_instances,
        "ListStackSetOperationResults": _list_results,
        "ListStackSetOperations": _list_operations,
        "ListStackSets": _list_stack_sets,
    }.items():
        _handlers._ACTION_HANDLERS[action] = _answering(action, operation)
