"""The gate: the changes that stop a pipeline, and the file that acknowledges them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llm_hosting.deployment import yaml_file
from llm_hosting.deployment.nearest import nearest
from slipway.changes.change import KINDS, Change

_KEYS = ("resource", "kind", "reason")
_SHORTEST_REASON = 10


class AcceptedChangesError(Exception):
    """The file of acknowledgements is faulty; the message is one sentence."""


@dataclass(frozen=True)
class Acknowledgement:
    """One accepted change. resource: a logical id. kind: a key of KINDS. reason: at least 10 characters."""

    resource: str
    kind: str
    reason: str

    def covers(self, change: Change) -> bool:
        """Whether the entry acknowledges the change."""
        return (self.resource, self.kind) == (change.logical_id, change.kind)


@dataclass(frozen=True)
class Gate:
    """The verdict on an update.

    stopping: changes that must be acknowledged. reasons: of the acknowledged changes. stale: entries without a change.
    """

    stopping: list[Change]
    reasons: dict[Change, str]
    stale: list[Acknowledgement]


def judge(changes: list[Change], acknowledged: list[Acknowledgement]) -> Gate:
    """Judge an update: each gated change stops it unless it is acknowledged."""
    reasons = {change: each.reason for change in changes for each in acknowledged if each.covers(change)}
    return Gate(
        stopping=[change for change in changes if change.gated and change not in reasons],
        reasons=reasons,
        stale=[each for each in acknowledged if not any(each.covers(change) for change in changes)],
    )


def acknowledgements(path: Path) -> list[Acknowledgement]:
    """Read the entries of a YAML file, a list of `{resource, kind, reason}`. Raises AcceptedChangesError."""
    content, problems = yaml_file.read(path, ("reason",))
    if problems:
        raise AcceptedChangesError(f"{path} {problems[0].message}")
    if not isinstance(content, list | None):
        raise AcceptedChangesError(f"{path} must be a list of {{resource, kind, reason}}.")
    return [_read(entry, f"{path}: entry {number}") for number, entry in enumerate(content or [], 1)]


def _read(entry: Any, where: str) -> Acknowledgement:
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in _KEYS):
        raise AcceptedChangesError(f"{where} needs the texts resource, kind and reason.")
    if unknown := [str(key) for key in entry if key not in _KEYS]:
        raise AcceptedChangesError(f"{where} has the unknown key {unknown[0]!r}; use resource, kind and reason.")
    if entry["kind"] not in KINDS:
        meant = nearest(entry["kind"], list(KINDS))
        raise AcceptedChangesError(f"{where}: kind {entry['kind']!r} is unknown; did you mean {meant}?")
    if len(entry["reason"].strip()) < _SHORTEST_REASON:
        raise AcceptedChangesError(
            f"{where}: the reason {entry['reason']!r} has fewer than {_SHORTEST_REASON} characters."
        )
    return Acknowledgement(**entry)
