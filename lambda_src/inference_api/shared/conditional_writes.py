"""Conditional writes to DynamoDB, alone or in a transaction; conflicts are retried with jitter."""

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from inference_api.shared.errors import BusyError
from inference_api.shared.runtime import Runtime

CONFLICTS = ("TransactionConflict", "TransactionConflictException", "TransactionInProgressException")
MOST_TRIES = 10

Write = dict[str, Any]
Reason = dict[str, Any]


class TableBusyError(BusyError):
    """Other writers kept changing the same items; nothing was written."""


# Errors of calls to AWS that callers need not see, because a later call does the same work.
PASSING_ERRORS = (BotoCoreError, ClientError, BusyError)


class ConditionalWrites:
    """Makes and sends conditional writes to one table.

    A refused write returns a reason. Its `Item` is the item that the table holds.
    """

    def __init__(self, client: Any, table: str, runtime: Runtime) -> None:
        self._client, self._table, self._runtime = client, table, runtime

    def put(self, item: dict[str, Any], condition: str, values: dict[str, Any] | None = None) -> Write:
        """Return a write that replaces an item if `condition` holds."""
        put = {
            "TableName": self._table,
            "Item": item,
            "ConditionExpression": condition,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        return {"Put": put | ({"ExpressionAttributeValues": values} if values else {})}

    def add(
        self, key: dict[str, Any], name: str, amount: int, *, most: int | None = None, expires_at: int | None = None
    ) -> Write:
        """Return a write that adds `amount` to the counter `name`.

        most: the counter's limit, at least `amount`; None = no limit. expires_at: the item's time to live, in seconds
        since the epoch.
        """
        update: dict[str, Any] = {
            "TableName": self._table,
            "Key": key,
            "UpdateExpression": "ADD #counter :amount",
            "ExpressionAttributeNames": {"#counter": name},
            "ExpressionAttributeValues": {":amount": {"N": str(amount)}},
        }
        if most is not None:
            update["ConditionExpression"] = "attribute_not_exists(#counter) OR #counter <= :room"
            update["ExpressionAttributeValues"][":room"] = {"N": str(most - amount)}
        if expires_at is not None:
            update["UpdateExpression"] += " SET expires_at = :expires_at"
            update["ExpressionAttributeValues"][":expires_at"] = {"N": str(expires_at)}
        return {"Update": update}

    def keep_until(self, key: dict[str, Any], expires_at: int) -> Write:
        """Return a write that sets an item's time to live. expires_at: seconds since the epoch."""
        return {
            "Update": {
                "TableName": self._table,
                "Key": key,
                "UpdateExpression": "SET expires_at = :expires_at",
                "ExpressionAttributeValues": {":expires_at": {"N": str(expires_at)}},
            }
        }

    def alone(self, write: Write) -> Reason | None:
        """Send one write. Return why it was refused, or None if it was written. Raises TableBusyError."""
        ((kind, request),) = write.items()
        try:
            self._client.put_item(**request) if kind == "Put" else self._client.update_item(**request)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in CONFLICTS:
                raise TableBusyError from None
            if code != "ConditionalCheckFailedException":
                raise
            return {"Item": error.response.get("Item")}
        return None

    def together(self, writes: list[Write], token: str) -> list[Reason | None]:
        """Send all writes in one transaction. Return an empty list if they were written.

        If one is refused, none is written. Then the list holds the reason of each refused write, and None for the
        others.

        token: 1 to 36 characters. If the request is repeated with the same token within ten minutes, it writes once.
        Raises TableBusyError.
        """
        for turn in range(MOST_TRIES):
            try:
                self._client.transact_write_items(TransactItems=writes, ClientRequestToken=token)
            except ClientError as error:
                reasons = error.response.get("CancellationReasons", [])
                codes = {error.response["Error"]["Code"], *(reason.get("Code") for reason in reasons)}
                if "ConditionalCheckFailed" in codes:
                    return [reason if reason["Code"] == "ConditionalCheckFailed" else None for reason in reasons]
                if not codes & {*CONFLICTS, "ThrottlingError", "ProvisionedThroughputExceeded"}:
                    raise
                pause(self._runtime, turn)
            else:
                return []
        raise TableBusyError


def pause(runtime: Runtime, turn: int) -> None:
    """Sleep for a random time (full jitter), so that two writers that collided do not collide again."""
    runtime.sleep(runtime.random.uniform(0, min(0.02 * 2**turn, 1)))
