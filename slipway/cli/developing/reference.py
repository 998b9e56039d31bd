"""`slipway reference`: writes the schemas, and the generated parts of docs/."""

import sys
from argparse import Namespace

from llm_hosting.home import HOME, IS_CHECKOUT
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    add_verb(verbs, "reference", "write the schemas and the generated parts of docs/", run)


def run(given: Namespace) -> int:
    """Write the files. Returns 2 outside a checkout, where they are not."""
    if not IS_CHECKOUT:
        print("`slipway reference` writes files of Slipway's own checkout; run it there.", file=sys.stderr)
        return 2
    from slipway.reference import generated_files

    generated_files.run(HOME)
    return 0
