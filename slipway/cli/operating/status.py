"""`slipway status`: a deployment's state, work, cost and last failure on one page."""

from argparse import Namespace

from slipway.cli.arguments import add_verb_for_stack
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text = "show state, cost, queue, jobs, alarms and last failure"
    verb = add_verb_for_stack(verbs, "status", text, run, "qwen3-4b", or_endpoint=True)
    verb.add_argument("--json", action="store_true", help="print one JSON object")


def run(given: Namespace) -> int:
    from slipway.operations import status

    return status.run(given.deployment, given.region, as_json=given.json)
