"""`python -m slipway stage`: copies a model's weights from the Hub to S3."""

from argparse import Namespace
from pathlib import Path

from slipway.cli.arguments import FILE, one_name
from slipway.cli.parser import Verbs, add_verb
from slipway.shared.checkout import ROOT


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    text = "copy a model's weights from the Hub to S3"
    verb = add_verb(verbs, "stage", text, run, "qwen3-4b", more="where a deployment reads them")
    verb.add_argument("deployment", type=one_name, help=FILE)
    verb.add_argument("--folder", type=Path, help="for files on their way (default ~/.cache/slipway/staging)")
    verb.add_argument("--abandon", action="store_true", help="give up an unfinished staging, and remove its parts")


def run(given: Namespace) -> int:
    """Run the verb. Returns the exit status."""
    from slipway.staging import stage

    return stage.run(given.deployment, ROOT, given.folder, give_up=given.abandon)
