"""Table and bucket of a state: answers to reads, and the items after a write."""

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from simulation.aws.dynamodb import DynamoDb
from simulation.aws.errors import Refusal
from simulation.aws.s3 import Bucket
from simulation.aws.table import Table
from simulation.aws.table_index import TableIndex
from simulation.aws.transactions import Transactions
from simulation.callers.history import Row
from simulation.exploration.replay import Call
from simulation.exploration.state import FAILED, OUTPUT, REFUSED, Attempt, State
from simulation.runtime.model import answer_to
from simulation.runtime.scheduler import Scheduler
from simulation.world.deployment import INDEXES

ANSWER = answer_to("prompt", 1, 10)
BUCKET, TABLE = "job-files", "jobs"
Items = tuple[tuple[str, int], ...]


class Body:
    """The body of a response; each replay reads it from the beginning."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self, most: int | None = None) -> bytes:
        return self._content[:most]

    def __repr__(self) -> str:
        return repr(self._content)


class _StillClock(Scheduler):
    """No time passes within a step."""

    def sleep(self, seconds: float) -> None:
        pass


class Services:
    """Caches answers by call and the part of the state that matters to them."""

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self._items: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}
        self._answers: dict[tuple[Any, ...], Any] = {}
        self._rows: dict[int, Row] = {}

    def row(self, state: State, job: str) -> Row | None:
        """Return a job's row."""
        number = dict(state.items).get(f"job#{job}")
        return None if number is None else self._row(number)

    def jobs(self, state: State) -> list[str]:
        return [pk.removeprefix("job#") for pk, _ in state.items if pk.startswith("job#")]

    def item(self, state: State, pk: str) -> dict[str, Any] | None:
        number = dict(state.items).get(pk)
        return None if number is None else self._items[number]

    def rewrite(self, state: State, job: str, **changes: Any) -> State:
        """Return the state after a change of the row by time."""
        return self.put(state, f"job#{job}", {**(self.item(state, f"job#{job}") or {}), **changes})

    def put(self, state: State, pk: str, item: Mapping[str, Any]) -> State:
        """Return the state with another item in place of one."""
        return state._replace(items=self._with(dict(state.items), pk, item))

    def read_table(self, state: State, call: Call, text: str) -> Any:
        return self._cached(("read", state.items, text), lambda: self._table_call(state.items, call)[0])

    def write_table(self, state: State, call: Call, text: str) -> tuple[Any, State]:
        """Return the answer or error of a write, and the state afterwards."""
        answer, items = self._cached(("write", state.items, text), lambda: self._table_call(state.items, call))
        return answer, state._replace(items=items)

    def read_bucket(self, state: State, call: Call, text: str) -> Any:
        return self._cached(("bucket", state.fates, text), lambda: _bucket_call(state.fates, call))

    def _table_call(self, items: Items, call: Call) -> tuple[Any, Items]:
        clock = _StillClock(0)
        table = Table(TABLE, [], clock, Random(1))
        table.items = {pk: self._items[number] for pk, number in items}
        table.lags.share_of_stale_reads = 0
        if call.operation == "query":
            table.indexes = [TableIndex(name, *keys) for name, keys in INDEXES.items()]
            for index in table.indexes:
                for pk, item in table.items.items():
                    index.follow(pk, item, 0)
        try:
            answer = getattr(DynamoDb(table, Transactions(clock, Random(1))), call.operation)(**call.arguments)
        except Refusal as refusal:
            return refusal.for_caller(call.operation), items
        changed = dict(items)
        for pk, item in table.items.items():
            if pk not in changed or self._items[changed[pk]] != item:
                changed = dict(self._with(changed, pk, item))
        return answer, tuple(sorted(changed.items()))

    def _with(self, numbers: dict[str, int], pk: str, item: Mapping[str, Any]) -> Items:
        if pk.startswith(("output#", "error#")):
            return tuple(sorted(numbers.items()))  # no explored handler reads it
        plain = self._canonical(dict(item)) if pk.startswith("job#") else dict(item)
        text = json.dumps(plain, sort_keys=True)
        if text not in self._numbers:
            self._numbers[text] = len(self._items)
            self._items.append(plain)
        return tuple(sorted((numbers | {pk: self._numbers[text]}).items()))

    def _canonical(self, item: dict[str, Any]) -> dict[str, Any]:
        """Drop attributes that no later step reads. Sweeps come at any moment, so `due_at` has one value."""
        item |= {"version": {"N": "1"}}
        item.pop("writer", None)
        item.pop("error_attempt", None)
        item |= {name: {"N": "0"} for name in ("due_at", "ended_at") if name in item}
        row = Row(0, item, 0)
        if row.state != "ACCEPTED":
            item.pop("sent_at", None)
        if row.state == "CANCELLED":
            item.pop("error_code", None)
            item.pop("refused", None)
        leased = row.is_open or (row.holds_slot and self._mode != "async")
        if not leased or len(row.ended) >= row.attempts:
            item.pop("lease_until", None)
        return item

    def _row(self, number: int) -> Row:
        if number not in self._rows:
            self._rows[number] = Row(0, self._items[number], 0)
        return self._rows[number]

    def _cached(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        if key not in self._answers:
            self._answers[key] = compute()
        return self._answers[key]


def output_key(attempt: Attempt) -> str:
    return f"output/{attempt[0]}/{attempt[1]}/answer"


def failure_key(attempt: Attempt) -> str:
    return f"failure/{attempt[0]}/{attempt[1]}-error.out"


def _bucket_call(fates: tuple[tuple[Attempt, str], ...], call: Call) -> Any:
    bucket = Bucket(BUCKET, _StillClock(0), Random(1))
    for attempt, fate in fates:
        if fate == OUTPUT:
            bucket.write(output_key(attempt), ANSWER, "application/json")
        elif fate in (REFUSED, FAILED):
            bucket.write(failure_key(attempt), b"words of the container", "text/plain")
    if call.operation == "get_object" and call.arguments["Key"].startswith("input/"):
        bucket.write(call.arguments["Key"], b'{"inputs": "prompt"}')
    try:
        answer = getattr(bucket, call.operation)(**call.arguments)
    except Refusal as refusal:
        return refusal.for_caller(call.operation)
    return answer | {"Body": Body(answer["Body"].read())} if "Body" in answer else answer
