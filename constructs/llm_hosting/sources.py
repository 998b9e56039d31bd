"""The code that a deployment ships."""

import shutil
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from .archive import handler_folders
from .home import HOME


@dataclass(frozen=True)
class Sources:
    """The folders of the code.

    functions: the folder with the Lambda functions' package `inference_api`, and nothing else. models: our code beside
    a model, in its container or on its machine. handlers: folders with handlers; the first one that has a name wins.
    """

    functions: Path
    models: Path
    handlers: tuple[Path, ...]

    @classmethod
    def of(cls, project: Path) -> "Sources":
        """Return the folders for a project, whose handlers come before ours."""
        models = HOME / "model_src"
        return cls(functions=_functions(), models=models, handlers=(project / "model_src", models))

    def model_handler(self, name: str | None) -> Path | None:
        """Return the folder of the handler that `serving.handler` names; None if it names none."""
        return next((each / name for each in self.handlers if name in handler_folders(each)), None) if name else None


def handler_names(project: Path) -> tuple[str, ...]:
    """Return the names that `serving.handler` may have in a project."""
    return tuple(sorted({*handler_folders(project / "model_src"), *handler_folders(HOME / "model_src")}))


@cache
def _functions() -> Path:
    # Where pip installs packages, inference_api has neighbours. A Lambda function takes a whole folder.
    folder = Path(_kept().name)
    package = find_spec("inference_api")
    assert package
    assert package.submodule_search_locations
    source = Path(next(iter(package.submodule_search_locations)))
    shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@cache
def _kept() -> TemporaryDirectory[str]:
    """Return a folder that goes with this process."""
    return TemporaryDirectory(prefix="slipway-functions-")
