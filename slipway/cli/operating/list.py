"""`slipway list`: the deployments of accounts and regions."""

import re
from argparse import ArgumentTypeError, Namespace

from slipway.cli.arguments import ROLE, role_name
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    text = "list your deployments with their cost and use this month"
    example = "--region us-east-1,eu-west-1 --account 111122223333,444455556666 --role slipway-reader"
    verb = add_verb(verbs, "list", text, run, example)
    region = "regions, separated by commas (default: AWS_REGION, else your profile's)"
    verb.add_argument("--region", type=_regions, default=(), help=region)
    verb.add_argument(
        "--account",
        type=_accounts,
        default=(),
        help="accounts, separated by commas (default: that of your credentials)",
    )
    verb.add_argument("--role", type=role_name, help=ROLE)
    verb.add_argument("--json", action="store_true", help="print a JSON list")


def run(given: Namespace) -> int:
    from slipway.operations import list_deployments

    return list_deployments.run(given.region, given.account, given.role, as_json=given.json)


def _regions(text: str) -> list[str]:
    return _each(text, r"[a-z]{2}(-[a-z]+)+-\d+", "regions", "us-east-1,eu-west-1")


def _accounts(text: str) -> list[str]:
    return _each(text, r"\d{12}", "accounts of twelve digits", "111122223333,444455556666")


def _each(text: str, pattern: str, what: str, example: str) -> list[str]:
    names = [each.strip() for each in text.split(",")]
    if len(set(names)) < len(names) or not all(re.fullmatch(pattern, each) for each in names):
        raise ArgumentTypeError(f"{text!r} must name {what}, each once, such as {example}")
    return names
