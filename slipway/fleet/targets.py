"""What a deploy of a fleet does in each account and region."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from llm_hosting.fleets.fleet import FleetGroup
from llm_hosting.fleets.stack_sets import RenderedFleet, RenderedStackSet
from llm_hosting.resolution.estimates import start_in_seconds
from slipway.changes import Change, classify
from slipway.fleet.deployed_set import DeployedSet, Place
from slipway.fleet.organization import Organization

Action = Literal["create", "update", "nothing", "remove", "left alone", "failed", "not known"]


@dataclass(frozen=True)
class Target:
    """One stack.

    stack_set: its name. account: None = further accounts of the group's units, which are not known. is_service:
    false for account settings. group: None = the fleet no longer names it. values: its parameters after the deploy.
    changes: those of an update.
    """

    stack_set: str
    is_service: bool
    account: str | None
    region: str
    action: Action
    group: FleetGroup | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()


class Targets:
    """All targets of a fleet.

    deployed: stack sets as they are now, by name, also those that the fleet no longer has. before: their groups as
    deployed. CloudFormation creates and deletes stacks where groups differ. It ignores accounts that joined or left
    a unit in between.
    """

    def __init__(
        self,
        rendered: RenderedFleet,
        organization: Organization,
        deployed: Mapping[str, DeployedSet | None],
        before: Mapping[str, Sequence[FleetGroup]],
    ):
        self._rendered, self._organization, self._deployed, self._before = rendered, organization, deployed, before
        self._classified: dict[object, tuple[Change, ...]] = {}
        self._settings = f"{rendered.name}-account-settings"
        self.all = [each for stack_set in rendered.stack_sets for each in self._of(stack_set)]
        kept = [each.name for each in rendered.stack_sets]
        for name, found in deployed.items():
            places = sorted(found.instances) if found and name not in kept else []
            self.all += [Target(name, name != self._settings, *place, "remove") for place in places]

    @property
    def reached_twice(self) -> list[Place]:
        """Places that two groups of the service reach, through nested units."""
        seen: dict[Place, int] = {}
        for each in self.all:
            if each.account and each.group and each.is_service:
                seen[each.account, each.region] = seen.get((each.account, each.region), 0) + 1
        return sorted(place for place, times in seen.items() if times > 1)

    @property
    def moved(self) -> list[Place]:
        """Places that change from one set of the service to the other. StackSets can't move a stack."""
        service = [each for each in self.all if each.account and each.is_service]
        gone = {(each.account, each.region) for each in service if each.action == "remove"}
        made = {(each.account, each.region) for each in service if each.action == "create"}
        return sorted((str(account), region) for account, region in gone & made)

    def _of(self, stack_set: RenderedStackSet) -> Iterator[Target]:
        name, is_service = stack_set.name, stack_set.name != self._settings
        deployed = self._deployed.get(name)
        left = dict(deployed.instances) if deployed else {}
        for group in stack_set.groups:
            known = self._organization.accounts(group)
            for region in group.regions:
                accounts = sorted(known) if known is not None else _seen(group, region, left)
                for account in accounts:
                    left.pop((account, region), None)
                    yield self._target(stack_set, group, (account, region), deployed)
                if known is None:
                    yield Target(name, is_service, None, region, "not known", group)
        for account, region in sorted(left):
            is_named = self._was_named(stack_set, (account, region))
            yield Target(name, is_service, account, region, "left alone" if is_named is False else "remove")

    def _was_named(self, stack_set: RenderedStackSet, place: Place) -> bool | None:
        """Tell whether a group of the last deploy reaches the account and region now; None = not known."""
        if stack_set.name not in self._before:
            return None
        groups = [group for group in self._before[stack_set.name] if place[1] in group.regions]
        known = [self._organization.accounts(group) for group in groups]
        return None if None in known else any(place[0] in accounts for accounts in known if accounts)

    def _target(
        self, stack_set: RenderedStackSet, group: FleetGroup, place: Place, deployed: DeployedSet | None
    ) -> Target:
        named = (stack_set.name, stack_set.name != self._settings, *place)
        values = {} if stack_set.name == self._settings else self._rendered.values(group)
        if deployed is None or place not in deployed.instances:
            if deployed and self._was_named(stack_set, place):
                return Target(*named, "left alone", group)
            return Target(*named, "create", group, values)
        before = deployed.values(place)
        given = dict(stack_set.parameters) | group.parameters
        is_same = deployed.version == stack_set.version and before == given
        if is_same:  # CloudFormation skips a set without a change, even if stacks of it have failed
            action: Action = "nothing" if deployed.instances[place]["Status"] == "CURRENT" else "failed"
            return Target(*named, action, group, values)
        changes = self._changes(stack_set, deployed, before, given, place[1])
        return Target(*named, "update", group, values, changes)

    def _changes(
        self,
        stack_set: RenderedStackSet,
        deployed: DeployedSet,
        before: Mapping[str, str],
        given: Mapping[str, str],
        region: str,
    ) -> tuple[Change, ...]:
        key = (stack_set.name, region, tuple(sorted(before.items())), tuple(sorted(given.items())))
        if key not in self._classified:
            found = classify(
                deployed.template,
                stack_set.template.content,
                before_values=dict(before),
                after_values=dict(given),
                region=region,
                start_in_seconds=start_in_seconds(self._rendered.resolution.placements[0]).likely,
            )
            self._classified[key] = tuple(found)
        return self._classified[key]


def _seen(group: FleetGroup, region: str, instances: Mapping[Place, Mapping[str, str]]) -> list[str]:
    """Return the accounts of a group that have a stack in the region. Without Organizations no others are known."""
    found = [
        account
        for (account, in_region), each in instances.items()
        if in_region == region and each.get("OrganizationalUnitId") in group.organizational_units
    ]
    keeps = {"none": lambda _: True, "intersection": group.accounts.__contains__}
    keep = keeps.get(group.account_filter, lambda account: account not in group.accounts)
    return sorted(filter(keep, found))
