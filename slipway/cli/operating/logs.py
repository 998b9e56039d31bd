"""`python -m slipway logs`: the log of a deployment's containers or machines, of its functions or of its API."""

import re
from argparse import ArgumentTypeError, Namespace

from slipway.cli.arguments import add_verb_for_stack
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    text = "what containers or machines, functions or API wrote"
    verb = add_verb_for_stack(verbs, "logs", text, run, "qwen3-4b --follow")
    source = (
        "container (default: what runs the model), of machines also setup, model or worker; functions, access, or one "
        "function by its handler, such as generate"
    )
    verb.add_argument("source", nargs="?", default="container", help=source)
    verb.add_argument("--since", type=_age, default="1h", help="how far back: 30s, 15m, 2h, 7d (default 1h)")
    verb.add_argument("--all", action="store_true", help="of functions also Lambda's own lines, and metrics")
    verb.add_argument("--follow", action="store_true", help="go on until Ctrl-C")


def run(given: Namespace) -> int:
    """Run the verb. Returns the exit status."""
    from slipway.operations import logs

    options = logs.LogOptions(source=given.source, since=given.since, follow=given.follow, everything=given.all)
    return logs.run(given.deployment, given.region, options)


def _age(text: str) -> str:
    if not re.fullmatch("[0-9]{1,5}[smhd]", text):
        raise ArgumentTypeError(f"{text!r} is not an age; use 30s, 15m, 2h or 7d")
    return text
