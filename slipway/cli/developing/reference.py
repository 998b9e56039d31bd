"""`slipway reference`: writes the schemas, and the generated parts of docs/."""

from argparse import Namespace

from llm_hosting.home import HOME
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    add_verb(verbs, "reference", "write the schemas and the generated parts of docs/", run)


def run(given: Namespace) -> int:
    from slipway.reference import generated_files

    generated_files.run(HOME)
    return 0
