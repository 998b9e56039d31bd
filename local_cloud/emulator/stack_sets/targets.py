"""Resolves DeploymentTargets to accounts and regions."""

from typing import Any

from local_cloud.emulator.stack_sets.operation import Target
from local_cloud.emulator.stack_sets.organization import accounts_below
from local_cloud.emulator.stack_sets.refusal import StackSetsError

Group = dict[str, Any]  # an entry of the property StackInstancesGroup


def targets(group: Group, management: str | None) -> dict[Target, str]:
    """The targets of a group, each with the organizational unit that named it, "" without one.

    management: the management account; None = self-managed. Raises StackSetsError.
    """
    given = group["DeploymentTargets"]
    units, accounts = given.get("OrganizationalUnitIds") or [], given.get("Accounts") or []
    if "AccountsUrl" in given:
        raise StackSetsError("ValidationError", "The local cloud reads no AccountsUrl.")
    if management is None:
        if units or not accounts:
            raise StackSetsError(
                "ValidationError", "A self-managed stack set needs Accounts, not OrganizationalUnitIds."
            )
        found: dict[str, str] = dict.fromkeys(accounts, "")
    else:
        found = _in_units(units, set(accounts), given.get("AccountFilterType"), management)
    return {(account, region): unit for account, unit in found.items() for region in group["Regions"]}


def _in_units(units: list[str], accounts: set[str], kind: str | None, management: str) -> dict[str, str]:
    if not units:
        raise StackSetsError("ValidationError", "A service-managed stack set needs OrganizationalUnitIds.")
    if bool(accounts) != (kind in ("INTERSECTION", "DIFFERENCE")):
        # API reference: UNION "is not supported for CreateStackInstances operations".
        raise StackSetsError("ValidationError", "Accounts need the AccountFilterType INTERSECTION or DIFFERENCE.")
    found: dict[str, str] = {}
    for unit in units:
        try:
            inside = accounts_below(unit, management)
        except KeyError:
            raise StackSetsError("ValidationError", f"Organizational unit {unit} does not exist.") from None
        if kind:
            inside = inside & accounts if kind == "INTERSECTION" else inside - accounts
        found |= dict.fromkeys(sorted(inside), unit)
    return found


def demand_one_set_of_overrides(groups: list[Group]) -> None:
    """Refuse two sets of overrides for a unit, or for a self-managed account in a region, as the type's handler does.

    Raises StackSetsError.
    """
    known: dict[Any, Any] = {}
    for group in groups:
        given, overrides = group["DeploymentTargets"], group.get("ParameterOverrides") or []
        for region in group["Regions"]:
            for each in given.get("OrganizationalUnitIds") or given.get("Accounts") or []:
                if known.setdefault((each, region), overrides) != overrides:
                    message = f"{each} cannot be associated with more than one Parameters set"
                    raise StackSetsError("InvalidRequest", message)
