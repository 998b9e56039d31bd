"""Writes the files of a project that a folder lacks."""

import errno
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

from llm_hosting.deployment.paths import names
from llm_hosting.file_errors import why
from slipway.project.contents import ENDPOINT_SCHEMA, FIRST_DEPLOYMENT, FLEET_SCHEMA, LOCK_OF_CDK_COMMAND, contents
from slipway.shared.cdk_command import installation
from slipway.templates.snapshot import FOLDER as SNAPSHOTS


def run(folder: Path) -> int:
    """Write what the folder lacks, tell what was written and kept, and print the next commands.

    Returns the exit status: 2 if the folder can't be used, which then is as it was.
    """
    wanted = contents()
    try:
        if names(folder / "deployments"):
            del wanted[FIRST_DEPLOYMENT]
        for schema in (FLEET_SCHEMA, ENDPOINT_SCHEMA):
            if not (folder / schema).parent.is_dir():
                del wanted[schema]
        own = folder / "package.json"
        if os.path.lexists(own) and _text(own) != wanted["package.json"]:  # our lock would not fit it
            wanted = {name: text for name, text in wanted.items() if name not in LOCK_OF_CDK_COMMAND}
        written = write_missing(folder, wanted)
    except OSError as error:
        print(f"{error.filename or folder} can't be written: {why(error)}; nothing was changed.", file=sys.stderr)
        return 2
    for name in wanted:
        print(f"  {'wrote' if name in written else 'kept '}  {name}")
    if lacking := list(_lacking(folder, wanted, wanted.keys() - written)):
        print("", *lacking, sep="\n")
    print("", *_next(folder), sep="\n")
    if not (folder / SNAPSHOTS).exists():
        print("\nBefore the first commit: `slipway snapshot` writes the templates with which CI's tests compare.")
    return 0


def write_missing(folder: Path, wanted: Mapping[str, str]) -> list[str]:
    """Write each file that the folder lacks, and return their names. After any error the folder is as it was."""
    made: list[Path] = []
    written = []
    try:
        for name, text in wanted.items():
            path = folder / name
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            if os.path.lexists(path):
                continue
            for parent in reversed([each for each in path.parents if not os.path.lexists(each)]):
                parent.mkdir()
                made.append(parent)
            with path.open("x", encoding="utf-8") as file:
                made.append(path)
                file.write(text)
            written.append(name)
    except BaseException:
        for each in reversed(made):
            each.rmdir() if each.is_dir() else each.unlink()
        raise
    return written


def _lacking(folder: Path, wanted: Mapping[str, str], kept: Set[str]) -> Iterator[str]:
    """Return a line for each kept file on which the written ones rely in vain."""
    if "requirements.txt" in kept:
        text = _text(folder / "requirements.txt")
        named = {name.lower().replace("_", "-") for name in re.findall(r"^[\w-]+", text, re.MULTILINE)}
        pins = [line for line in wanted["requirements.txt"].splitlines() if not line.startswith("#")]
        if lacking := [pin for pin in pins if pin.partition("==")[0] not in named]:
            yield f"kept requirements.txt lacks {', '.join(lacking)}; add {'them' if len(lacking) > 1 else 'it'}"
    if "app.py" in kept and "slipway" not in _text(folder / "app.py"):
        yield "kept app.py makes no stack of Slipway; import create_app or LlmService from slipway"


def _text(path: Path) -> str:
    return path.read_text("utf-8", errors="replace") if path.exists() else ""  # a link may lead nowhere


def _next(folder: Path) -> list[str]:
    deployment = names(folder / "deployments")[0]
    commands = {
        f"slipway check {deployment}": "does it fit, start in time, and what does it cost?",
        f"slipway local {deployment}": "try it on this machine",
        " && ".join(filter(None, (installation(folder), f"slipway deploy {deployment}"))): "deploy it on AWS",
    }
    width = max(map(len, commands))
    lines = [f"  {command:{width}}  # {text}" for command, text in commands.items()]
    return ["Next:", *([] if folder.samefile(".") else [f"  cd {shlex.quote(str(folder))}"]), *lines]
