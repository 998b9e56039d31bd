"""`slipway usage`: shows what each key of an API used in a month, and its share of the cost."""

from argparse import ArgumentTypeError, Namespace
from datetime import UTC, datetime

from slipway.cli.arguments import add_verb_for_stack
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text = "show requests, tokens, errors and cost of each key in a month"
    verb = add_verb_for_stack(verbs, "usage", text, run, "qwen3-4b --month 2026-11")
    verb.add_argument("--month", type=_month, metavar="YYYY-MM", help="month in UTC (default: this month)")
    usd = "the month's cost from your bill, to be shared out among the keys (default: an estimate)"
    verb.add_argument("--usd", type=_usd, metavar="AMOUNT", help=usd)
    verb.add_argument("--json", action="store_true", help="print one JSON object")


def run(given: Namespace) -> int:
    from slipway.operations import usage

    return usage.run(given.deployment, given.month, given.region, given.usd, as_json=given.json)


def _month(text: str) -> datetime:
    try:
        month = datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a month; write it as 2026-11") from None
    if month > datetime.now(UTC):
        raise ArgumentTypeError(f"{text} has not begun")
    return month


def _usd(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1
    if not 0 <= amount < 1e9:
        raise ArgumentTypeError(f"{text!r} is not an amount in USD; write it as 812.40")
    return amount
