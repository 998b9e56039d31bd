"""`python -m slipway keys`: lists, creates, rotates and revokes the named keys of an API."""

from argparse import Namespace

from slipway.cli.arguments import REGION, stack_name
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    text = "list, create, rotate or revoke named keys of an API (api.keys)"
    verb = add_verb(verbs, "keys", text, run, "create qwen3-4b alice")
    verb.add_argument("action", choices=("list", "create", "rotate", "revoke"))
    verb.add_argument("deployment", type=stack_name, help="name of the deployment")
    key = "name of a key; to revoke one of two values, its id or the beginning of its id"
    verb.add_argument("key", nargs="?", help=key)
    verb.add_argument("--region", help=REGION)
    verb.add_argument("--json", action="store_true", help="JSON")


def run(given: Namespace) -> int:
    """Run the verb. Returns the exit status."""
    from slipway.operations import key_values

    return key_values.run(given.action, given.deployment, given.key, given.region, as_json=given.json)
