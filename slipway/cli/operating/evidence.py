"""`slipway evidence`: writes what a security review asks of a deployment."""

from argparse import Namespace
from pathlib import Path

from slipway.cli.arguments import FILE
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    text = "write what a security review asks: roles, data, open doors, findings"
    verb = add_verb(
        verbs, "evidence", text, run, "qwen3-4b --output evidence.md", more="from the template; asks no account"
    )
    verb.add_argument("deployment", help=f"{FILE}, endpoints/NAME, or another stack of the app")
    verb.add_argument("--template", type=Path, metavar="FILE", help="read this rendered template instead of a synth")
    verb.add_argument("--output", type=Path, metavar="FILE", help="write to this file (default: print)")
    verb.add_argument("--json", action="store_true", help="write one JSON object instead of a page of Markdown")


def run(given: Namespace) -> int:
    from llm_hosting.deployment.endpoint_file import endpoint_stack
    from slipway.evidence.run import run

    name = endpoint_stack(given.deployment, given.project)
    return run(name, given.project, template=given.template, as_json=given.json, output=given.output)
