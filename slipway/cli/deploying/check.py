"""`slipway check`: will it fit, start in time and be accepted by AWS?"""

from argparse import Namespace

from slipway.cli.check_arguments import add_check_arguments, run_check
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    verb = add_verb(verbs, "check", "judge whether it fits, starts in time and is accepted by AWS", run, "qwen3-4b")
    verb.add_argument("--account", action="store_true", help="also ask AWS, as `doctor` does")
    add_check_arguments(verb)


def run(given: Namespace) -> int:
    return run_check(given, account=given.account)
