"""Creates the stack of stack sets for the fleet that the CDK context names."""

import sys
from pathlib import Path

import aws_cdk as cdk

from llm_hosting import FLEET_PREFIX
from llm_hosting.archive import ArchiveError
from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.paths import UnknownDeploymentError
from llm_hosting.fleets.file import find_fleet, load_fleet
from llm_hosting.fleets.rules import judged
from llm_hosting.portable.code.index_file import InlineCodeError
from slipway_stacks.fleet_rendering import render_fleet
from slipway_stacks.fleet_stack import FleetStack


def add_fleet(app: cdk.App, root: Path) -> None:
    """Add the stack of the fleet that the context's `fleet` names, by name or path.

    root: the folder of the project. Raises SystemExit with every
    problem of the file.
    """
    if app.node.try_get_context("deployment"):
        sys.exit("-c fleet=... and -c deployment=... make different stacks; name one of the two.")
    try:
        path = find_fleet(str(app.node.try_get_context("fleet")).strip(), root / "fleets")
        rendered = render_fleet(app, path.stem, *load_fleet(path, root))
        findings = judged(path, rendered)
    except UnknownDeploymentError as error:
        sys.exit(f"{error} Name it with -c fleet=<name>.")
    except (DeploymentError, InlineCodeError, ArchiveError) as error:
        sys.exit(str(error))
    stack_sets = ", then ".join(each.name for each in rendered.stack_sets)
    print(f"{path.stem}: {rendered.deployment} by the stack sets {stack_sets}", file=sys.stderr)
    for each in findings:
        if each.level != "note":
            print(f"  {each.level:<9} {each.field}: {each.message}", file=sys.stderr)
    FleetStack(app, f"{FLEET_PREFIX}{path.stem}", rendered=rendered)
