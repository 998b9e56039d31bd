"""`python -m slipway verify`: tells whether a deploy or update did what it says."""

from argparse import Namespace

from slipway.cli.arguments import TIMEOUT, add_verb_for_stack, seconds
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    text, more = "did a deploy or update do what it says?", "looks, calls the model, runs a job; exit status 1 if not"
    verb = add_verb_for_stack(verbs, "verify", text, run, "qwen3-4b", more=more)
    verb.add_argument("--timeout", type=seconds, default=1800, help=TIMEOUT)
    verb.add_argument("--json", action="store_true", help="one JSON object")


def run(given: Namespace) -> int:
    """Run the verb. Returns the exit status."""
    from slipway.operations import verify

    return verify.run(given.deployment, given.region, timeout=given.timeout, as_json=given.json)
