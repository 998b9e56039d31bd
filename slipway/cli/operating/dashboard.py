"""`slipway dashboard`: the page of a service's dashboard in the console."""

from argparse import Namespace

from slipway.cli.arguments import OR_ENDPOINT, REGION, stack_name
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    text = "open the dashboard of a deployment, or of the account"
    verb = add_verb(verbs, "dashboard", text, run, "qwen3-4b", more="needs operations.dashboard: true")
    named = f"name of the deployment, {OR_ENDPOINT} (default: the dashboard of all deployments of the account)"
    verb.add_argument("deployment", nargs="?", type=stack_name, help=named)
    verb.add_argument("--region", help=REGION)
    verb.add_argument("--no-browser", dest="opens", action="store_false", help="print the link, and open nothing")


def run(given: Namespace) -> int:
    from slipway.operations import dashboard

    return dashboard.run(given.deployment, given.region, opens=given.opens)
