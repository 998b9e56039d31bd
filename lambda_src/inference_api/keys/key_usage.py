"""Counts and limits the usage of named keys, in one row for each owner and month.

A call is charged before it runs with the tokens that it may take. At its end the tokens that it took replace the
charge, once. Calls side by side can pass a limit only by the tokens of the last one, or by the error of an estimate.
If the table fails, calls are refused (503), but no answer is lost: a later call of the same key ends a charge that was
left open.
"""

from collections.abc import Callable
from functools import cache
from itertools import islice
from typing import Any

from botocore.exceptions import ClientError

from inference_api.keys import usage_row
from inference_api.keys.named_key import AuthorizedKey
from inference_api.keys.usage_row import KeyCharge, RefusedUpdateError, Row, Update
from inference_api.shared.conditional_writes import CONFLICTS, MOST_TRIES, PASSING_ERRORS, TableBusyError, pause
from inference_api.shared.log import log
from inference_api.shared.runtime import STANDARD_RETRIES, Runtime, runtime
from inference_api.shared.settings import usage_table

# The most charges that one call ends for others, because its own caller waits meanwhile.
MOST_ABANDONED = 10


class KeyUsage:
    """Counts and limits the usage of keys. client: botocore's `dynamodb`, which may repeat a request."""

    def __init__(self, client: Any, table: str, runtime: Runtime) -> None:
        self._client, self._table, self._runtime = client, table, runtime

    def admit(
        self, owner: str, key: AuthorizedKey | None, tokens_in: int, tokens_out: int
    ) -> tuple[KeyCharge, dict[str, str]]:
        """Count a call and charge its tokens. Return the charge, and headers that tell what is left of the limits.

        key: None = no limits.

        Raises ApiError 429 for a key that is at a limit. Raises botocore's errors or TableBusyError if the table fails:
        then it is unknown whether the key is at its limit, and the call must not run.
        """
        charge_id = f"{self._runtime.random.getrandbits(40):010x}"
        charge = KeyCharge(owner, self._runtime.now(), tokens_in, tokens_out, charge_id)
        try:
            row = self._admit(charge, key, self._write)
        except PASSING_ERRORS:
            self.withdraw(charge)  # it may have been written
            raise
        self._end_abandoned(owner, row or {})
        return charge, usage_row.headers_after(row or {}, charge, key) if key else {}

    def admit_job(self, charge: KeyCharge, key: AuthorizedKey | None, write: Callable[[Update], None]) -> None:
        """Count and charge a call that becomes a job. Raises ApiError 429, and the errors of `write`.

        write: accepts the job in one transaction with the update. It must raise RefusedUpdateError if only the update
        is refused.
        """
        self._admit(charge, key, write)

    def settle(self, charge: KeyCharge, tokens_in: int, tokens_out: int, *, failed: bool = False) -> None:
        """Replace a call's charge by the tokens that it took. Raises nothing: if the table fails, the charge stays."""
        self._end(charge, self.settlements(charge, tokens_in, tokens_out, failed=failed))

    def settlements(self, charge: KeyCharge, tokens_in: int, tokens_out: int, *, failed: bool) -> list[Update]:
        """Return updates that replace a charge by the tokens taken. Send them in order until one is not refused."""
        counts = {"tokens_in": tokens_in, "tokens_out": tokens_out, "errors": int(failed)}
        return self._settlements(charge, counts, tokens_in + tokens_out - charge.tokens)

    def withdraw(self, charge: KeyCharge) -> None:
        """Take back the count and the charge of a call that was not made, or that has become a job."""
        self._end(charge, self._settlements(charge, {"requests": -1}, -charge.tokens))

    def _settlements(self, charge: KeyCharge, counts: dict[str, int], more: int) -> list[Update]:
        return usage_row.settlements(self._table, charge, counts, more, self._runtime.now())

    def _admit(self, charge: KeyCharge, key: AuthorizedKey | None, write: Callable[[Update], Row | None]) -> Row | None:
        """Admit a charge by `write`. Return the result of `write`: the row as it was before."""
        limits, minute, is_first = key or AuthorizedKey(""), charge.minute, False
        for _ in range(MOST_TRIES):
            try:
                return write(usage_row.admission(self._table, charge, limits, minute, is_first=is_first))
            except RefusedUpdateError as refused:
                row = refused.row
            if charge.id and usage_row.is_open(row, charge):
                return row  # this call's own earlier try was written after all
            if not self._end_abandoned(charge.owner, row):
                usage_row.refuse(row, limits, charge.moment, minute)
            last = usage_row.number(row, "minute")
            minute, is_first = max(minute, last), last < minute  # another function's clock may be ahead
        raise TableBusyError

    def _end_abandoned(self, owner: str, row: Row) -> bool:
        """End the charges of calls whose function has died. Return whether there were any.

        These calls may have run, so each costs its prompt.
        """
        found = list(islice(usage_row.abandoned(row, owner, self._runtime.now()), MOST_ABANDONED))
        for charge in found:
            self.settle(charge, charge.tokens_in, 0, failed=True)
        return bool(found)

    def _end(self, charge: KeyCharge, updates: list[Update]) -> None:
        try:
            for update in updates:
                try:
                    self._write(update)
                except RefusedUpdateError as refused:
                    if usage_row.is_open(refused.row, charge):
                        continue
                return  # written, or ended before: by an earlier try, or as abandoned
        except PASSING_ERRORS as error:
            log({"caller": charge.owner, "cause": f"{type(error).__name__} at counting tokens"})

    def _write(self, update: Update) -> Row:
        """Send an update. Return the row as it was before. Raises RefusedUpdateError."""
        for turn in range(MOST_TRIES):
            try:
                row: Row = self._client.update_item(**update, ReturnValues="ALL_OLD").get("Attributes", {})
            except ClientError as error:
                code = error.response["Error"]["Code"]
                if code == "ConditionalCheckFailedException":
                    raise RefusedUpdateError(error.response.get("Item") or {}) from None
                if code not in CONFLICTS:
                    raise
                pause(self._runtime, turn)  # a job of the same key is being accepted, or ends
            else:
                return row
        raise TableBusyError


@cache
def key_usage() -> KeyUsage | None:
    """Return the usage of this deployment's keys; None if it names no keys."""
    table = usage_table()
    return KeyUsage(runtime().client("dynamodb", STANDARD_RETRIES), table, runtime()) if table else None
