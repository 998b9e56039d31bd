"""Turns a fleet into its stack sets, in the order in which an update reaches them."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from ..portable.template import PortableTemplate
from ..resolution import Resolution
from .fleet import Fleet, FleetGroup, Rollout

ENDPOINT_SWITCH, ACCESS_LOGS_SWITCH = "DeployEndpoint", "ApiAccessLogs"
_ONE_BY_ONE = Rollout().model_dump(include={"failure_tolerance", "max_concurrent", "concurrency"})


@dataclass(frozen=True)
class RenderedStackSet:
    """A stack set of a fleet.

    groups: its accounts and regions, without those that an earlier set of the service has.
    parameters: values for the whole set.
    auto_deployment: whether accounts that join a unit get a stack.
    """

    role: Literal["account-settings", "canary", "service"]
    name: str
    template: PortableTemplate
    groups: tuple[FleetGroup, ...]
    parameters: Mapping[str, str]
    rollout: Rollout
    auto_deployment: bool

    @property
    def version(self) -> str:
        """The version of the template."""
        return version_of(self.template.content)

    @property
    def region_order(self) -> list[str]:
        """The set's own regions in their order; empty = StackSets decides."""
        regions = {region for group in self.groups for region in group.regions}
        return [region for region in self.rollout.region_order if region in regions]


def version_of(template: Mapping[str, Any]) -> str:
    """Return 8 digits that depend on the template's content, not on its formatting."""
    sections = {name: content for name, content in template.items() if content}
    return hashlib.sha256(json.dumps(sections, sort_keys=True).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class RenderedFleet:
    """A fleet with the templates of its stack sets.

    deployment: the stack name of its deployment.
    template: the service.
    settings: the account settings of a region.
    """

    name: str
    fleet: Fleet
    deployment: str
    resolution: Resolution
    template: PortableTemplate
    settings: PortableTemplate = field(repr=False)

    @property
    def places(self) -> Iterator[tuple[str, FleetGroup]]:
        """The groups of the file with the fields that hold them, the canary first."""
        if self.fleet.canary:
            yield "canary", self.fleet.canary
        yield from ((f"targets.{number}", group) for number, group in enumerate(self.fleet.targets))

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The values for the whole fleet, without the template's defaults."""
        return parameters_of(self.fleet, self.template)

    def values(self, group: FleetGroup) -> dict[str, str]:
        """Return the values of all parameters in a group; parameters without a value are absent."""
        declared = self.template.content.get("Parameters", {})
        defaults = {name: str(each["Default"]) for name, each in declared.items() if "Default" in each}
        return defaults | self.parameters | group.parameters

    def runs_endpoint(self, group: FleetGroup) -> bool:
        return self.values(group).get(ENDPOINT_SWITCH) == "true"

    @property
    def needs_settings(self) -> bool:
        """Whether the service writes access logs in some account, which needs the account's role."""
        return self.fleet.account_settings and ACCESS_LOGS_SWITCH in self.template.content.get("Parameters", {})

    @cached_property
    def stack_sets(self) -> list[RenderedStackSet]:
        """The stack sets in the order of their updates."""
        canary, fleet = self.fleet.canary, self.fleet
        canaries = (canary,) if canary else ()
        targets = tuple(part for group in fleet.targets for part in without(group, canary))
        automatic = fleet.auto_deployment.enabled
        sets = []
        if self.needs_settings:
            name, groups = f"{self.name}-account-settings", tuple(_everywhere(fleet))
            sets.append(RenderedStackSet("account-settings", name, self.settings, groups, {}, fleet.rollout, automatic))
        if canary:
            careful = fleet.rollout.model_copy(update=_ONE_BY_ONE)
            # Automatic deployment ignores account filters: both sets would serve an account that joins.
            joins = automatic and canary.account_filter == "none"
            sets.append(
                RenderedStackSet(
                    "canary", f"{self.name}-canary", self.template, canaries, self.parameters, careful, joins
                )
            )
        sets.append(
            RenderedStackSet("service", self.name, self.template, targets, self.parameters, fleet.rollout, automatic)
        )
        return sets


def parameters_of(fleet: Fleet, template: PortableTemplate) -> dict[str, str]:
    """Return the deployment's own values, replaced by the fleet's."""
    logs = {ACCESS_LOGS_SWITCH: "true"} if fleet.account_settings else {}
    known = {name: value for name, value in logs.items() if name in template.content.get("Parameters", {})}
    return template.parameters | known | fleet.parameters


def told_values(fleet: Fleet) -> dict[str, str]:
    """Return each parameter's value; if the groups have different ones, those of all groups in order, as one text."""
    groups = [*([fleet.canary] if fleet.canary else []), *fleet.targets]
    given = [fleet.parameters | group.parameters for group in groups]
    names = {name for values in given for name in values}
    told = {name: [values.get(name, "") for values in given] for name in sorted(names)}
    return {name: each[0] if len(set(each)) == 1 else "\n".join(each) for name, each in told.items()}


def _everywhere(fleet: Fleet) -> Iterator[FleetGroup]:
    """Yield targets and canary without parameters, each account and region once."""
    if canary := fleet.canary:
        for region in canary.regions:
            if left := _without_targets(canary, fleet.targets, region):
                yield left.model_copy(update={"regions": [region], "parameters": {}})
    for group in fleet.targets:
        yield group.model_copy(update={"parameters": {}})


def _without_targets(canary: FleetGroup, targets: Sequence[FleetGroup], region: str) -> FleetGroup | None:
    """Return the canary without the accounts that a target has in the region."""
    around = [each for each in targets if region in each.regions and _is_around(each, canary)]
    if not around or not canary.accounts:
        return canary
    left = [account for account in canary.accounts if not any(_has(each, account) for each in around)]
    return canary.model_copy(update={"accounts": left}) if left else None


def _is_around(group: FleetGroup, canary: FleetGroup) -> bool:
    return set(canary.organizational_units) <= set(group.organizational_units)


def _has(group: FleetGroup, account: str) -> bool:
    """Whether the group has this account of its units."""
    if group.account_filter == "none" and group.organizational_units:
        return True
    return (account in group.accounts) != (group.account_filter == "difference")


def without(group: FleetGroup, canary: FleetGroup | None) -> list[FleetGroup]:
    """Return the group minus the canary. If the canary covers only some of its regions, the group is split in two.

    A canary of whole units stands in no target, so nothing is left out for it.
    """
    shared = [region for region in group.regions if canary and region in canary.regions]
    if not canary or not shared or not canary.accounts:
        return [group]
    rest = [region for region in group.regions if region not in shared]
    left = _less(group, canary.accounts)
    parts = [left.model_copy(update={"regions": shared})] if left else []
    return [*parts, group.model_copy(update={"regions": rest})] if rest else parts


def _less(group: FleetGroup, accounts: Sequence[str]) -> FleetGroup | None:
    if group.account_filter == "intersection" or not group.organizational_units:
        left = [each for each in group.accounts if each not in accounts]
        return group.model_copy(update={"accounts": left}) if left else None
    excluded = list(dict.fromkeys([*group.accounts, *accounts]))
    return group.model_copy(update={"accounts": excluded, "account_filter": "difference"})
