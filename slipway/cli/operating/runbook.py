"""`slipway runbook`: what to do about an alarm."""

from argparse import Namespace

from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    verb = add_verb(verbs, "runbook", "show what to do about an alarm", run, "server-errors")
    told = "as the alarm's description and `status` name it; left out = the names of all"
    verb.add_argument("paragraph", nargs="?", help=told)


def run(given: Namespace) -> int:
    from slipway.operations import runbook

    return runbook.run(given.paragraph)
