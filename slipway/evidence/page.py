"""The evidence as one page of Markdown."""

from collections.abc import Iterable, Iterator, Sequence

from slipway.evidence.doors import FIXED, PREFLIGHT
from slipway.evidence.evidence import Door, Evidence, RoleEvidence
from slipway.evidence.names import listed

_NOBODY = "nobody has accepted it"
_NOT_OURS = "not a permission of Slipway's"


def page(evidence: Evidence) -> str:
    """Return the page."""
    parts = [_top(evidence), _data(evidence), _ways(evidence), _roles(evidence), _findings(evidence), _rest(evidence)]
    return "\n".join(line for part in parts for line in part) + "\n"


def _top(evidence: Evidence) -> Iterator[str]:
    yield f"# Security evidence: {evidence.name}"
    yield ""
    yield f"What the template of {evidence.name} makes and allows in {evidence.region}, by Slipway {evidence.version}."
    yield "It is read from the template and from cdk-nag's reports. No account was asked."
    yield ""
    yield "| | |"
    yield "| --- | --- |"
    allowed = [each for role in evidence.roles for each in role.permissions if each.effect == "Allow"]
    unexplained = sum(not each.why for each in allowed)
    permissions = sum(len(each.actions) for each in allowed)
    yield f"| Roles | {len(evidence.roles)}, with {permissions} permissions; {_count(unexplained)} without a reason |"
    yield f"| Resources with data | {len(evidence.data)} |"
    anybody = [each for each in evidence.ways_in if each.kind == "route" and "everybody" in each.sentence]
    fixed = sum(FIXED in each.sentence or PREFLIGHT in each.sentence for each in anybody)
    also = f", and {fixed} that API Gateway answers by itself" if fixed else ""
    yield f"| Routes that anybody may call | {_count(len(anybody) - fixed)}{also} |"
    if evidence.findings is not None:
        still_open = sum(not each.reason for each in evidence.findings)
        accepted = len(evidence.findings) - still_open
        yield f"| Findings of cdk-nag | {accepted} accepted, each with a reason; {_count(still_open)} open |"
    yield f"| Resources that this release does not describe | {_count(len(evidence.unknown))} |"
    yield ""


def _data(evidence: Evidence) -> Iterator[str]:
    yield "## Resources with data"
    yield ""
    rows = [
        (f"{each.kind} `{each.name}`", each.holds, each.encryption, each.network, each.retention, each.removal)
        for each in evidence.data
    ]
    header = ("Resource", "Holds", "Encrypted with", "Network", "Data stays", "When the stack is destroyed")
    yield from _table(header, rows)


def _ways(evidence: Evidence) -> Iterator[str]:
    yield "## Ways in"
    yield ""
    yield from _table(("Kind", "Where", "Who, and under which condition"), map(_row, evidence.ways_in))
    yield "## Ways out"
    yield ""
    yield from _table(("Kind", "Where", "What it may reach"), map(_row, evidence.ways_out))


def _row(door: Door) -> Sequence[str]:
    return door.kind, f"`{door.where}`", door.sentence


def _roles(evidence: Evidence) -> Iterator[str]:
    yield "## Roles"
    yield ""
    for role in evidence.roles:
        yield from _role(role)


def _role(role: RoleEvidence) -> Iterator[str]:
    yield f"### {role.title[0].upper()}{role.title[1:]}"
    yield ""
    yield f"- Role: `{role.name}`" + (f", used by {listed(role.used_by)}" if role.used_by else "")
    yield f"- May be assumed by {listed(role.assumed_by)}" if role.assumed_by else "- May be assumed by nobody"
    yield f"- Permissions boundary: {role.boundary or 'none'}"
    yield f"- Managed policies: {listed(role.managed_policies) if role.managed_policies else 'none'}"
    yield ""
    rows = [
        (
            ", ".join(f"`{action}`" for action in each.actions),
            ("denied on " if each.effect == "Deny" else "") + f"`{each.resource}`",
            each.condition or "none",
            each.why or (_NOT_OURS if each.effect == "Allow" else "a denial"),
        )
        for each in role.permissions
    ]
    yield from _table(("Actions", "Resource", "Condition", "Why"), rows)


def _findings(evidence: Evidence) -> Iterator[str]:
    yield "## Findings of cdk-nag"
    yield ""
    if evidence.findings is None:
        yield "The template comes from a file, and cdk-nag judges what an app synthesizes: run this without --template."
        yield ""
        return
    for word, is_accepted in (("Open", False), ("Accepted", True)):
        yield f"### {word}"
        yield ""
        rows = [
            (", ".join(each.packs), each.rule, each.description, listed(each.where), each.reason or _NOBODY)
            for each in evidence.findings
            if bool(each.reason) == is_accepted
        ]
        yield from _table(("Packs", "Rule", "Finding", "Where", "Reason"), rows)


def _rest(evidence: Evidence) -> Iterator[str]:
    yield "## Everything else in the template"
    yield ""
    yield "Settings, rules and addresses, which hold no data:"
    yield ""
    yield from _table(("Type", "Number"), [(kind, str(count)) for kind, count in evidence.other.items()])
    if evidence.unknown:
        yield f"This release does not describe {listed(evidence.unknown)}. Look at them by hand."


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, then an empty one; "None." in place of a table without rows."""
    lines = [f"| {' | '.join(each.replace('|', '/') for each in row)} |" for row in rows]
    if lines:
        yield f"| {' | '.join(header)} |"
        yield f"|{' --- |' * len(header)}"
        yield from lines
    else:
        yield "None."
    yield ""


def _count(number: int) -> str:
    return str(number) if number else "none"
