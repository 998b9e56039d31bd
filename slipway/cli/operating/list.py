"""`python -m slipway list`: the deployments of an account and region."""

from argparse import Namespace

from slipway.cli.arguments import REGION
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    verb = add_verb(verbs, "list", "the deployments of account and region, and what they cost now", run)
    verb.add_argument("--region", help=REGION)
    verb.add_argument("--json", action="store_true", help="a JSON list")


def run(given: Namespace) -> int:
    """Run the verb. Returns the exit status."""
    from slipway.operations import list_deployments

    return list_deployments.run(given.region, as_json=given.json)
