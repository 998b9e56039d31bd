"""`python -m slipway render`: writes a deployment as one template for any account and region."""

from argparse import Namespace
from pathlib import Path

from llm_hosting import ACCOUNT_SETTINGS
from slipway.cli.arguments import FILE
from slipway.cli.parser import Verbs, add_verb
from slipway.shared.checkout import ROOT


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    text = "one template for any account and region, without the CDK"
    verb = add_verb(verbs, "render", text, run, "qwen3-4b", more="for StackSets, consoles, other pipelines")
    verb.add_argument("deployment", help=f"{FILE}, or {ACCOUNT_SETTINGS}")
    output = "folder for template, parameters and archives (default rendered/)"
    verb.add_argument("-o", "--output", type=Path, metavar="DIR", default=Path("rendered"), help=output)
    code = "the functions' code: as text in the template (default), or as archives in a bucket of each region"
    verb.add_argument("--code", choices=("inline", "archive"), default="inline", help=code)


def run(given: Namespace) -> int:
    """Run the verb. Returns the exit status."""
    from slipway.templates import render

    return render.run(given.deployment, ROOT, given.output, given.code)
