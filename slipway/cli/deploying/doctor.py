"""`python -m slipway doctor`: a check that also asks AWS whether account and region are ready."""

from argparse import Namespace

from slipway.cli.check_arguments import add_check_arguments, run_check
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    text, example = "check, and are account and region ready for it?", "qwen3-4b --region eu-west-1"
    add_check_arguments(add_verb(verbs, "doctor", text, run, example, more="asks AWS, changes nothing"))


def run(given: Namespace) -> int:
    """Run the verb. Returns the exit status."""
    return run_check(given, account=True)
