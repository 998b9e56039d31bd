"""The evidence of one template, as data: what a page or a JSON document shows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Permission:
    """Actions that are allowed, or denied, on one resource under one condition.

    why: "" for a permission that is not Slipway's own.
    """

    effect: str
    actions: tuple[str, ...]
    resource: str
    condition: str
    why: str


@dataclass(frozen=True)
class RoleEvidence:
    """A role. used_by: the resources that act as it. boundary: its permissions boundary; "" if it has none."""

    name: str
    title: str
    used_by: tuple[str, ...]
    assumed_by: tuple[str, ...]
    boundary: str
    managed_policies: tuple[str, ...]
    permissions: tuple[Permission, ...]


@dataclass(frozen=True)
class DataEvidence:
    """A resource that holds data, if only for a moment."""

    name: str
    kind: str
    holds: str
    encryption: str
    network: str
    retention: str
    removal: str


@dataclass(frozen=True)
class Door:
    """A way in or out. kind: such as "route"."""

    kind: str
    where: str
    sentence: str


@dataclass(frozen=True)
class FindingEvidence:
    """A finding of cdk-nag. packs: that have the rule. reason: "" for a finding that nobody has accepted."""

    packs: tuple[str, ...]
    rule: str
    description: str
    where: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Evidence:
    """Everything that one template shows.

    findings: None if no synth was judged, because the template came from a file. other: types of resources that hold
    no data; unknown: those that this release does not describe.
    """

    name: str
    region: str
    version: str
    roles: tuple[RoleEvidence, ...]
    data: tuple[DataEvidence, ...]
    ways_in: tuple[Door, ...]
    ways_out: tuple[Door, ...]
    findings: tuple[FindingEvidence, ...] | None
    other: dict[str, int]
    unknown: tuple[str, ...]
