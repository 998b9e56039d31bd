"""`hosting.mode` is compared with a name, or used as a key, in few places; elsewhere properties say what it means."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from llm_hosting.deployment.settings.hosting import Hosting
from llm_hosting.hosting.hosting_modes import HOSTING_MODES
from support.repository import ROOT

MODES = set(get_args(Hosting.model_fields["mode"].annotation))
FOLDERS = ("constructs", "stacks", "lambda_src", "local_cloud", "slipway")
# Each place, and what it derives from the mode.
PLACES = {
    "constructs/llm_hosting/deployment/settings/hosting.py": "properties of `Hosting`, for all that reads a deployment",
    "constructs/llm_hosting/service/llm_service.py": "the construct, of the table in hosting_modes.py",
    "lambda_src/inference_api/shared/settings.py": "properties of `Settings`, for all functions",
    "slipway/hosting/hosting.py": "the class for the operator's verbs: Endpoint or Machines",
    "slipway/gateway/deployed.py": "whether jobs answer a stack's calls; its deployment file is not at hand",
    "constructs/llm_hosting/playground/serve.py": "whether streams are shown; the page's function shares no code",
}


def choices(source: str) -> Iterator[int]:
    """Return the lines that compare a mode with a name or use it as a key."""
    if "mode" not in source.lower():  # skips most files, because parsing takes time
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
                if any(map(is_mode, sides)) and any(map(names_mode, sides)):
                    yield node.lineno
            case ast.Match(subject=subject) if is_mode(subject):
                yield node.lineno
            case ast.Subscript(slice=key) if is_mode(key):
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr="get"), args=[key, *_]) if is_mode(key):
                yield node.lineno


def is_mode(node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name.lower() in ("mode", "hosting_mode")
    return False


def names_mode(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Constant) and each.value in MODES for each in ast.walk(node))


def places(root: Path) -> set[str]:
    files = [path for folder in FOLDERS for path in (root / folder).rglob("*.py")]
    return {path.relative_to(root).as_posix() for path in files if any(choices(path.read_text()))}


def test_every_mode_of_a_deployment_has_its_construct() -> None:
    assert set(HOSTING_MODES) == MODES


def test_code_chooses_by_the_mode_in_these_places_only() -> None:
    assert places(ROOT) == set(PLACES)


@pytest.mark.parametrize(
    "planted",
    [
        'if deployment.hosting.mode == "ec2": pass',
        'answer = "realtime" != settings().hosting_mode',
        'if mode in ("async", "ec2"): pass',
        'backend = {"ec2": Machines}[hosting.mode]',
        'backend = BACKENDS.get(hosting.mode, "endpoint")',
        'streams = environment["HOSTING_MODE"] == "realtime"',
        'match hosting.mode:\n    case "ec2": pass',
    ],
)
def test_a_choice_by_the_mode_is_found_in_every_folder(planted: str, tmp_path: Path) -> None:
    file = tmp_path / "slipway" / "a" / "room" / "module.py"
    file.parent.mkdir(parents=True)
    file.write_text(f"{planted}\n")
    assert places(tmp_path) == {"slipway/a/room/module.py"}
