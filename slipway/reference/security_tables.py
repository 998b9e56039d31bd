"""The tables of permissions and of accepted findings, from the data of `slipway evidence`."""

from collections.abc import Iterator

from slipway.evidence.accepted_findings import accepted
from slipway.evidence.reasons import reasons, roles


def permissions_table() -> Iterator[str]:
    """Return each permission of our roles, where it is allowed and why."""
    titles = {role.name: role.title for role in roles()}
    yield "| Roles | Actions | On | When | Why |"
    yield "| --- | --- | --- | --- | --- |"
    for row in reasons():
        who = ", ".join(titles[role].removeprefix("function ") for role in row.roles)
        actions = ", ".join(f"`{action}`" for action in row.actions)
        yield f"| {who} | {actions} | {row.place} | {row.when} | {row.why} |"


def standards_table() -> Iterator[str]:
    """Return each accepted finding of cdk-nag's packs for standards."""
    yield "| Rule | Packs | Gone with | Reason |"
    yield "| --- | --- | --- | --- |"
    for row in accepted("standards").values():
        yield f"| {row.rule} | {', '.join(row.packs)} | {_setting(row.closed_by)} | {row.reason} |"


def scanners_table() -> Iterator[str]:
    """Return each accepted finding of checkov and cloudsplaining."""
    yield "| Scanner | Finding | Gone with | Reason |"
    yield "| --- | --- | --- | --- |"
    for row in accepted("checkov").values():
        yield f"| checkov | {row.rule} | {_setting(row.closed_by)} | {row.reason} |"
    for row in accepted("cloudsplaining").values():
        yield f"| cloudsplaining | `{row.rule}` | | {row.reason} |"


def _setting(path: str) -> str:
    return f"`{path}`" if path else ""
