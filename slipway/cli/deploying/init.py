"""`slipway init`: writes the first files of a project of the user's own."""

from argparse import ArgumentTypeError, Namespace
from pathlib import Path

from llm_hosting.project import project_folder
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    text = "write a project of your own: a deployment, its CDK app, tests and workflows"
    verb = add_verb(verbs, "init", text, run, "chat-service", more="files that exist are kept")
    verb.add_argument(
        "folder", nargs="?", type=_folder, help="folder of the project (default: this project's, else this one)"
    )


def run(given: Namespace) -> int:
    from slipway.project import init

    return init.run(given.folder or project_folder())


def _folder(text: str) -> Path:
    if not text or not text.isprintable():
        raise ArgumentTypeError(f"{text!r} is not a folder's name; give one, such as chat-service")
    return Path(text)
