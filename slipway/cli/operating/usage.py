"""`slipway usage`: shows what each key of an API used in a month, and its share of the cost."""

from argparse import Namespace

from slipway.cli.arguments import MONTH, add_verb_for_stack, month, usd_amount
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text = "show requests, tokens, errors and cost of each key in a month"
    verb = add_verb_for_stack(verbs, "usage", text, run, "qwen3-4b --month 2026-11")
    verb.add_argument("--month", type=month, metavar="YYYY-MM", help=MONTH)
    usd = "the month's cost from your bill, to be shared out among the keys (default: an estimate)"
    verb.add_argument("--usd", type=usd_amount, metavar="AMOUNT", help=usd)
    verb.add_argument("--json", action="store_true", help="print one JSON object")


def run(given: Namespace) -> int:
    from slipway.operations import usage

    return usage.run(given.deployment, given.month, given.region, given.usd, as_json=given.json)
