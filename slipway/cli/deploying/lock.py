"""`python -m slipway lock`: writes the facts of a deployment's model into a file beside the deployment."""

from argparse import Namespace
from pathlib import Path

from slipway.cli.arguments import FILE, one_name
from slipway.cli.parser import Verbs, add_verb
from slipway.shared.checkout import ROOT


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    text = "write the model's facts into a lock file"
    verb = add_verb(verbs, "lock", text, run, "qwen3-4b", more="at one commit, beside the deployment")
    verb.add_argument("deployment", type=one_name, help=FILE)
    folder = "folder with the model's files (default: model.weights if it holds any, else the Hub)"
    verb.add_argument("--folder", type=Path, metavar="PATH", help=folder)


def run(given: Namespace) -> int:
    """Run the verb. Returns the exit status."""
    from slipway.locking import lock

    return lock.run(given.deployment, ROOT, given.folder)
