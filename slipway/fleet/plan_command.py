"""Prints what a deploy of a fleet would do, before anything happens."""

import json
import sys
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting.archive import ArchiveError
from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.paths import UnknownDeploymentError
from llm_hosting.fleets.file import find_fleet, load_fleet
from llm_hosting.fleets.fleet import Fleet
from llm_hosting.fleets.rules import judged
from llm_hosting.fleets.stack_sets import RenderedFleet
from llm_hosting.portable.code.index_file import InlineCodeError
from llm_hosting.resolution import Resolution
from slipway.changes.gate import AcceptedChangesError, Acknowledgement, acknowledgements
from slipway.changes.template.reading import NoTemplateError
from slipway.fleet import plan_page
from slipway.fleet.administration_role import role_findings
from slipway.fleet.plan import make_plan
from slipway.shared.aws_clients import clients_in
from slipway.shared.aws_errors import sentence
from slipway.templates.app import in_app


def run(name: str, root: Path, region: str | None, *, as_json: bool) -> int:
    """Print the plan.

    region: of the stack sets; None = boto3's default. Returns the exit status: 0; 1 if the fleet is refused or a
    change must be acknowledged first; 2 for an unknown name or if AWS gave no answer.
    """
    try:
        path, clients = find_fleet(name, root / "fleets"), clients_in(region)
        read = load_fleet(path, root)
        clients("sts").get_caller_identity()  # before the synth, which takes its time
        rendered = _rendered(path, root, read)
        findings = [*judged(path, rendered), *role_findings(rendered.fleet, clients("iam"))]
        plan = make_plan(rendered, findings, _acknowledged(rendered, root), clients)
    except (DeploymentError, InlineCodeError, ArchiveError) as error:
        print(error, file=sys.stderr)
        return 1
    except (UnknownDeploymentError, AcceptedChangesError, NoTemplateError) as error:
        print(error, file=sys.stderr)
        return 2
    except (BotoCoreError, ClientError) as error:
        print(sentence(error), file=sys.stderr)
        return 2
    print(json.dumps(plan_page.content(plan), indent=2) if as_json else "\n".join(plan_page.lines(plan)))
    return 1 if plan.stops else 0


def _rendered(path: Path, root: Path, read: tuple[Fleet, str, Resolution]) -> RenderedFleet:
    fleet, deployment, resolution = read

    def make(app: Any) -> RenderedFleet:
        from slipway_stacks.fleet_rendering import render_fleet  # the CDK takes its time to import

        return render_fleet(app, path.stem, fleet, deployment, resolution)

    return in_app(root, make)


def _acknowledged(rendered: RenderedFleet, root: Path) -> list[Acknowledgement]:
    """The acknowledgements of the deployment, whose resources have the same ids in the fleet's template."""
    path = root / "accepted-changes" / f"{rendered.fleet.deployment}.yaml"
    return acknowledgements(path) if path.is_file() else []
