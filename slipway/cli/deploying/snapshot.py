"""`slipway snapshot`: accepts the templates of a project, which its tests compare from then on."""

from argparse import Namespace

from slipway.cli.arguments import FILE
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    text = "accept changed templates, and show what the changes mean"
    verb = add_verb(verbs, "snapshot", text, run, more="they are kept in tests/snapshots/, for the tests of a project")
    verb.add_argument(
        "deployments",
        nargs="*",
        metavar="deployment",
        help=f"{FILE}, or another stack of the app (default: all deployments)",
    )


def run(given: Namespace) -> int:
    from slipway.templates import snapshot

    return snapshot.run(given.deployments, given.project)
