"""What the callers of an API with named keys use: counted in one row for each owner and month, and limited by it.

A call is charged before it runs with the tokens that it may take, and corrected afterwards by those that it took: calls
side by side pass a limit by the last one's tokens only, or by what an estimate lacks. A count that is lost errs on the
side of the limit. A table that fails refuses calls (503), and never loses an answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from botocore.exceptions import ClientError

from inference_api import errors
from inference_api.jobs.conditional_writes import MOST_TRIES, PASSING_ERRORS, TableBusyError
from inference_api.log import log
from inference_api.named_key import NamedKey
from inference_api.runtime import STANDARD_RETRIES, Runtime, runtime
from inference_api.settings import usage_table

_KEPT_IN_SECONDS = 400 * 86_400  # 13 months
_SAME_MINUTE = "#minute = :minute"
_NONE: Mapping[str, int] = {}


@dataclass(frozen=True)
class Charge:
    """Of an admitted call: the tokens that it may take. moment: of its admission, in seconds of the epoch."""

    owner: str
    moment: float
    tokens_in: int
    tokens_out: int

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


class KeyUsage:
    """client: botocore's `dynamodb`; a request that it repeats may be counted twice."""

    def __init__(self, client: Any, table: str, runtime: Runtime) -> None:
        self._client, self._table, self._runtime = client, table, runtime

    def admit(self, owner: str, key: NamedKey | None, tokens_in: int, tokens_out: int) -> Charge:
        """Count a request and charge its tokens. key: None = no limits.

        Raises ApiError 429 for a key that is at a limit. Raises botocore's errors or TableBusyError where the table
        fails: then nobody knows whether the key is at its limit, and the call must not run.
        """
        limits = key or NamedKey("")
        charge = Charge(owner, self._runtime.now(), tokens_in, tokens_out)
        minute, is_first = _minute(charge.moment), False
        for _ in range(MOST_TRIES):
            row = self._admit(charge, limits, minute, is_first=is_first)
            if row is None:
                return charge
            _refuse(row, limits, charge.moment, minute)
            last = _number(row, "minute")
            minute, is_first = max(minute, last), last < minute  # another function's clock may be ahead
        raise TableBusyError

    def settle(self, charge: Charge, tokens_in: int, tokens_out: int, *, failed: bool = False) -> None:
        """Put what a call took in the place of its charge. Raises nothing: if the table fails, the charge stays."""
        counts = {"tokens_in": tokens_in, "tokens_out": tokens_out, "errors": int(failed)}
        self._correct(charge, counts, tokens_in + tokens_out - charge.tokens)

    def withdraw(self, charge: Charge) -> None:
        """Count neither request nor tokens of a call that was not made after all, or is a job of its own now."""
        self._correct(charge, {"requests": -1}, -charge.tokens)

    def _correct(self, charge: Charge, counts: dict[str, int], more: int) -> None:
        """more: tokens beyond those of the charge."""
        counts = counts | {"charged": more}
        minute = _minute(charge.moment)
        try:
            for _ in range(MOST_TRIES):
                row = self._write(charge, counts | {"minute_charged": more}, _SAME_MINUTE, {":minute": minute})
                if row is None:
                    return
                minute = _number(row, "minute")
                if more <= 0 or not minute:  # what a minute that is over was charged too much concerns nobody
                    self._write(charge, counts)
                    return
            raise TableBusyError
        except PASSING_ERRORS as error:
            log({"caller": charge.owner, "cause": f"{type(error).__name__} at counting tokens"})

    def _admit(self, charge: Charge, limits: NamedKey, minute: int, *, is_first: bool) -> dict[str, Any] | None:
        """None if it was written, else the row that was found. is_first: of its minute."""
        adds = {"requests": 1, "charged": charge.tokens}
        sets = {"last_used": int(charge.moment), "expires_at": int(charge.moment) + _KEPT_IN_SECONDS}
        values, room = {":minute": minute}, ""
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
        return self._write(charge, adds, condition, values, sets)

    def _write(
        self,
        charge: Charge,
        adds: Mapping[str, int],
        condition: str | None = None,
        values: Mapping[str, int] = _NONE,
        sets: Mapping[str, int] = _NONE,
    ) -> dict[str, Any] | None:
        """None if it was written, else the row that was found, empty where there is none."""
        names = {f"#{name}": name for name in {*adds, *sets}} | ({"#minute": "minute"} if condition else {})
        numbers = {f":{name}": value for name, value in (*adds.items(), *sets.items())} | dict(values)
        expression = "ADD " + ", ".join(f"#{name} :{name}" for name in adds)
        if sets:
            expression += " SET " + ", ".join(f"#{name} = :{name}" for name in sets)
        request: dict[str, Any] = {
            "TableName": self._table,
            "Key": {"pk": {"S": f"{_moment(charge.moment):%Y-%m}#{charge.owner}"}},
            "UpdateExpression": expression,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": {name: {"N": str(value)} for name, value in numbers.items()},
        }
        if condition:
            failure = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
            request |= {"ConditionExpression": condition} | failure
        try:
            self._client.update_item(**request)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            row: dict[str, Any] = error.response.get("Item") or {}
            return row
        return None


@cache
def key_usage() -> KeyUsage | None:
    """None where the deployment names no keys."""
    table = usage_table()
    return KeyUsage(runtime().client("dynamodb", STANDARD_RETRIES), table, runtime()) if table else None


def _refuse(row: Mapping[str, Any], limits: NamedKey, now: float, minute: int) -> None:
    if limits.tokens_per_month is not None and _number(row, "charged") >= limits.tokens_per_month:
        renews_at = _next_month(_moment(now))
        raise errors.tokens_exceeded("month", limits.tokens_per_month, renews_at, now)
    last = _number(row, "minute")
    used_up = last >= minute and _number(row, "minute_charged") >= (limits.tokens_per_minute or 0)
    if limits.tokens_per_minute is not None and used_up:
        raise errors.tokens_exceeded("minute", limits.tokens_per_minute, _moment(60 * (last + 1)), now)


def _number(row: Mapping[str, Any], name: str) -> int:
    return int(row[name]["N"]) if name in row else 0


def _minute(moment: float) -> int:
    return int(moment // 60)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _next_month(moment: datetime) -> datetime:
    later = moment.replace(day=28, hour=0, minute=0, second=0, microsecond=0)
    return (later + timedelta(days=4)).replace(day=1)
