"""What a deploy of a fleet would do: targets, meaning, cost and quotas."""

from dataclasses import dataclass

from llm_hosting import FLEET_PREFIX
from llm_hosting.finding import Finding
from llm_hosting.fleets.stack_sets import RenderedFleet
from slipway.aws_clients import Clients
from slipway.changes.gate import Acknowledgement, judge
from slipway.changes.report import Report
from slipway.fleet.billing import Bill, bill, quota
from slipway.fleet.deployed_set import Place, call_as, deployed_groups, deployed_set
from slipway.fleet.organization import Organization
from slipway.fleet.targets import Target, Targets


@dataclass(frozen=True)
class Plan:
    """findings: of the rules that let the deploy go on. reports: what updates mean, one for each kind of update."""

    rendered: RenderedFleet
    findings: list[Finding]
    organization: Organization
    targets: Targets
    reports: list[Report]

    @property
    def stops(self) -> bool:
        """Something has to be acknowledged, or mended, first."""
        return bool(self.targets.reached_twice) or any(each.gate.stopping for each in self.reports)

    def report_number(self, target: Target) -> int | None:
        """Of the report on its update, from 1 on; None = no resource changes."""
        known = (number for number, each in enumerate(self.reports, 1) if each.changes == list(target.changes))
        return next(known) if target.changes else None

    def bill(self, target: Target) -> Bill:
        """After the deploy."""
        return bill(target.values, self.rendered.resolution)

    @property
    def quotas(self) -> dict[tuple[str, int], list[Place]]:
        """Name and size of each quota that an endpoint needs, with the accounts and regions."""
        found: dict[tuple[str, int], list[Place]] = {}
        for target in self.targets.all:
            wanted = quota(target.values, self.rendered.resolution)
            if wanted and target.account:
                found.setdefault((wanted.name, wanted.instances), []).append((target.account, target.region))
        return found


def make_plan(
    rendered: RenderedFleet, findings: list[Finding], acknowledged: list[Acknowledgement], clients: Clients
) -> Plan:
    """Raises boto3's errors where StackSets can't be asked; Organizations may refuse."""
    client, caller = clients("cloudformation"), call_as(rendered.fleet)
    organization = Organization(clients("organizations"), rendered.fleet.management_account)
    deployed = {each.name: deployed_set(each.name, client, caller) for each in rendered.stack_sets}
    before = deployed_groups(f"{FLEET_PREFIX}{rendered.name}", client)
    targets = Targets(rendered, organization, deployed, before)
    updates = list(dict.fromkeys(each.changes for each in targets.all if each.changes))
    reports = [
        Report(rendered.fleet.deployment, "what runs now", list(changes), judge(list(changes), acknowledged))
        for changes in updates
    ]
    return Plan(rendered, findings, organization, targets, reports)
