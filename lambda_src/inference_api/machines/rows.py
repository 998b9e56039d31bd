"""The rows of the machines in the job table. Workers write some attributes, functions write the others."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from inference_api.machines.row import MachineRow, from_item, machine_key
from inference_api.shared.attributes import number as to_number

Values = dict[str, dict[str, str]]


class ReplacedError(Exception):
    """Another instance has taken the number of this machine."""


class MachineRows:
    """Reads and writes the rows of machines.

    client: botocore's `dynamodb`. Raises its errors if DynamoDB fails for longer than the client retries.
    """

    def __init__(self, client: Any, table: str, count: int) -> None:
        self._client, self._table, self._count = client, table, count

    def get(self, number: int) -> MachineRow:
        """Return the row of a machine. The row of one that has never registered is empty."""
        found = self._client.get_item(TableName=self._table, Key=machine_key(number), ConsistentRead=True)
        return from_item(number, found.get("Item", {}))

    def each(self) -> Iterator[MachineRow]:
        """Yield the rows of all machines. Each is read when it is asked for."""
        yield from map(self.get, range(self._count))

    def register(self, row: MachineRow) -> None:
        """Write the row of a worker that begins. The worker that registers last has the number."""
        self._update(row.number, _of_worker(row) | {"instance_id": {"S": row.instance_id}})

    def beat(self, row: MachineRow) -> None:
        """Write the row of a worker. Raises ReplacedError."""
        try:
            self._update(row.number, _of_worker(row), only_of=row.instance_id)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            raise ReplacedError from None

    def note_tried(self, number: int, now: float) -> None:
        """Note that EC2 is about to be asked for a start."""
        self._update(number, {"tried_at": to_number(now)})

    def note_asked(self, number: int, now: float) -> None:
        """Note that EC2 has accepted a start, or may have."""
        self._update(number, {"asked_at": to_number(now)})

    def note_refused(self, number: int, now: float) -> None:
        """Note that EC2 has refused a start."""
        self._update(number, {"refused_at": to_number(now)})

    def _update(self, number: int, values: Values, only_of: str | None = None) -> None:
        condition: dict[str, Any] = {}
        written = {f":{name}": value for name, value in values.items()}
        if only_of is not None:
            condition = {"ConditionExpression": "instance_id = :mine"}
            written[":mine"] = {"S": only_of}
        self._client.update_item(
            TableName=self._table,
            Key=machine_key(number),
            UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in values),
            ExpressionAttributeNames={f"#{name}": name for name in values},  # `state` is a reserved word
            ExpressionAttributeValues=written,
            **condition,
        )


def _of_worker(row: MachineRow) -> Values:
    numbers = {name: getattr(row, name) for name in ("seen_at", "ready_at", "busy_at", "boot_in_seconds")}
    return {"state": {"S": row.state}} | {name: to_number(value) for name, value in numbers.items() if value}
