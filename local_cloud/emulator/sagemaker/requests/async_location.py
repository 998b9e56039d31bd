"""The location of an asynchronous output; tests choose how its parts are joined, which AWS does not document."""

from collections.abc import Callable
from typing import Any

from local_cloud.emulator.core import ministack

PATH = "/_slipway/output-composition"

Compose = Callable[[str, str, str], str]  # the configured path, the extension and the name, unchanged


def _in_a_folder(path: str, extension: str, name: str) -> str:
    return "/".join(part.strip("/") for part in (path, extension, name) if part)


def _without_slashes(path: str, extension: str, name: str) -> str:
    return f"{path}{extension}{name}"


def _behind_the_name(path: str, extension: str, name: str) -> str:
    return "/".join(part.strip("/") for part in (path, name, extension) if part)


_COMPOSITIONS: dict[str, Compose] = {
    "folder": _in_a_folder,
    "no slashes": _without_slashes,
    "behind the name": _behind_the_name,
}
_chosen = "folder"


def output_location(path: str, extension: str, name: str) -> str:
    return _COMPOSITIONS[_chosen](path, extension, name)


def _choose(request: Any) -> dict[str, str]:
    global _chosen
    if request not in _COMPOSITIONS:
        raise ValueError(f"The composition is one of {', '.join(_COMPOSITIONS)}.")
    _chosen = request
    return {"composition": _chosen}


def install() -> None:
    ministack.register_command("POST", PATH, _choose)
