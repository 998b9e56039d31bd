"""`slipway models`: writes the facts of lock files into the catalog."""

from argparse import Namespace
from pathlib import Path

from llm_hosting.project import project_folder
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    text = "write the facts of lock files into the catalog"
    verb = add_verb(verbs, "models", text, run, "deployments/qwen3-4b.lock.json")
    verb.add_argument("locks", nargs="+", type=Path, metavar="lock", help="file that `lock` has written")


def run(given: Namespace) -> int:
    from slipway.reference import catalog_rows

    return catalog_rows.run(given.locks, catalog_rows.catalog_of(project_folder()))
