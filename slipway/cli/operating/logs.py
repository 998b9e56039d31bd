"""`slipway logs`: the log of a deployment's containers or machines, of its functions or of its API."""

import re
from argparse import ArgumentTypeError, Namespace

from slipway.cli.arguments import add_verb_for_stack, trace_id
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text = "show the log of containers or machines, functions or API"
    verb = add_verb_for_stack(verbs, "logs", text, run, "qwen3-4b --follow")
    source = (
        "container (the default: the log of what runs the model); functions; one function by its handler, such as "
        "generate; access (the API's access log); for machines also setup, model or worker"
    )
    verb.add_argument("source", nargs="?", help=source)
    verb.add_argument("--since", type=_age, default="1h", help="how far back: 30s, 15m, 2h, 7d (default 1h)")
    verb.add_argument("--all", action="store_true", help="also show Lambda's own lines and the functions' metrics")
    ids = verb.add_mutually_exclusive_group()
    everywhere = "in the logs of the API, of all functions and of the machines' workers"
    ids.add_argument("--request", metavar="ID", type=_id, help=f"show a request by its x-request-id, {everywhere}")
    ids.add_argument("--trace", metavar="ID", type=trace_id, help=f"show a trace by its x-trace-id, {everywhere}")
    verb.add_argument("--follow", action="store_true", help="show new lines until Ctrl-C")


def run(given: Namespace) -> int:
    from slipway.operations import logs

    holding = given.request or given.trace
    options = logs.LogOptions(given.source, given.since, given.follow, given.all, holding)
    return logs.run(given.deployment, given.region, options)


def _age(text: str) -> str:
    if not re.fullmatch("[0-9]{1,5}[smhd]", text):
        raise ArgumentTypeError(f"{text!r} is not an age; use 30s, 15m, 2h or 7d")
    return text


def _id(text: str) -> str:
    if not re.fullmatch("[A-Za-z0-9=-]{8,128}", text):
        raise ArgumentTypeError(f"{text!r} is not a request's id; use an answer's x-request-id")
    return text
