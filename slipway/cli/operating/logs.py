"""`slipway logs`: the log of a deployment's containers or machines, of its functions or of its API."""

import re
from argparse import ArgumentTypeError, Namespace

from slipway.cli.arguments import add_verb_for_stack
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text = "show the log of containers or machines, functions or API"
    verb = add_verb_for_stack(verbs, "logs", text, run, "qwen3-4b --follow")
    source = (
        "container (the default: the log of what runs the model); functions; one function by its handler, such as "
        "generate; access (the API's access log); for machines also setup, model or worker"
    )
    verb.add_argument("source", nargs="?", default="container", help=source)
    verb.add_argument("--since", type=_age, default="1h", help="how far back: 30s, 15m, 2h, 7d (default 1h)")
    verb.add_argument("--all", action="store_true", help="also show Lambda's own lines and the functions' metrics")
    verb.add_argument("--follow", action="store_true", help="show new lines until Ctrl-C")


def run(given: Namespace) -> int:
    from slipway.operations import logs

    options = logs.LogOptions(source=given.source, since=given.since, follow=given.follow, everything=given.all)
    return logs.run(given.deployment, given.region, options)


def _age(text: str) -> str:
    if not re.fullmatch("[0-9]{1,5}[smhd]", text):
        raise ArgumentTypeError(f"{text!r} is not an age; use 30s, 15m, 2h or 7d")
    return text
