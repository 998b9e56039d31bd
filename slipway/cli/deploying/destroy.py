"""`slipway destroy`: removes a deployment's stack, and looks for what still bills."""

from argparse import Namespace

from slipway.cli.arguments import add_verb_for_stack
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text = "remove the stack, and see that nothing bills any more"
    more = "shows what goes and what stays, and asks"
    verb = add_verb_for_stack(verbs, "destroy", text, run, "qwen3-4b", more=more, or_endpoint=True)
    verb.add_argument("--yes", action="store_true", help="destroy without asking")


def run(given: Namespace) -> int:
    from slipway.deploying import destroy

    return destroy.run(given.deployment, given.project, given.region, sure=given.yes)
