"""The labels of services in their template's Metadata: synth writes them, the operator's commands read them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .installed_version import installed_version

METADATA_KEY = "Slipway"
SHARED_ENDPOINT = "shared endpoint"  # in place of a mode: a stack with an endpoint for several deployments
SERVICES = "services"  # below it: the services of a team's own stack, by name


@dataclass(frozen=True)
class StackLabel:
    """One service. model: its id on the Hub. mode: `hosting.mode`.

    A shared endpoint: its instance type as the model, SHARED_ENDPOINT as the mode.
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


@dataclass(frozen=True)
class ServiceLabel:
    """A service in a team's own stack.

    prefix: the beginning of its logical ids. outputs: the logical ids of its outputs by the names that the outputs of a
    stack of its own have.
    """

    label: StackLabel
    prefix: str
    outputs: Mapping[str, str]

    def as_metadata(self) -> dict[str, Any]:
        """The entry below the service's name."""
        return {**asdict(self.label), "prefix": self.prefix, "outputs": dict(self.outputs)}

    @classmethod
    def all_of(cls, metadata: Mapping[str, Any]) -> "dict[str, ServiceLabel]":
        """Return the services that a template's Metadata names."""
        found = metadata.get(METADATA_KEY, {}).get(SERVICES, {})
        return {
            name: cls(StackLabel(each["model"], each["mode"], each["version"]), each["prefix"], each["outputs"])
            for name, each in found.items()
        }


def versions_in(metadata: Mapping[str, Any]) -> list[str]:
    """Return the versions of Slipway that made the services of a template, from its Metadata."""
    found = metadata.get(METADATA_KEY, {})
    labels = [found, *found.get("services", {}).values()]
    return sorted({each["version"] for each in labels if each.get("version")})
