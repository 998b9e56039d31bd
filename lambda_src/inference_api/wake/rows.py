"""Reads and writes the row of the model's sleep. A write is refused if somebody else has looked since."""

from typing import Any

from botocore.exceptions import ClientError

from inference_api.shared.attributes import number
from inference_api.wake.row import WAKE_KEY, WakeRow, from_item, to_values


class WakeRows:
    """The row `wake` of the job table. client: botocore's `dynamodb`. Raises its errors."""

    def __init__(self, client: Any, table: str) -> None:
        self._client, self._table = client, table

    def get(self) -> WakeRow:
        """Return the row. Before the first look it is empty."""
        found = self._client.get_item(TableName=self._table, Key=WAKE_KEY, ConsistentRead=True)
        return from_item(found.get("Item", {}))

    def claim_look(self, row: WakeRow, now: float) -> WakeRow | None:
        """Note that this caller looks at the component now. Return the row, or None if somebody else looks.

        Each look has a time of its own, which is the mark of its caller.
        """
        return self._update({"looked_at": number(max(now, row.looked_at + 0.001))}, row.looked_at)

    def write(self, row: WakeRow) -> bool:
        """Write the row of the caller who looked last. Return False if somebody else has looked since."""
        return self._update(to_values(row), row.looked_at) is not None

    def _update(self, values: dict[str, dict[str, str]], looked_at: float) -> WakeRow | None:
        condition = "looked_at = :before" if looked_at else "attribute_not_exists(pk)"
        named = {f":{name}": value for name, value in values.items()}
        try:
            written = self._client.update_item(
                TableName=self._table,
                Key=WAKE_KEY,
                UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in values),
                ConditionExpression=condition,
                ExpressionAttributeNames={f"#{name}": name for name in values},  # `state` is a reserved word
                ExpressionAttributeValues=named | ({":before": number(looked_at)} if looked_at else {}),
                ReturnValues="ALL_NEW",
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            return None
        return from_item(written["Attributes"])
