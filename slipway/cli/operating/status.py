"""`slipway status`: a deployment's state, work, cost and last failure on one page."""

from argparse import Namespace

from slipway.cli.arguments import add_verb_for_stack, seconds
from slipway.cli.parser import Verbs

_INTERVAL = 30  # seconds, in which most metrics change at most once


def add(verbs: Verbs) -> None:
    text = "show state, cost, queue, jobs, alarms and last failure"
    verb = add_verb_for_stack(verbs, "status", text, run, "qwen3-4b", or_endpoint=True)
    verb.add_argument("--watch", action="store_true", help="show it live until Ctrl-C, with load, cost and callers")
    verb.add_argument("--interval", type=seconds, help="with --watch: seconds between two looks (default 30)")
    verb.add_argument("--json", action="store_true", help="print one JSON object; with --watch one in each line")


def run(given: Namespace) -> int:
    if given.watch:
        from slipway.watch import watch

        return watch.run(given.deployment, given.region, given.interval or _INTERVAL, as_json=given.json)
    if given.interval:
        given.parser.error("--interval needs --watch")
    from slipway.operations import status

    return status.run(given.deployment, given.region, as_json=given.json)
