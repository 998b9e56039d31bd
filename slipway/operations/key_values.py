"""Lists, creates, rotates and revokes the named keys of a deployed API."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from slipway.stack.deployed_stack import DeployedStack, with_stack
from slipway.stack.key_counts import Counts, counts_of, owner_of_key
from slipway.stack.keys import DeployedKey, DeployedKeys, KeysError, KeyValue

_HEADER = ("key", "owner", "id", "created", "last used", "limits")


def run(action: str, deployment: str, key: str | None, region: str | None, *, as_json: bool) -> int:
    """Act on a key. Returns the exit status; 2 for an unknown key or deployment."""
    act: dict[str, Callable[[DeployedStack, DeployedKeys, str | None, bool], int]]
    act = {"list": _list, "create": _create, "rotate": _rotate, "revoke": _revoke}

    def verb(stack: DeployedStack) -> int:
        try:
            return act[action](stack, DeployedKeys(stack), key, as_json)
        except KeysError as error:
            print(error, file=sys.stderr)
            return 2

    return with_stack(deployment, region, verb)


def _list(stack: DeployedStack, keys: DeployedKeys, name: str | None, as_json: bool) -> int:
    chosen = [keys.key(name)] if name else sorted(keys.named.values(), key=lambda key: key.name)
    values, used = keys.values(), _last_used(stack)
    found = [_shown(key, [each for each in values if each.name == key.name], used) for key in chosen]
    if as_json:
        print(json.dumps(found, indent=2))
        return 0
    from slipway.shared.table import print_table

    print_table(_HEADER, [row for key in found for row in _rows(key)])
    for dead in (each for each in values if not each.opens):
        fix = f"slipway keys revoke {stack.name} {dead.id}"
        problem = "is refused by the API: it is disabled, or not in its key's usage plan"
        print(f"{dead.id} of {dead.name} {problem}. Revoke it: {fix}")
    return 0


def _create(stack: DeployedStack, keys: DeployedKeys, name: str | None, as_json: bool) -> int:
    key = keys.key(name)
    if living := [each for each in keys.values() if each.name == key.name and each.opens]:
        fix = f"rotate it (`slipway keys rotate {stack.name} {key.name}`), or revoke that value first"
        raise KeysError(f"{key.name} has a value already ({living[0].id}): {fix}.")
    return _made(stack, *keys.create(key), "", as_json=as_json)


def _rotate(stack: DeployedStack, keys: DeployedKeys, name: str | None, as_json: bool) -> int:
    key = keys.key(name)
    old = [each for each in keys.values() if each.name == key.name and each.opens]
    if len(old) != 1:
        fix = f"revoke one of {', '.join(each.id for each in old)}" if old else "create it"
        raise KeysError(f"{key.name} must have one value to be rotated, but has {len(old)}: {fix} first.")
    advice = (
        f"The old value, {old[0].id}, still works. When every caller has the new one, revoke the old: "
        f"slipway keys revoke {stack.name} {old[0].id}"
    )
    return _made(stack, *keys.create(key), advice, as_json=as_json)


def _made(stack: DeployedStack, made: KeyValue, value: str, advice: str, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"key": made.name, "id": made.id, "value": value}))
    else:
        print(value)
        text = f"This is the value of {made.name} ({made.id}) for {stack.api_url}. It is shown only once: keep it now."
        print(text, file=sys.stderr)
    if advice:
        print(advice, file=sys.stderr)
    return 0


def _revoke(stack: DeployedStack, keys: DeployedKeys, given: str | None, as_json: bool) -> int:
    value = keys.to_revoke(given)
    keys.revoke(value)
    done = {"key": value.name, "id": value.id, "revoked": True}
    print(json.dumps(done) if as_json else f"{value.id} of {value.name} is revoked: the API refuses it.")
    return 0


def _shown(key: DeployedKey, values: list[KeyValue], used: dict[str, Counts]) -> dict[str, Any]:
    last = used.get(owner_of_key(key.name), Counts()).last_used
    limits = dict(key.limits)
    if expires := limits.pop("expires", None):
        limits["expires"] = f"{datetime.fromtimestamp(expires, UTC) - timedelta(days=1):%Y-%m-%d}"
    return {
        "key": key.name,
        "owner": key.owner,
        "limits": limits,
        "last_used": _iso(last) if last else None,
        "values": [{"id": each.id, "created": f"{each.created:%Y-%m-%d}", "opens": each.opens} for each in values],
    }


def _rows(key: dict[str, Any]) -> list[tuple[str, ...]]:
    limits = ", ".join(
        f"{name} {value}" if isinstance(value, str) else f"{name} {value:,.15g}"
        for name, value in key["limits"].items()
    )
    values = key["values"] or [{"id": "none", "created": ""}]
    return [
        (key["key"], key["owner"] or "", each["id"], each["created"], key["last_used"] or "never", limits)
        if each is values[0]
        else ("", "", each["id"], each["created"], "", "")
        for each in values
    ]


def _last_used(stack: DeployedStack) -> dict[str, Counts]:
    """Return each owner's counts of this month, else of the last month."""
    today = datetime.now(UTC)
    this, last = today, today.replace(day=1) - timedelta(days=1)
    found = counts_of(stack, last)
    return found | {owner: counts for owner, counts in counts_of(stack, this).items() if counts.last_used}


def _iso(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"
