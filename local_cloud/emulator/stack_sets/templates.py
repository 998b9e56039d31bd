"""The resource type AWS::CloudFormation::StackSet.

An update takes the steps of AWS's handler (UpdateHandler in the repository aws-cloudformation/
aws-cloudformation-resource-providers-cloudformation): it deletes instances that are not in the template any more,
updates the set and all its instances in one operation, creates new instances, and updates changed overrides.
"""

from local_cloud.emulator.cloudformation.resource_types import Properties, Provisioned, register_resource_type
from local_cloud.emulator.core import ministack
from local_cloud.emulator.stack_sets import organization, roles, template
from local_cloud.emulator.stack_sets.operation import Operation, Target
from local_cloud.emulator.stack_sets.preferences import Preferences
from local_cloud.emulator.stack_sets.refusal import StackSetsError
from local_cloud.emulator.stack_sets.stack_set import StackSet, parameters_of, stack_sets
from local_cloud.emulator.stack_sets.targets import Group, demand_one_set_of_overrides, targets

_stacks = ministack.internals("ministack.services.cloudformation.stacks", "_sends_back_failed_update")

TYPE = "AWS::CloudFormation::StackSet"
# Properties whose change updates the set itself; even a new description is an operation on all instances.
_SETTINGS = (
    "AdministrationRoleARN",
    "AutoDeployment",
    "Capabilities",
    "Description",
    "ExecutionRoleName",
    "Parameters",
    "Tags",
)


class OperationFailedError(Exception):
    """An operation that exceeded its failure tolerance."""


def owner(call_as: str | None, *, service_managed: bool) -> str:
    """The account that owns the caller's stack sets. Raises StackSetsError."""
    account = ministack.account_id()
    management = organization.management_account(account)
    if not service_managed:
        if call_as == "DELEGATED_ADMIN":
            raise StackSetsError("ValidationError", "CallAs must be SELF for self-managed stack sets.")
        return account
    entitled = (
        organization.is_delegated_administrator(account) if call_as == "DELEGATED_ADMIN" else account == management
    )
    if not entitled or management not in organization.with_trusted_access:
        message = (
            "You must be the management account or delegated admin account of an organization before operating a "
            "SERVICE_MANAGED stack set"
        )
        raise StackSetsError("ValidationError", message)
    return management


def _checked(properties: Properties) -> tuple[str, str]:
    """Check the properties; returns the owning account and the template's body. Raises StackSetsError."""
    service_managed = properties["PermissionModel"] == "SERVICE_MANAGED"
    account = owner(properties.get("CallAs"), service_managed=service_managed)
    if bool(properties.get("AutoDeployment")) != service_managed:
        raise StackSetsError("ValidationError", "AutoDeployment is for service-managed stack sets, which need it.")
    Preferences(properties.get("OperationPreferences") or {})
    demand_one_set_of_overrides(properties.get("StackInstancesGroup") or [])
    if not service_managed:
        roles.administration_role(account, properties.get("AdministrationRoleARN") or "")
    return account, template.read(properties)


def _create(logical_id: str, properties: Properties, stack: str) -> Provisioned:
    account, body = _checked(properties)
    name, region = properties["StackSetName"], ministack.region()
    with ministack.scope(account, region):
        if name in stack_sets:
            raise StackSetsError("NameAlreadyExistsException", f"StackSet {name} already exists")
        made = stack_sets[name] = StackSet(name, account, region, properties, body)
    try:
        for group in _groups(properties):
            _create_instances(made, group, set())
    except Exception:
        # MiniStack's update engine forgets a resource whose creation failed.
        _delete(made.id, properties)
        raise
    return made.id, {"StackSetId": made.id}


def _update(set_id: str, old: Properties, new: Properties, stack: str) -> Provisioned:
    account, body = _checked(new)
    found = _find(set_id, account)
    before = {target for group in _groups(old) for target in targets(group, found.management)}
    after = {target for group in _groups(new) for target in targets(group, found.management)}
    found.properties = found.properties | {name: new.get(name) for name in ("ManagedExecution", "OperationPreferences")}
    for group in _groups(old):
        doomed = [each for each in targets(group, found.management) if each not in after and each in found.instances]
        _run(found, "DELETE", doomed)
    if body != found.body or any(old.get(name) != new.get(name) for name in _SETTINGS):
        found.properties, found.body = new, body
        _run(found, "UPDATE", [each for each, instance in found.instances.items() if instance.status != "INOPERABLE"])
    found.properties = new
    for group in _groups(new):
        _create_instances(found, group, before)
    for group in _groups(new):
        _update_instances(found, group, before)
    return set_id, {"StackSetId": set_id}


def _create_instances(stack_set: StackSet, group: Group, before: set[Target]) -> None:
    created = {target: unit for target, unit in targets(group, stack_set.management).items() if target not in before}
    stack_set.add(created, parameters_of(group.get("ParameterOverrides")))
    _run(stack_set, "CREATE", list(created))


def _update_instances(stack_set: StackSet, group: Group, before: set[Target]) -> None:
    overrides = parameters_of(group.get("ParameterOverrides"))
    found = {
        target: unit
        for target, unit in targets(group, stack_set.management).items()
        if target in before and target in stack_set.instances and stack_set.instances[target].overrides != overrides
    }
    stack_set.add(found, overrides)
    _run(stack_set, "UPDATE", list(found))


def _delete(set_id: str, properties: Properties) -> None:
    account = owner(properties.get("CallAs"), service_managed=properties["PermissionModel"] == "SERVICE_MANAGED")
    with ministack.scope(account, ministack.region()):
        found = next((each for each in stack_sets.values() if each.id == set_id), None)
    if found is None:
        return
    _run(found, "DELETE", list(found.instances))
    with ministack.scope(account, ministack.region()):
        del stack_sets[found.name]


def _run(stack_set: StackSet, action: str, chosen: list[Target]) -> None:
    """Run an operation on these targets, if there are any, and wait for its end. Raises OperationFailedError."""
    if not chosen:
        return
    operation = Operation(action, chosen, Preferences(stack_set.properties.get("OperationPreferences") or {}))
    ministack.on_loop(stack_set.run(operation)).result()
    if operation.status != "SUCCEEDED":
        results = operation.results.items()
        reasons = [f"{account} in {region}: {each.reason}" for (account, region), each in results if each.reason]
        message = f"Stack set operation [{operation.id}] was unexpectedly stopped or failed. {' '.join(reasons)}"
        raise OperationFailedError(message)


def _find(set_id: str, account: str) -> StackSet:
    with ministack.scope(account, ministack.region()):
        found: StackSet = next(each for each in stack_sets.values() if each.id == set_id)
    return found


def _groups(properties: Properties) -> list[Group]:
    return properties.get("StackInstancesGroup") or []


def _send_back_failed_updates() -> None:
    """Update the set back when its parent stack rolls back: a failed operation leaves instances of the new template."""
    sends_back = _stacks._sends_back_failed_update
    _stacks._sends_back_failed_update = lambda kind: kind == TYPE or sends_back(kind)


def install() -> None:
    _send_back_failed_updates()
    register_resource_type(
        TYPE, create=_create, update=_update, delete=_delete, replaced_by=("PermissionModel", "StackSetName")
    )
