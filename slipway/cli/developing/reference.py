"""`python -m slipway reference`: writes the schemas, and the generated parts of docs/."""

from argparse import Namespace

from slipway.cli.parser import Verbs, add_verb
from slipway.shared.checkout import ROOT


def add(verbs: Verbs) -> None:
    add_verb(verbs, "reference", "write the schemas and the generated parts of docs/", run)


def run(given: Namespace) -> int:
    from slipway.reference import generated_files

    generated_files.run(ROOT)
    return 0
