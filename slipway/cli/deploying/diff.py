"""`slipway diff`: tells what the next deploy means."""

import os
import sys
from argparse import Namespace
from pathlib import Path

from slipway.cli.arguments import FILE, REGION
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    more = "exit status 1 if a change must be acknowledged"
    text, example = "show what the next deploy changes", "qwen3-4b --against main"
    verb = add_verb(verbs, "diff", text, run, example, more=more)
    verb.add_argument("deployment", help=f"{FILE}, endpoints/NAME, or another stack of the app")
    against = "a git ref, a template file, or `stack` for the deployed stack (default HEAD)"
    verb.add_argument("--against", default="HEAD", metavar="WHAT", help=against)
    verb.add_argument("--region", help=REGION)
    accepted = "file of acknowledged changes (default: accepted-changes/<deployment>.yaml, if it exists)"
    verb.add_argument("--accepted", type=Path, metavar="FILE", help=accepted)
    python = "interpreter with the packages that the git ref pins, if they are others"
    verb.add_argument("--python", type=os.path.abspath, default=sys.executable, metavar="PATH", help=python)
    form = verb.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object")
    form.add_argument("--markdown", action="store_true", help="print a comment for a pull request")


def run(given: Namespace) -> int:
    from llm_hosting.deployment.endpoint_file import endpoint_stack
    from slipway.templates import diff

    form = "json" if given.json else "markdown" if given.markdown else "text"
    options = diff.DiffOptions(given.against, given.region, given.accepted, form, given.python)
    return diff.run(endpoint_stack(given.deployment, given.project), given.project, options)
