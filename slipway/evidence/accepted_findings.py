"""Findings of neutral scanners that our templates keep, and their reasons."""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

import yaml

Scanner = Literal["standards", "checkov", "cloudsplaining"]


@dataclass(frozen=True)
class Accepted:
    """One accepted finding.

    packs: those of cdk-nag that have the rule. closed_by: the setting with which it is gone; "" if there is none.
    """

    rule: str
    reason: str
    closed_by: str = ""
    packs: tuple[str, ...] = ()


def accepted(scanner: Scanner) -> dict[str, Accepted]:
    """Return the accepted findings of a scanner by their rule."""
    rows = _file().get(scanner) or {}
    return {
        rule: Accepted(rule, row["reason"], row.get("closed_by", ""), tuple(row.get("packs", ())))
        for rule, row in rows.items()
    }


@cache
def _file() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(
        resources.files(__package__).joinpath("accepted_findings.yaml").read_text()
    )
    return content
