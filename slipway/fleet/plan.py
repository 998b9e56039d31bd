"""Plans a deploy of a fleet: targets, meaning of the updates, cost and quotas."""

from dataclasses import dataclass

from llm_hosting import FLEET_PREFIX
from llm_hosting.deployment.finding import Finding
from llm_hosting.fleets.stack_sets import RenderedFleet
from slipway.changes.gate import Acknowledgement, judge
from slipway.changes.report import ChangeReport
from slipway.fleet.billing import NOTHING, Bill, bill, quota, runs_endpoint
from slipway.fleet.deployed_set import Place, call_as, deployed_properties, deployed_set
from slipway.fleet.organization import Organization
from slipway.fleet.targets import Target, Targets
from slipway.shared.aws_clients import Clients


@dataclass(frozen=True)
class FleetPlan:
    """A deploy of a fleet.

    findings: of rules that do not stop the synth, and of the account. reports: one for each kind of update.
    accepted: stack sets whose loss of stacks is acknowledged. remade: stack sets whose permission model differs,
    which an update can't change.
    """

    rendered: RenderedFleet
    findings: list[Finding]
    organization: Organization
    targets: Targets
    reports: list[ChangeReport]
    accepted: frozenset[str]
    remade: list[str]

    @property
    def stops(self) -> bool:
        """Whether something must be acknowledged or repaired first."""
        wrong = any(each.level == "error" for each in self.findings)
        refused = wrong or self.targets.reached_twice or self.remade or self.removed
        return bool(refused) or any(each.gate.stopping for each in self.reports)

    @property
    def removed(self) -> dict[str, list[Place]]:
        """Services that the deploy deletes without an acknowledgement, by stack set."""
        found: dict[str, list[Place]] = {}
        for each in self.targets.all:
            if each.action == "remove" and each.is_service and each.stack_set not in self.accepted and each.account:
                found.setdefault(each.stack_set, []).append((each.account, each.region))
        return found

    def report_number(self, target: Target) -> int | None:
        """The number, counted from 1, of the report on the target's update; None = no resource changes."""
        known = (number for number, each in enumerate(self.reports, 1) if each.changes == list(target.changes))
        return next(known) if target.changes else None

    def bill(self, target: Target, *, endpoints_on: bool = False) -> Bill:
        """The cost after the deploy. endpoints_on: as if `DeployEndpoint` were true everywhere."""
        if not target.values or not (endpoints_on or runs_endpoint(target.values)):
            return NOTHING
        return bill(target.values, self.rendered.resolution)

    @property
    def quotas(self) -> dict[tuple[str, int, bool], list[Place]]:
        """The accounts and regions for each quota: its name, its size, and whether their endpoint is on."""
        found: dict[tuple[str, int, bool], list[Place]] = {}
        for target in self.targets.all:
            if target.values and target.account:
                wanted = quota(target.values, self.rendered.resolution)
                key = (wanted.name, wanted.instances, runs_endpoint(target.values))
                found.setdefault(key, []).append((target.account, target.region))
        return found


def make_plan(
    rendered: RenderedFleet, findings: list[Finding], acknowledged: list[Acknowledgement], clients: Clients
) -> FleetPlan:
    """Make the plan. Raises boto3's errors if StackSets can't be asked. Organizations may refuse to answer."""
    client, caller = clients("cloudformation"), call_as(rendered.fleet)
    organization = Organization(clients("organizations"), rendered.fleet.management_account)
    before = deployed_properties(f"{FLEET_PREFIX}{rendered.name}", client)
    names = dict.fromkeys([*(each.name for each in rendered.stack_sets), *before])
    deployed = {name: deployed_set(name, client, caller) for name in names}
    targets = Targets(rendered, organization, deployed, {name: each.groups for name, each in before.items()})
    accepted = frozenset(each.resource for each in acknowledged if each.kind == "removed" and each.resource in names)
    of_resources = [each for each in acknowledged if each.resource not in names]
    updates = list(dict.fromkeys(each.changes for each in targets.all if each.changes))
    reports = [
        ChangeReport(rendered.fleet.deployment, "what runs now", list(changes), judge(list(changes), of_resources))
        for changes in updates
    ]
    remade = [name for name, each in before.items() if each.permission_model != rendered.fleet.permission_model]
    return FleetPlan(rendered, findings, organization, targets, reports, accepted, remade)
