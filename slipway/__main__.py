"""Parses the command line and runs one verb, whose module is in `cli/`."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  (`python3` is older on many machines)
    sys.exit("Slipway needs Python 3.11 or newer: in a checkout run `make setup`, then `source .venv/bin/activate`.")

import argparse
import os
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

_MISSING = "This Python has no {}: activate the environment with Slipway, or make one (`make setup` in a checkout)."
if find_spec("llm_hosting") is None:
    sys.exit(_MISSING.format("slipway-aws"))

from llm_hosting.cdk_app import CdkAppError
from llm_hosting.home import HOME
from llm_hosting.installed_version import UnfitPackageError
from llm_hosting.project import ProjectError, project_folder, use_project
from slipway.cli.deploying import (
    check,
    deploy,
    destroy,
    diff,
    doctor,
    env,
    fleet,
    init,
    local,
    lock,
    render,
    snapshot,
    stage,
    verify,
)
from slipway.cli.developing import catalog, models, reference
from slipway.cli.operating import (
    bench,
    call,
    cost,
    dashboard,
    evidence,
    gateway,
    keys,
    logs,
    openapi,
    playground,
    purge,
    runbook,
    status,
    trace,
    usage,
)
from slipway.cli.operating import list as list_
from slipway.cli.parser import Parser, overview
from slipway.shared.cdk_command import cdk
from slipway.shared.output import reader_may_leave

_VERBS: dict[str, tuple[ModuleType, ...]] = {
    "Before a deploy": (init, check, lock, stage, local, env, snapshot),
    "Deploy": (doctor, diff, deploy, verify, destroy, render, fleet),
    "Run": (call, playground, openapi, gateway, list_, status, dashboard, logs, trace, runbook, cost),
    "Measure": (bench,),
    "Keys": (keys, usage),
    "Maintain": (evidence, purge),
    "Your own facts": (catalog, models),
    "Work on Slipway itself": (reference,),
}


def main() -> None:
    """Parse the command line and run its verb."""
    use_project(project_folder())
    parser = command_line()
    try:
        arguments = parser.parse_args()
        if "run" not in arguments:
            parser.print_help()
            sys.exit()
        arguments.project = project_folder(*_files(arguments))
        use_project(arguments.project)
        status = 0
        with reader_may_leave():
            status = arguments.run(arguments)
    except KeyboardInterrupt:
        sys.stdout.flush()
        print("\nstopped", file=sys.stderr, flush=True)
        os._exit(130)  # sys.exit would wait for threads that read from the network
    except (CdkAppError, UnfitPackageError) as error:
        sys.exit(str(error))
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package in ("slipway", "slipway_stacks", "llm_hosting", "inference_api", "local_cloud"):
            raise  # the missing module is our own
        sys.exit(_MISSING.format(package))
    sys.exit(status)


def _files(arguments: argparse.Namespace) -> list[str]:
    """Return the names and paths of deployment files, or of a fleet file."""
    given = vars(arguments)
    return [*given.get("deployments", ()), *filter(None, (given.get("deployment"), given.get("fleet")))]


def command_line() -> Parser:
    """Make the parser of all verbs."""
    prog = "slipway"
    parser = Parser(
        prog=prog, usage=f"{prog} [-h] [--version] VERB ...", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version, and the packages it runs with")
    parser.elsewhere = {verb: partial(cdk, f"{verb} -c deployment=NAME") for verb in ("bootstrap", "synth")}
    verbs = parser.add_subparsers(prog=prog, metavar="VERB", help=argparse.SUPPRESS)
    groups: dict[str, dict[str, str]] = {}
    for heading, modules in _VERBS.items():
        known = set(verbs.choices)
        for module in modules:
            module.add(verbs)
        groups[heading] = {name: verb.summary for name, verb in verbs.choices.items() if name not in known}
    parser.description = f"Launch language models on AWS, or on this machine.\n\n{overview(groups)}"
    parser.epilog = f"{prog} VERB -h shows the options of a verb."
    return parser


class _Version(argparse.Action):
    def __call__(self, *_: object) -> None:
        from slipway.shared import version

        print(version.described(HOME))
        sys.exit()


def run() -> None:
    """Run the command: `slipway`, or `python -m slipway`."""
    if next(Path(__file__).parents[1].glob("slipway-*.dist-info"), None):
        print(
            "Another project of the name slipway is installed here, and its files lie among ours: run `pip uninstall "
            "slipway`, then `pip install --force-reinstall --no-deps slipway-aws`.",
            file=sys.stderr,
        )
        sys.exit(2)
    try:
        main()
    except ProjectError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    run()
