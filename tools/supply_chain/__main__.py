"""Writes the bills of materials and the table of licences, and asks for known faults of packages."""

import argparse
import sys
from pathlib import Path

from .audit import audit
from .licences import LicenceError, write_table
from .sbom import write_bills


def main() -> int:
    """Run one of the three. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.supply_chain", description=(__doc__ or "").strip())
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("sbom").add_argument("folder", type=Path)
    verbs.add_parser("licences")
    verbs.add_parser("audit")
    given = parser.parse_args()
    if given.verb == "audit":
        return audit()
    try:
        write_bills(given.folder) if given.verb == "sbom" else write_table()
    except LicenceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
