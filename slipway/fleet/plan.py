"""`python -m slipway fleet plan`: what a deploy of a fleet would do, before anything happens."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting.archive import ArchiveError
from llm_hosting.deployment_file import DeploymentError
from llm_hosting.deployment_paths import UnknownDeploymentError
from llm_hosting.finding import Finding
from llm_hosting.fleets.file import find_fleet, load_fleet
from llm_hosting.fleets.rules import judged
from llm_hosting.fleets.stack_sets import RenderedFleet
from llm_hosting.portable.index_file import InlineCodeError
from llm_hosting.portable.template import NotPortableError
from llm_hosting.sources import Sources
from slipway.aws_clients import Clients, clients_in
from slipway.aws_errors import sentence
from slipway.changes.gate import AcceptedChangesError, Acknowledgement, acknowledgements, judge
from slipway.changes.report import Report
from slipway.changes.template_file import TemplateError
from slipway.fleet import plan_page
from slipway.fleet.billing import Bill, bill, quota
from slipway.fleet.deployed_set import Place, call_as, deployed_set
from slipway.fleet.organization import Organization
from slipway.fleet.targets import Target, Targets
from slipway.render import in_app


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


def run(name: str, root: Path, region: str | None, *, as_json: bool) -> int:
    """Print the plan.

    region: of the stack sets; None = as boto3 finds it. Returns the exit status: 0, 1 where the fleet is refused or a
    change has to be acknowledged first, 2 for a name that can't be meant or where AWS gave no answer.
    """
    try:
        rendered, findings = _judged(find_fleet(name, root / "fleets"), root)
        plan = make_plan(rendered, findings, _acknowledged(rendered, root), clients_in(region))
    except (DeploymentError, NotPortableError, InlineCodeError, ArchiveError) as error:
        print(error, file=sys.stderr)
        return 1
    except (UnknownDeploymentError, AcceptedChangesError, TemplateError) as error:
        print(error, file=sys.stderr)
        return 2
    except (BotoCoreError, ClientError) as error:
        print(sentence(error), file=sys.stderr)
        return 2
    print(json.dumps(plan_page.content(plan), indent=2) if as_json else "\n".join(plan_page.lines(plan)))
    return 1 if plan.stops else 0


def _judged(path: Path, root: Path) -> tuple[RenderedFleet, list[Finding]]:
    fleet, deployment, resolution = load_fleet(path, root)

    def make(app: Any) -> RenderedFleet:
        from stacks.fleet_rendering import render_fleet  # the CDK takes its time to import

        return render_fleet(app, path.stem, fleet, deployment, resolution, Sources.below(root))

    rendered = in_app(root, make)
    return rendered, judged(path, rendered)


def _acknowledged(rendered: RenderedFleet, root: Path) -> list[Acknowledgement]:
    """Of the deployment: its resources have the same ids here."""
    path = root / "accepted-changes" / f"{rendered.fleet.deployment}.yaml"
    return acknowledgements(path) if path.is_file() else []


def make_plan(
    rendered: RenderedFleet, findings: list[Finding], acknowledged: list[Acknowledgement], clients: Clients
) -> Plan:
    """Raises boto3's errors where StackSets can't be asked; Organizations may refuse."""
    client, caller = clients("cloudformation"), call_as(rendered.fleet)
    organization = Organization(clients("organizations"))
    deployed = {each.name: deployed_set(each.name, client, caller) for each in rendered.stack_sets}
    targets = Targets(rendered, organization, deployed)
    updates = list(dict.fromkeys(each.changes for each in targets.all if each.changes))
    reports = [
        Report(rendered.fleet.deployment, "what runs now", list(changes), judge(list(changes), acknowledged))
        for changes in updates
    ]
    return Plan(rendered, findings, organization, targets, reports)
