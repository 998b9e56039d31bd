"""A fleet -> its stack sets, in the order in which an update reaches them."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from ..fleet import Fleet, Group, Rollout
from ..portable.template import PortableTemplate
from ..resolution import Resolution

ENDPOINT_SWITCH, ACCESS_LOGS_SWITCH = "DeployEndpoint", "ApiAccessLogs"
_ONE_BY_ONE = Rollout().model_dump(include={"failure_tolerance", "max_concurrent", "concurrency"})


@dataclass(frozen=True)
class StackSet:
    """groups: without a target of an earlier set of the service. parameters: of the whole set.

    auto_deployment: accounts that join get a stack.
    """

    role: Literal["account-settings", "canary", "service"]
    name: str
    template: PortableTemplate
    groups: tuple[Group, ...]
    parameters: Mapping[str, str]
    rollout: Rollout
    auto_deployment: bool

    @property
    def version(self) -> str:
        """Of the template."""
        return version_of(self.template.content)

    @property
    def region_order(self) -> list[str]:
        """Of the set's own regions; empty = as StackSets sees fit."""
        regions = {region for group in self.groups for region in group.regions}
        return [region for region in self.rollout.region_order if region in regions]


def version_of(template: Mapping[str, Any]) -> str:
    """8 digits that change with the template, however it is written down."""
    sections = {name: content for name, content in template.items() if content}
    return hashlib.sha256(json.dumps(sections, sort_keys=True).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class RenderedFleet:
    """deployment: the stack's name of its deployment. template: of the service; settings: of account and region."""

    name: str
    fleet: Fleet
    deployment: str
    resolution: Resolution
    template: PortableTemplate
    settings: PortableTemplate = field(repr=False)

    @property
    def places(self) -> Iterator[tuple[str, Group]]:
        """The groups of the file with the fields that hold them, the canary first."""
        if self.fleet.canary:
            yield "canary", self.fleet.canary
        yield from ((f"targets.{number}", group) for number, group in enumerate(self.fleet.targets))

    @cached_property
    def parameters(self) -> dict[str, str]:
        """Of the whole fleet, as far as they are no defaults of the template."""
        return parameters_of(self.fleet, self.template)

    def values(self, group: Group) -> dict[str, str]:
        """Of all parameters in a group; those without a value are absent."""
        declared = self.template.content.get("Parameters", {})
        defaults = {name: str(each["Default"]) for name, each in declared.items() if "Default" in each}
        return defaults | self.parameters | group.parameters

    def runs_endpoint(self, group: Group) -> bool:
        return self.values(group).get(ENDPOINT_SWITCH) == "true"

    @property
    def needs_settings(self) -> bool:
        """The service writes access logs in some account, which takes the account's role."""
        return self.fleet.account_settings and ACCESS_LOGS_SWITCH in self.template.content.get("Parameters", {})

    @cached_property
    def stack_sets(self) -> list[StackSet]:
        """In their order."""
        canary, fleet = self.fleet.canary, self.fleet
        canaries = (canary,) if canary else ()
        targets = tuple(part for group in fleet.targets for part in without(group, canary))
        automatic = fleet.auto_deployment.enabled
        sets = []
        if self.needs_settings:
            name, groups = f"{self.name}-account-settings", tuple(_everywhere(fleet))
            sets.append(StackSet("account-settings", name, self.settings, groups, {}, fleet.rollout, automatic))
        if canary:
            careful = fleet.rollout.model_copy(update=_ONE_BY_ONE)
            # Automatic deployment does not look at account filters: both sets would serve an account that joins.
            joins = automatic and canary.account_filter == "none"
            sets.append(
                StackSet("canary", f"{self.name}-canary", self.template, canaries, self.parameters, careful, joins)
            )
        sets.append(StackSet("service", self.name, self.template, targets, self.parameters, fleet.rollout, automatic))
        return sets


def parameters_of(fleet: Fleet, template: PortableTemplate) -> dict[str, str]:
    """The deployment's own values, the fleet's over them."""
    logs = {ACCESS_LOGS_SWITCH: "true"} if fleet.account_settings else {}
    known = {name: value for name, value in logs.items() if name in template.content.get("Parameters", {})}
    return template.parameters | known | fleet.parameters


def told_values(fleet: Fleet) -> dict[str, str]:
    """Values of parameters: the one that all groups get, or as one text those of all in their order."""
    groups = [*([fleet.canary] if fleet.canary else []), *fleet.targets]
    given = [fleet.parameters | group.parameters for group in groups]
    names = {name for values in given for name in values}
    told = {name: [values.get(name, "") for values in given] for name in sorted(names)}
    return {name: each[0] if len(set(each)) == 1 else "\n".join(each) for name, each in told.items()}


def _everywhere(fleet: Fleet) -> Iterator[Group]:
    """Targets and canary without parameters, each place once."""
    left = [fleet.canary] if fleet.canary else []
    for group in fleet.targets:
        left = [part for each in left for part in without(each, group)]
    for group in (*left, *fleet.targets):
        yield group.model_copy(update={"parameters": {}})


def without(group: Group, other: Group | None) -> list[Group]:
    """The group, in parts where the other's targets are left out of it: two services would run there."""
    shared = [region for region in group.regions if other and region in other.regions]
    left = _less(group, other) if other and shared else group
    if left == group:
        return [group]
    rest = [region for region in group.regions if region not in shared]
    parts = [left.model_copy(update={"regions": shared})] if left else []
    return [*parts, group.model_copy(update={"regions": rest})] if rest else parts


def _less(group: Group, other: Group) -> Group | None:
    """The group without the other's accounts, or without its units where it has all their accounts."""
    if not other.organizational_units and not group.organizational_units:
        return _of_accounts(group, _without(group.accounts, other.accounts))
    if other.account_filter == "none":
        units = _without(group.organizational_units, other.organizational_units)
        return group.model_copy(update={"organizational_units": units}) if units else None
    is_inside = set(group.organizational_units) <= set(other.organizational_units)
    if other.account_filter == "difference":
        if not is_inside or group.account_filter != "intersection":
            return group
        return _of_accounts(group, [each for each in group.accounts if each in other.accounts])
    if group.account_filter == "intersection":
        return _of_accounts(group, _without(group.accounts, other.accounts))
    excluded = list(dict.fromkeys([*group.accounts, *other.accounts]))
    return group.model_copy(update={"accounts": excluded, "account_filter": "difference"})


def _of_accounts(group: Group, accounts: list[str]) -> Group | None:
    return group.model_copy(update={"accounts": accounts}) if accounts else None


def _without(items: Sequence[str], others: Sequence[str]) -> list[str]:
    return [each for each in items if each not in others]
