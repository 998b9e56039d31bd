"""`slipway stage`: copies a model's weights and adapters from the Hub to S3."""

from argparse import Namespace
from pathlib import Path

from slipway.cli.arguments import FILE, one_name
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    text = "copy a model's weights and adapters from the Hub to S3"
    verb = add_verb(verbs, "stage", text, run, "qwen3-4b", more="to model.weights of the deployment")
    verb.add_argument("deployment", type=one_name, help=FILE)
    folder = "folder for downloads (default ~/.cache/slipway/staging)"
    verb.add_argument("--folder", type=Path, metavar="PATH", help=folder)
    adapter = "stage only this adapter of model.adapters (default: the weights, and every adapter in S3)"
    verb.add_argument("--adapter", metavar="NAME", help=adapter)
    to = "prefix to which --adapter is copied from the Hub, s3://bucket/prefix/"
    verb.add_argument("--to", metavar="PREFIX", help=to)
    verb.add_argument("--abandon", action="store_true", help="give up an unfinished staging and delete its parts in S3")


def run(given: Namespace) -> int:
    from slipway.staging import stage

    return stage.run(
        given.deployment,
        given.project,
        given.folder,
        give_up=given.abandon,
        adapter=given.adapter,
        to=given.to,
    )
