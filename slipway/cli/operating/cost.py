"""`slipway cost`: estimates what a deployment has cost in a month, and what other ways to be idle would have cost."""

from argparse import Namespace

from llm_hosting.project import project_folder
from slipway.cli.arguments import MONTH, add_verb_for_stack, month, usd_amount
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text = "estimate what a month has cost: hours, requests, storage; by key and model; against the budget"
    verb = add_verb_for_stack(verbs, "cost", text, run, "qwen3-4b --month 2026-11", or_endpoint=True)
    verb.add_argument("--month", type=month, metavar="YYYY-MM", help=MONTH)
    usd = "the month's cost from your bill, to be compared and shared out (default: the estimate is shared out)"
    bills = verb.add_mutually_exclusive_group()
    bills.add_argument("--usd", type=usd_amount, metavar="AMOUNT", help=usd)
    bill = "ask Cost Explorer for the month's cost by tag, which costs 0.01 USD, and share that out"
    bills.add_argument("--bill", action="store_true", help=bill)
    verb.add_argument("--json", action="store_true", help="print one JSON object")


def run(given: Namespace) -> int:
    from slipway.operations import cost

    return cost.run(
        given.deployment,
        given.month,
        given.region,
        project_folder(),
        usd=given.usd,
        asks_bill=given.bill,
        as_json=given.json,
    )
