"""`slipway keys`: lists, creates, rotates and revokes the named keys of an API."""

from argparse import Namespace

from slipway.cli.arguments import REGION, stack_name
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    text = "list, create, rotate or revoke named keys of an API (api.keys)"
    verb = add_verb(verbs, "keys", text, run, "create qwen3-4b alice")
    verb.add_argument("action", choices=("list", "create", "rotate", "revoke"), help="what to do")
    verb.add_argument("deployment", type=stack_name, help="name of the deployment")
    key = "name of the key (`list` shows all without it); to revoke one of two values, its id or the id's beginning"
    verb.add_argument("key", nargs="?", help=key)
    verb.add_argument("--region", help=REGION)
    verb.add_argument("--json", action="store_true", help="print JSON")


def run(given: Namespace) -> int:
    from slipway.operations import key_values

    return key_values.run(given.action, given.deployment, given.key, given.region, as_json=given.json)
