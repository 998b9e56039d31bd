"""The findings of cdk-nag's packs on one stack, each with the reason for which it is accepted."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from slipway.evidence.accepted_findings import accepted
from slipway.evidence.evidence import FindingEvidence
from slipway.evidence.names import plain_rule

_CONTROLS = re.compile(r"\s*-?\s*\(Control IDs?:.*\)")


_Finding = tuple[str, tuple[str, ...], str]  # rule, constructs, reason


def findings_of(report: Mapping[str, Any], stack: str) -> tuple[FindingEvidence, ...]:
    """Return the findings of a report on a stack, each once for all packs that have it. report: what synth wrote."""
    packs: dict[_Finding, list[str]] = {}
    descriptions: dict[_Finding, str] = {}
    for pack in report["pluginReports"]:
        for finding, description in _of_pack(pack, stack):
            packs.setdefault(finding, []).append(pack["pluginName"])
            descriptions.setdefault(finding, description)
    return tuple(
        FindingEvidence(tuple(packs[finding]), finding[0], descriptions[finding], finding[1], finding[2])
        for finding in sorted(packs)
    )


def _of_pack(pack: dict[str, Any], stack: str) -> Iterator[tuple[_Finding, str]]:
    together: dict[tuple[str, str, str], set[str]] = {}
    for is_open, violations in ((True, pack["violations"]), (False, pack.get("suppressedViolations", []))):
        for violation in violations:
            places = {place for each in violation["violatingConstructs"] if (place := _place(each, stack))}
            rule = plain_rule(violation["ruleName"].removeprefix(f"{pack['pluginName']}-"))
            reason = _reason(pack["pluginName"], rule) if is_open else violation["reason"]
            if places:
                key = rule, _CONTROLS.sub("", violation["description"]).strip(), reason
                together.setdefault(key, set()).update(places)
    for (rule, description, reason), places in together.items():
        yield (rule, tuple(sorted(places)), reason), description


def _reason(pack: str, rule: str) -> str:
    row = accepted("standards").get(rule)
    return row.reason if row and pack in row.packs else ""


def _place(construct: dict[str, Any], stack: str) -> str:
    """Return the path of a construct without the stack and the parts that name nothing; "" for another stack's."""
    parts = construct["constructPath"].split("/")
    if parts[0] != stack:
        return ""
    return "/".join(part for part in parts[1:] if part not in ("Default", "Resource")) or "the stack"
