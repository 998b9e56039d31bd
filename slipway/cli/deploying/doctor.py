"""`slipway doctor`: a check that also asks AWS whether account and region are ready."""

from argparse import Namespace

from slipway.cli.check_arguments import add_check_arguments, run_check
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    text, example = "check, and ask AWS whether account and region are ready", "qwen3-4b --region eu-west-1"
    add_check_arguments(add_verb(verbs, "doctor", text, run, example, more="changes nothing"))


def run(given: Namespace) -> int:
    return run_check(given, account=True)
