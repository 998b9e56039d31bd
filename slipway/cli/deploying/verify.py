"""`slipway verify`: tells whether a deploy or update did what it says."""

from argparse import Namespace

from slipway.cli.arguments import TIMEOUT, add_verb_for_stack, seconds
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text, more = "test that a deploy or update worked", "calls the model and runs a job; exit status 1 if a test fails"
    verb = add_verb_for_stack(verbs, "verify", text, run, "qwen3-4b", more=more, or_endpoint=True)
    verb.add_argument("--timeout", type=seconds, default=1800, help=TIMEOUT)
    verb.add_argument("--json", action="store_true", help="print one JSON object")


def run(given: Namespace) -> int:
    from slipway.operations import verify

    return verify.run(given.deployment, given.region, timeout=given.timeout, as_json=given.json)
