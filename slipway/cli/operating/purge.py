"""`slipway purge`: removes the resources that a destroyed deployment or an update left on AWS."""

from argparse import Namespace

from slipway.cli.arguments import add_verb_for_stack
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text = "remove resources that a destroy or an update left on AWS"
    verb = add_verb_for_stack(verbs, "purge", text, run, "qwen3-4b")
    verb.add_argument("--yes", action="store_true", help="remove them without asking")


def run(given: Namespace) -> int:
    from slipway.leftovers import purge

    return purge.run(given.deployment, given.region, sure=given.yes)
