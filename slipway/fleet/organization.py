"""Asks AWS Organizations for the accounts of organizational units."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting.fleets.fleet import FleetGroup
from slipway.shared.aws_errors import sentence


@dataclass
class Organization:
    """The organization of a fleet.

    client: of Organizations; the management account and delegated administrators may ask. told_management: the
    management account that the fleet's file names.

    problem: one sentence on why Organizations gave no answer; empty = it did. left_out: accounts of a unit that
    StackSets does not reach, with the reason.
    """

    client: Any
    told_management: str | None = None
    problem: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    _units: dict[str, set[str] | None] = field(default_factory=dict)

    @cached_property
    def management_account(self) -> str | None:
        """The management account's id; None = not known."""
        if self.told_management:
            return self.told_management
        try:
            return str(self.client.describe_organization()["Organization"]["MasterAccountId"])
        except (BotoCoreError, ClientError):
            return None

    def accounts(self, group: FleetGroup) -> set[str] | None:
        """The accounts that a group reaches now; None = not known."""
        if not group.organizational_units:
            return set(group.accounts)
        found = [self._of_unit(unit) for unit in group.organizational_units]
        known = None if None in found else {account for each in found if each for account in each}
        if group.account_filter == "none" or known is None:
            return known
        listed = set(group.accounts)
        return known & listed if group.account_filter == "intersection" else known - listed

    def _of_unit(self, unit: str) -> set[str] | None:
        if unit not in self._units:
            try:
                self._units[unit] = set(self._reached(self._below(unit)))
            except (BotoCoreError, ClientError) as error:
                self.problem, self._units[unit] = self.problem or sentence(error), None
        return self._units[unit]

    def _below(self, parent: str) -> Iterator[dict[str, Any]]:
        for page in self.client.get_paginator("list_accounts_for_parent").paginate(ParentId=parent):
            yield from page["Accounts"]
        for page in self.client.get_paginator("list_organizational_units_for_parent").paginate(ParentId=parent):
            for unit in page["OrganizationalUnits"]:
                yield from self._below(unit["Id"])

    def _reached(self, accounts: Iterable[dict[str, Any]]) -> Iterator[str]:
        for account in accounts:
            state = account.get("State") or account.get("Status", "ACTIVE")  # the older name goes out of use
            if account["Id"] == self.management_account:
                self.left_out[account["Id"]] = "the management account, which service-managed sets leave out"
            elif state != "ACTIVE":
                self.left_out[account["Id"]] = f"{state.lower().replace('_', ' ')}"
            else:
                yield account["Id"]
