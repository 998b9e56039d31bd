"""Conditional writes to DynamoDB, alone or in a transaction; conflicts are tried again with jitter."""

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


# Of a call to AWS that a caller need not hear of: another call does the work later.
PASSING_ERRORS = (BotoCoreError, ClientError, BusyError)


class ConditionalWrites:
    """The reason of a refused write holds the `Item` that was found instead."""

    def __init__(self, client: Any, table: str, runtime: Runtime) -> None:
        self._client, self._table, self._runtime = client, table, runtime

    def put(self, item: dict[str, Any], condition: str, values: dict[str, Any] | None = None) -> Write:
        """Replace an item."""
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
        """Add to a counter that does not go past `most`, which is at least `amount`."""
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
        """Set an item's time to live."""
        return {
            "Update": {
                "TableName": self._table,
                "Key": key,
                "UpdateExpression": "SET expires_at = :expires_at",
                "ExpressionAttributeValues": {":expires_at": {"N": str(expires_at)}},
            }
        }

    def alone(self, write: Write) -> Reason | None:
        """None if it was written. Raises TableBusyError."""
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
        """Empty if all were written; otherwise none was, and the list has the reason of each refused write.

        token: 1 to 36 characters; a request repeated with it within ten minutes writes once. Raises TableBusyError.
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
    """Full jitter, so that two callers that collided do not collide again."""
    runtime.sleep(runtime.random.uniform(0, min(0.02 * 2**turn, 1)))
