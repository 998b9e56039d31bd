"""Cloud assemblies: runs synth for deployments and reads its stacks, templates and assets."""

import fcntl
import hashlib
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from llm_hosting.archive import zipped
from llm_hosting.cdk_app import CdkApp, CdkAppError, cdk_app
from llm_hosting.home import HOME
from llm_hosting.project import project_folder

# What a synth reads: files and folders of the project, packages, and our code beside a model.
_OF_PROJECT = ("app.py", "cdk.json", "requirements.txt", "endpoints", "model_src", "catalog", "rules.py")
_PACKAGES = ("slipway_stacks", "llm_hosting", "inference_api", "slipway")
DEFAULT_REGION = "us-east-1"  # the region here for templates that fit every region


class SynthesisError(Exception):
    """The app refused the deployment, or can't run; the message is its standard error, or one sentence."""


@dataclass(frozen=True)
class Asset:
    """A file or folder that the template expects in the bootstrap bucket."""

    source: Path
    is_folder: bool
    object_key: str

    def read(self) -> bytes:
        """The object's bytes; a folder is zipped, the same bytes each time."""
        return zipped(self.source) if self.is_folder else self.source.read_bytes()


@dataclass(frozen=True)
class Stack:
    """One synthesized stack; `template_body` is byte for byte what synth wrote."""

    name: str
    region: str
    template_path: Path
    assets: tuple[Asset, ...]

    @property
    def template_body(self) -> str:
        """The template as text."""
        return self.template_path.read_text()

    @property
    def template(self) -> dict[str, Any]:
        """The template, parsed."""
        parsed: dict[str, Any] = json.loads(self.template_body)
        return parsed


def synthesize(deployments: list[str], output: Path | None = None) -> Path:
    """Run the app for deployments given by name or path, unless nothing it reads has changed since the last time.

    Returns the folder of the assembly. Raises SynthesisError when the app refuses.
    """
    folder = "-".join(_folder_name(name) for name in deployments)
    output = output or project_folder(*deployments) / "cdk.out" / "local" / folder
    output.mkdir(parents=True, exist_ok=True)
    with (output / "lock").open("w") as lock:  # commands and test processes may run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _synthesize(deployments, output)


def _folder_name(deployment: str) -> str:
    """`<base>-<overlay>` for an overlay: overlays of two bases may have the same name."""
    path = Path(deployment)
    return "-".join(part for part in (path.parent.name, path.stem) if part)


def _synthesize(deployments: list[str], output: Path) -> Path:
    try:
        app = cdk_app(project_folder(*deployments), {"deployment": ",".join(deployments)}, output)
        stamp, digest = output / "inputs.sha256", _digest(deployments, app.command[1:])
        if stamp.is_file() and stamp.read_text() == digest:
            return output
        for earlier in (stamp, output / "manifest.json"):  # an interrupted run must not look finished
            earlier.unlink(missing_ok=True)
        _run(app)
        app.demand_assembly()
    except CdkAppError as error:
        raise SynthesisError(str(error)) from error
    stamp.write_text(digest)
    return output


def _run(app: CdkApp) -> None:
    # In its own session: Ctrl-C is meant for us and would make the app print a traceback.
    result = subprocess.run(
        app.command,
        env=app.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    if result.returncode:
        raise SynthesisError(result.stderr.strip() or result.stdout.strip())


def read_stacks(assembly: Path) -> list[Stack]:
    """The stacks of an assembly, in the order the app made them."""
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    stacks = []
    for name, artifact in artifacts.items():
        if artifact["type"] == "aws:cloudformation:stack":
            region = artifact["environment"].rpartition("/")[2]
            template = assembly / artifact["properties"]["templateFile"]
            assets = tuple(_assets(assembly, json.loads((assembly / f"{name}.assets.json").read_text()), template))
            stacks.append(Stack(name, DEFAULT_REGION if region == "unknown-region" else region, template, assets))
    return stacks


def _assets(assembly: Path, manifest: dict[str, Any], template: Path) -> Iterator[Asset]:
    for entry in manifest["files"].values():
        source = assembly / entry["source"]["path"]
        for destination in entry["destinations"].values():
            if source != template:
                yield Asset(source, entry["source"]["packaging"] == "zip", destination["objectKey"])


def _digest(deployments: list[str], script: Sequence[str] = ()) -> str:
    """The hash of every file that the app reads. script: the words that run it."""
    project = project_folder(*deployments)
    names = [name.removeprefix("slipway-staging-") for name in deployments]
    files = [project / "deployments" / f"{name}.yaml" for name in names] + [Path(name) for name in (*names, *script)]
    files += [file.absolute().parent.parent / f"{file.absolute().parent.name}.yaml" for file in files]  # bases
    packages = [Path(str(resources.files(name))) for name in _PACKAGES]
    for path in (*(project / name for name in _OF_PROJECT), HOME / "model_src", *packages):
        files += sorted(path.rglob("*")) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(f"{file}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()
