"""`slipway lock`: writes the facts of a deployment's model into a file beside the deployment."""

from argparse import Namespace
from pathlib import Path

from slipway.cli.arguments import FILE, one_name
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    text = "write the model's facts into a lock file"
    verb = add_verb(verbs, "lock", text, run, "qwen3-4b", more="beside the deployment file, for one commit")
    verb.add_argument("deployment", type=one_name, help=FILE)
    folder = "read the model's files from this folder (default: from model.weights if it holds any, else the Hub)"
    verb.add_argument("--folder", type=Path, metavar="PATH", help=folder)


def run(given: Namespace) -> int:
    from slipway.locking import lock

    return lock.run(given.deployment, given.project, given.folder)
