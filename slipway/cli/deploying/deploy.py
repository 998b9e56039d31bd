"""`slipway deploy`: prepares the account, deploys with the CDK CLI, and tests what was deployed."""

from argparse import Namespace

from slipway.cli.arguments import FILE, OR_ENDPOINT, REGION, TIMEOUT, seconds, several_names
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    text, more = "deploy to AWS, with all that goes before and after", "shows what it will do and its price, and asks"
    verb = add_verb(verbs, "deploy", text, run, "qwen3-4b", more=more)
    verb.add_argument(
        "deployments", type=several_names, metavar="deployment", help=f"{FILE}; several: a,b; {OR_ENDPOINT} alone"
    )
    verb.add_argument("--region", help=REGION)
    verb.add_argument("--yes", action="store_true", help="deploy without asking")
    verb.add_argument("--timeout", type=seconds, default=1800, help=TIMEOUT)


def run(given: Namespace) -> int:
    from slipway.deploying import deploy

    return deploy.run(given.deployments, given.project, given.region, sure=given.yes, timeout=given.timeout)
