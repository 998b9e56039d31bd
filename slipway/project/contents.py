"""The files of a new project: those of `template/`, and those that a release of Slipway fixes."""

import json
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from llm_hosting.home import HOME
from llm_hosting.installed_version import installed_version

FIRST_DEPLOYMENT = "deployments/chat.yaml"
FLEET_SCHEMA = "fleets/schema.json"
LOCK_OF_CDK_COMMAND = ("package-lock.json", ".npmrc")  # of our package.json, no other
ENDPOINT_SCHEMA = "endpoints/schema.json"
_SCHEMAS = ("deployments/schema.json", "deployments/overlay.schema.json", FLEET_SCHEMA, ENDPOINT_SCHEMA)
_SAME = {name: name for name in (*_SCHEMAS, "package.json", *LOCK_OF_CDK_COMMAND)}
_OF_RELEASE = _SAME | {".github/role.yaml": "examples/github/role.yaml"}  # -> its place in HOME
_SUFFIX = ".tmpl"  # keeps formatters, test runners and git from taking the templates for files of their own


def contents() -> dict[str, str]:
    """Return the text of each file by its path in the project."""
    found = dict(_templates(files("slipway.project") / "template"))
    found |= {name: (HOME / place).read_text("utf-8").replace(place, name) for name, place in _OF_RELEASE.items()}
    return dict(sorted((found | {"cdk.json": _cdk_json()}).items()))


def _templates(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, str]]:
    versions = {f"@{name}@": _tested(name) for name in ("aws-cdk-lib", "cdk-nag")}
    versions["@slipway-aws@"] = installed_version()
    for each in folder.iterdir():
        name = f"{prefix}{each.name}"
        if each.is_dir():
            yield from _templates(each, f"{name}/")
        elif name.endswith(_SUFFIX):
            text = each.read_text("utf-8")
            for mark, version in versions.items():
                text = text.replace(mark, version)
            yield name.removesuffix(_SUFFIX), text


def _tested(package: str) -> str:
    """Return the version with which this release was tested."""
    lines = (HOME / "requirements.txt").read_text().splitlines()
    return next(line.removeprefix(f"{package}==").split()[0] for line in lines if line.startswith(f"{package}=="))


def _cdk_json() -> str:
    """Return our cdk.json with its tested feature flags, but not what only `cdk watch` in our checkout needs."""
    settings = json.loads((HOME / "cdk.json").read_text())
    return json.dumps({key: value for key, value in settings.items() if key != "watch"}, indent=2) + "\n"


def foreign_schema(project: Path) -> str:
    """Return a schema file of the project that is not the installed Slipway's; empty if there is none."""
    found = (name for name in _SCHEMAS if (project / name).is_file())
    return next((name for name in found if (project / name).read_bytes() != (HOME / name).read_bytes()), "")
