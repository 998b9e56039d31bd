"""`slipway fleet`: plans a deploy to many accounts and regions, and shows what runs where."""

from argparse import Namespace

from slipway.cli.arguments import ROLE, role_name
from slipway.cli.parser import Parser, Verbs, add_verb


def add(verbs: Verbs) -> None:
    """Add `fleet plan` and `fleet status` with their arguments."""
    text = "plan a deploy to many accounts and regions, see what runs where"
    fleet = verbs.add_parser("fleet", description=text)
    fleet.summary = text
    own = fleet.add_subparsers(required=True, metavar="{plan,status}")
    text = "show what a deploy would do in each account and region; exit status 1 if a change must be acknowledged"
    _add_arguments(add_verb(own, "plan", text, run_plan))
    text = "show what runs in each account and region, what failed, and cost and use; exit status 1 after a failure"
    status = _add_arguments(add_verb(own, "status", text, run_status))
    status.add_argument("--role", type=role_name, help=ROLE)


def _add_arguments(verb: Parser) -> Parser:
    verb.add_argument("fleet", help="name or path of a fleet file")
    verb.add_argument("--region", help="region of the stack sets (default: AWS_REGION, else your profile's)")
    verb.add_argument("--json", action="store_true", help="print one JSON object")
    return verb


def run_plan(given: Namespace) -> int:
    from slipway.fleet import plan_command

    return plan_command.run(given.fleet, given.project, given.region, as_json=given.json)


def run_status(given: Namespace) -> int:
    from slipway.fleet import status

    return status.run(given.fleet, given.project, given.region, given.role, as_json=given.json)
