"""`slipway list`: the deployments of an account and region."""

from argparse import Namespace

from slipway.cli.arguments import REGION
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    verb = add_verb(verbs, "list", "list the deployments in your account and region, with their cost", run)
    verb.add_argument("--region", help=REGION)
    verb.add_argument("--json", action="store_true", help="print a JSON list")


def run(given: Namespace) -> int:
    from slipway.operations import list_deployments

    return list_deployments.run(given.region, as_json=given.json)
