"""The labels of services in their template's Metadata: synth writes them, the operator's commands read them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .installed_version import installed_version

METADATA_KEY = "Slipway"


@dataclass(frozen=True)
class StackLabel:
    """One service. model: its id on the Hub. mode: `hosting.mode`.

    version: of the Slipway that made it; empty = not told.
    """

    model: str
    mode: str
    version: str = field(default_factory=installed_version)

    def as_metadata(self) -> dict[str, Any]:
        """A template's Metadata."""
        return {METADATA_KEY: asdict(self)}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> "StackLabel | None":
        """None = a template's Metadata holds no label."""
        found = metadata.get(METADATA_KEY, {})
        known = {"model", "mode"} <= found.keys()
        return cls(found["model"], found["mode"], found.get("version", "")) if known else None
