"""The row of an owner's usage in a month, and updates of it that count once even if they are sent again.

`charged` holds the counted tokens and those of open charges. A call's charge stands in the row until the call ends, so
a repeated update finds its own work done. A job's charge stands in the job's row, which changes in one transaction
with this one.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from inference_api.keys.named_key import AuthorizedKey
from inference_api.shared import errors
from inference_api.shared.rate_limits import token_headers

Row = Mapping[str, Mapping[str, Any]]
Update = dict[str, Any]

# Longer than any function runs (900 s), with time for clocks that differ.
LONGEST_CALL_IN_SECONDS = 960
_KEPT_IN_SECONDS = 400 * 86_400  # 13 months
_OPEN = "open:"
_SAME_MINUTE = "#minute = :minute"
_NONE: Mapping[str, int] = {}


class RefusedUpdateError(Exception):
    """The condition of an update does not hold; nothing was written. row: as found; empty if there is none."""

    def __init__(self, row: Row) -> None:
        super().__init__("refused")
        self.row = row


@dataclass(frozen=True)
class KeyCharge:
    """The tokens that an admitted call or job may take.

    moment: the time of admission, in seconds since the epoch. id: the id of a call's charge; empty for a job's.
    """

    owner: str
    moment: float
    tokens_in: int
    tokens_out: int
    id: str = ""

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    @property
    def minute(self) -> int:
        return int(self.moment // 60)


def admission(table: str, charge: KeyCharge, limits: AuthorizedKey, minute: int, *, is_first: bool) -> Update:
    """Return the update that counts a request and charges its tokens, unless a limit is reached.

    is_first: whether the request is the first of its minute.
    """
    adds = {"requests": 1, "charged": charge.tokens}
    sets = {"last_used": int(charge.moment), "expires_at": int(charge.moment) + _KEPT_IN_SECONDS}
    values, room = {":minute": minute}, " AND attribute_not_exists(#charge)" if charge.id else ""
    if limits.tokens_per_month is not None:
        room += " AND charged <= :room_in_month"
        values[":room_in_month"] = limits.tokens_per_month - 1
    if is_first:
        sets |= {"minute": minute, "minute_charged": charge.tokens}
        values = values | {":minute_before": minute - 1}
        condition = f"attribute_not_exists(pk) OR #minute <= :minute_before{room}"
    else:
        adds["minute_charged"] = charge.tokens
        if limits.tokens_per_minute is not None:
            room += " AND minute_charged <= :room_in_minute"
            values[":room_in_minute"] = limits.tokens_per_minute - 1
        condition = f"{_SAME_MINUTE}{room}"
    update = _update(table, charge, adds, condition, values, sets)
    if limits.is_group:
        update["UpdateExpression"] += ", #group = :group"
        update["ExpressionAttributeNames"]["#group"] = "group"
        update["ExpressionAttributeValues"][":group"] = {"S": limits.name}
    if charge.id:
        update["UpdateExpression"] += ", #charge = :charge"
        update["ExpressionAttributeValues"][":charge"] = {"S": _text(charge)}
    return update


def settlements(table: str, charge: KeyCharge, counts: Mapping[str, int], more: int, now: float) -> list[Update]:
    """Return the updates that end a charge. Send them in order until one is not refused.

    more: tokens taken beyond the charge; negative if fewer were taken. Tokens that were charged too much are free again
    in the minute of the charge, if that is not over.
    """
    in_minute, later = {**counts, "charged": more, "minute_charged": more}, {**counts, "charged": more}
    if more >= 0:
        return [_end(table, charge, in_minute)]
    if int(now // 60) > charge.minute:
        return [_end(table, charge, later)]
    return [
        _end(table, charge, in_minute, _SAME_MINUTE, {":minute": charge.minute}),
        _end(table, charge, later),  # another function's clock is in the next minute
    ]


def is_open(row: Row, charge: KeyCharge) -> bool:
    """Whether the row still holds the charge of a call."""
    return f"{_OPEN}{charge.id}" in row


def abandoned(row: Row, owner: str, now: float) -> Iterator[KeyCharge]:
    """Yield the charges of calls whose function has died."""
    for name, value in row.items():
        if name.startswith(_OPEN):
            moment, tokens_in, tokens_out = map(int, value["S"].split())
            if moment + LONGEST_CALL_IN_SECONDS <= now:
                yield KeyCharge(owner, moment, tokens_in, tokens_out, name.removeprefix(_OPEN))


class _Allowance(NamedTuple):
    """The tokens that are left of a limit. period: month or minute."""

    period: str
    limit: int
    left: int
    renews_at: datetime


def _allowances(row: Row, limits: AuthorizedKey, now: float, minute: int) -> Iterator[_Allowance]:
    if limits.tokens_per_month is not None:
        left = limits.tokens_per_month - number(row, "charged")
        yield _Allowance("month", limits.tokens_per_month, left, _next_month(_moment(now)))
    if limits.tokens_per_minute is not None:
        last = number(row, "minute")
        used = number(row, "minute_charged") if last >= minute else 0
        renews_at = _moment(60 * (max(last, minute) + 1))
        yield _Allowance("minute", limits.tokens_per_minute, limits.tokens_per_minute - used, renews_at)


def refuse(row: Row, limits: AuthorizedKey, now: float, minute: int) -> None:
    """Raises ApiError 429 if the owner is at a limit."""
    for each in _allowances(row, limits, now, minute):
        if each.left <= 0:
            raise errors.tokens_exceeded(each.period, each.limit, each.renews_at, now)


def headers_after(row: Row, charge: KeyCharge, limits: AuthorizedKey) -> dict[str, str]:
    """Return the headers that tell the limit with the fewest tokens left. row: as it was before the charge."""
    found = list(_allowances(row, limits, charge.moment, charge.minute))
    if not found:
        return {}
    least = min(found, key=lambda each: each.left)
    seconds = max(1, math.ceil(least.renews_at.timestamp() - charge.moment))
    return token_headers(least.limit, least.left - charge.tokens, seconds)


def month_prefix(month: datetime) -> str:
    """Return the beginning of the keys of a month's rows. The owner follows it."""
    return f"{month:%Y-%m}#"


def owner_in(row: Row) -> str:
    """Return the owner of a row."""
    return str(row["pk"]["S"].partition("#")[2])


def group_in(row: Row) -> str:
    """Return the group of the owner's last call; empty if the owner is a key."""
    return str(row["group"]["S"]) if "group" in row else ""


def number(row: Row, name: str) -> int:
    """Return a number in a row; 0 if it is missing."""
    return int(row[name]["N"]) if name in row else 0


def _end(
    table: str, charge: KeyCharge, adds: Mapping[str, int], condition: str = "", values: Mapping[str, int] = _NONE
) -> Update:
    if not charge.id:
        return _update(table, charge, adds, condition, values)
    condition = " AND ".join(filter(None, ("attribute_exists(#charge)", condition)))
    update = _update(table, charge, adds, condition, values)
    update["UpdateExpression"] += " REMOVE #charge"
    return update


def _update(
    table: str,
    charge: KeyCharge,
    adds: Mapping[str, int],
    condition: str,
    values: Mapping[str, int],
    sets: Mapping[str, int] = _NONE,
) -> Update:
    names = {f"#{name}": name for name in {*adds, *sets}} | ({"#minute": "minute"} if "#minute" in condition else {})
    names |= {"#charge": f"{_OPEN}{charge.id}"} if charge.id else {}
    numbers = {f":{name}": value for name, value in (*adds.items(), *sets.items())} | dict(values)
    expression = "ADD " + ", ".join(f"#{name} :{name}" for name in adds)
    if sets:
        expression += " SET " + ", ".join(f"#{name} = :{name}" for name in sets)
    update: Update = {
        "TableName": table,
        "Key": {"pk": {"S": f"{month_prefix(_moment(charge.moment))}{charge.owner}"}},
        "UpdateExpression": expression,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {name: {"N": str(value)} for name, value in numbers.items()},
    }
    if condition:
        update |= {"ConditionExpression": condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    return update


def _text(charge: KeyCharge) -> str:
    return f"{int(charge.moment)} {charge.tokens_in} {charge.tokens_out}"


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _next_month(moment: datetime) -> datetime:
    later = moment.replace(day=28, hour=0, minute=0, second=0, microsecond=0)
    return (later + timedelta(days=4)).replace(day=1)
