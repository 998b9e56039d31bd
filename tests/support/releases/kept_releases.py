"""The releases that are kept in tests/releases: what their stacks are made of, hold, and promise to callers."""

import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.repository import ROOT
from support.templates.template_parts import Template

RELEASES = ROOT / "tests" / "releases"


@dataclass(frozen=True)
class Release:
    """A kept release; its folder is named after its version."""

    folder: Path

    @property
    def version(self) -> str:
        return self.folder.name

    @property
    def deployments(self) -> list[Path]:
        """The deployment files."""
        return sorted((self.folder / "deployments").glob("*.yaml"))

    @property
    def staged(self) -> list[Path]:
        """The deployment files whose weights a build project stages."""
        return [path for path in self.deployments if "hub_token_secret_arn" in path.read_text()]

    @property
    def fleets(self) -> list[Path]:
        """The fleet files."""
        return sorted((self.folder / "fleets").glob("*.yaml"))

    @property
    def templates(self) -> dict[str, Template]:
        """The masked templates that the release made of these files, by stack."""
        found: dict[str, Template] = json.loads(lzma.decompress(self._templates.read_bytes()))
        return found

    @property
    def promises(self) -> dict[str, Any]:
        """The names that callers and users may rely on; support.releases.promises lists them."""
        found: dict[str, Any] = json.loads((self.folder / "promises.json").read_text())
        return found

    def keep_templates(self, templates: dict[str, Template]) -> None:
        """Store the templates. All of them together take 20 kB, because they resemble each other."""
        self._templates.write_bytes(lzma.compress(json.dumps(templates, separators=(",", ":")).encode()))

    @property
    def _templates(self) -> Path:
        return self.folder / "templates.json.xz"


def kept_releases() -> list[Release]:
    """Return the releases from which an update may not break anything, oldest first."""
    versions = sorted(tuple(map(int, path.name.split("."))) for path in RELEASES.iterdir())
    return [Release(RELEASES / ".".join(map(str, version))) for version in versions]
