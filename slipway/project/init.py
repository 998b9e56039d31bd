"""Writes the files of a project that a folder lacks."""

import errno
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from llm_hosting.deployment.paths import names
from llm_hosting.file_errors import why
from slipway.project.contents import FIRST_DEPLOYMENT, FLEET_SCHEMA, contents
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
        if not (folder / "fleets").is_dir():
            del wanted[FLEET_SCHEMA]
        written = write_missing(folder, wanted)
    except OSError as error:
        print(f"{error.filename or folder} can't be written: {why(error)}; nothing was changed.", file=sys.stderr)
        return 2
    for name in wanted:
        print(f"  {'wrote' if name in written else 'kept '}  {name}")
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
