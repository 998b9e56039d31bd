"""Prints changes as text, as JSON, and as a comment on a pull request."""

from collections import Counter
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from slipway.changes.change import KINDS, RENAMED, Change
from slipway.changes.gate import Gate

_COUNTED = ("added", "nothing")
_MOST_CAUSES = 3
_LONGEST_COMMENT = 60_000  # GitHub takes 65,536 characters; the rest is for other deployments' headings


@dataclass(frozen=True)
class ChangeReport:
    """The changes of a deployment. against: the other side, in words. accepted: the file of acknowledgements."""

    name: str
    against: str
    changes: list[Change]
    gate: Gate
    accepted: str = ""

    @property
    def verdict(self) -> str:
        """The verdict in one line."""
        if not self.changes:
            return "nothing changes"
        if self.gate.stopping:
            number = len({(each.logical_id, each.kind) for each in self.gate.stopping})
            return f"{number} change{'s' if number > 1 else ''} must be acknowledged"
        return "no change needs an acknowledgement"


def page(report: ChangeReport) -> str:
    """The report for a terminal: worst first; quiet changes are only counted."""
    lines = [f"{report.name} against {report.against}: {report.verdict}"]
    kind = ""
    for entry in _told(report):
        if entry[0].kind != kind:
            kind = entry[0].kind
            lines += ["", f"{kind}: {KINDS[kind]}"]
        sign = "!" if entry[0] in report.gate.stopping else "-"
        lines.append(f"  {sign} {entry[0].logical_id} ({entry[0].type})")
        lines += [f"      {sentence}" for sentence in _sentences(entry)]
        if reason := report.gate.reasons.get(entry[0]):
            lines.append(f"      acknowledged: {reason}")
    if counted := _counted(report.changes):
        lines += ["", f"Also {counted}."]
    lines += [f"Stale: {each.resource} {each.kind} is acknowledged, but does not happen." for each in report.gate.stale]
    return "\n".join(lines)


def as_json(report: ChangeReport) -> dict[str, Any]:
    """The report as JSON. `stops`: it must be acknowledged and is not. `acknowledged`: the reason, or null."""
    return {
        "deployment": report.name,
        "against": report.against,
        "stops": bool(report.gate.stopping),
        "changes": [
            asdict(each) | {"stops": each in report.gate.stopping, "acknowledged": report.gate.reasons.get(each)}
            for each in report.changes
        ],
        "stale": [asdict(each) for each in report.gate.stale],
    }


def markdown(report: ChangeReport) -> str:
    """The report as a comment on a pull request, shorter than GitHub's limit."""
    sign = "🛑" if report.gate.stopping else "✅"
    text = f"### {sign} {_escaped(report.name)} against {_escaped(report.against)}: {report.verdict}\n"
    rows, left = "", 0
    for entry in _told(report):
        row = _row(entry, report)
        if len(text) + len(rows) + len(row) < _LONGEST_COMMENT:
            rows += row
        else:
            left += 1
    if rows:
        text += f"\n| | Kind | Resource | What happens |\n| --- | --- | --- | --- |\n{rows}"
    if left:
        text += f"\nAnd {left} more.\n"
    if counted := _counted(report.changes):
        text += f"\nAlso {counted}.\n"
    for each in report.gate.stale[:20]:
        text += f"\nStale: {_escaped(each.resource)} {each.kind} is acknowledged, but does not happen.\n"
    if report.gate.stopping:
        text += f"\nIf they are intended, acknowledge them in `{report.accepted}`, by resource, kind and reason.\n"
    return text


def _row(entry: list[Change], report: ChangeReport) -> str:
    change = entry[0]
    sign = "🛑" if change in report.gate.stopping else "✔" if change in report.gate.reasons else ""
    said = "<br>".join(map(_escaped, _sentences(entry)))
    if reason := report.gate.reasons.get(change):
        said += f"<br>acknowledged: {_escaped(reason)}"
    return f"| {sign} | {change.kind} | {_escaped(change.logical_id)}<br>{_escaped(change.type)} | {said} |\n"


def _sentence(change: Change) -> str:
    """The change's sentence, with the property in front unless the sentence begins with it."""
    if not change.property or change.sentence.startswith(change.property):
        return change.sentence
    return f"{change.property}: {change.sentence}"


def _sentences(entry: list[Change]) -> list[str]:
    left = len(entry) - _MOST_CAUSES
    return [*map(_sentence, entry[:_MOST_CAUSES]), *([f"and by {left} more properties"] if left > 0 else [])]


def _told(report: ChangeReport) -> list[list[Change]]:
    """The changes by resource and kind, worst first, without those that are only counted."""
    order = list(KINDS)
    told = [each for each in report.changes if not _is_counted(each) or each in report.gate.reasons]
    told.sort(key=lambda each: (each not in report.gate.stopping, order.index(each.kind), each.logical_id))
    return [list(found) for _, found in groupby(told, key=lambda each: (each.kind, each.logical_id))]


def _is_counted(change: Change) -> bool:
    return change.kind in _COUNTED or (change.kind == "removed" and RENAMED in change.sentence and not change.gated)


def _counted(changes: list[Change]) -> str:
    """The number of quiet changes, such as "3 added, 12 changed in place (9 code, 2 tags)"."""
    added = sum(each.kind == "added" for each in changes)
    quiet = [each for each in changes if each.kind == "nothing"]
    causes = Counter(each.sentence for each in quiet if each.sentence in ("code", "tags"))
    of_these = ", ".join(f"{number} {cause}" for cause, number in sorted(causes.items()))
    renamed = sum(_is_counted(each) and each.kind == "removed" for each in changes)
    said = [f"{added} added"] if added else []
    said += [f"{renamed} removed (and added under another id)"] if renamed else []
    if quiet:
        said.append(f"{len(quiet)} changed in place" + (f" ({of_these})" if of_these else ""))
    return ", ".join(said)


def _escaped(text: str) -> str:
    """The text for a cell of a table, without markup or mentions."""
    for sign in "\\`*_[]#~":
        text = text.replace(sign, f"\\{sign}")
    for sign, code in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "&#124;"), ("@", "&#64;")):
        text = text.replace(sign, code)
    return text.replace("\n", " ")
