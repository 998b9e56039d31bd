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
    def fleets(self) -> list[Path]:
        """The fleet files."""
        return sorted((self.folder / "fleets").glob("*.yaml"))

    @property
    def own_app(self) -> Path:
        """The program of a team's own app, with a suffix that keeps formatters and linters away."""
        return self.folder / "own_app.py.kept"

    @property
    def templates(self) -> dict[str, Template]:
        """The masked templates that the release made of these files and this app, by stack."""
        found: dict[str, Template] = json.loads(lzma.decompress((self.folder / "templates.json.xz").read_bytes()))
        return found

    @property
    def promises(self) -> dict[str, Any]:
        """The names that callers and users may rely on; support.releases.promises lists them."""
        found: dict[str, Any] = json.loads((self.folder / "promises.json").read_text())
        return found

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What deployments of the release held at a few moments; simulation.world.remains describes the members."""
        found: list[dict[str, Any]] = json.loads(lzma.decompress((self.folder / "rows.json.xz").read_bytes()))
        return found

    def keep(self, templates: dict[str, Template], promises: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        """Store the release. Templates resemble each other, and so do moments: compressed they take some 20 kB."""
        for name, content in (("templates", templates), ("rows", rows)):
            text = json.dumps(content, separators=(",", ":"), sort_keys=True)
            (self.folder / f"{name}.json.xz").write_bytes(lzma.compress(text.encode()))
        (self.folder / "promises.json").write_text(json.dumps(promises, indent=1) + "\n")


def kept_releases() -> list[Release]:
    """Return the releases from which an update may not break anything, oldest first."""
    versions = sorted(tuple(map(int, path.name.split("."))) for path in RELEASES.iterdir())
    return [Release(RELEASES / ".".join(map(str, version))) for version in versions]
