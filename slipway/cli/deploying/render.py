"""`slipway render`: writes a deployment as one template for any account and region."""

from argparse import Namespace
from pathlib import Path

from llm_hosting import ACCOUNT_SETTINGS
from slipway.cli.arguments import FILE
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    text = "write one template for any account and region"
    more = "to deploy without the CDK: by StackSets, the console or another pipeline"
    verb = add_verb(verbs, "render", text, run, "qwen3-4b", more=more)
    verb.add_argument("deployment", help=f"{FILE}, or {ACCOUNT_SETTINGS}")
    output = "folder for template, parameters and archives (default rendered/)"
    verb.add_argument("-o", "--output", type=Path, metavar="DIR", default=Path("rendered"), help=output)
    code = "put the functions' code into the template (default), or into archives for a bucket in each region"
    verb.add_argument("--code", choices=("inline", "archive"), default="inline", help=code)


def run(given: Namespace) -> int:
    from slipway.templates import render

    return render.run(given.deployment, given.project, given.output, given.code)
