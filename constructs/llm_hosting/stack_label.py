"""The label of a deployment's stack in its template's Metadata: synth writes it, the operator's commands read it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

METADATA_KEY = "Slipway"


@dataclass(frozen=True)
class StackLabel:
    """model: its id on the Hub. mode: `hosting.mode`."""

    model: str
    mode: str

    def as_metadata(self) -> dict[str, Any]:
        """A template's Metadata."""
        return {METADATA_KEY: asdict(self)}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> "StackLabel | None":
        """None = a template's Metadata holds no label."""
        found = metadata.get(METADATA_KEY, {})
        return cls(found["model"], found["mode"]) if {"model", "mode"} <= found.keys() else None
