"""A global secondary index: keys only, and behind its table."""

import heapq
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from itertools import count
from typing import Any

from simulation.aws.errors import invalid
from simulation.aws.expressions import Item, comparable

Entry = tuple[Any, str]  # (sort value, pk)


class TableIndex:
    """An index. It is sparse: items that lack one of its two attributes are not in it."""

    def __init__(self, name: str, partition: str, sort: str) -> None:
        self.name, self.partition, self.sort = name, partition, sort
        self._entries: dict[str, tuple[str, Entry]] = {}
        self._partitions: dict[str, list[Entry]] = {}
        self._pending: list[tuple[float, int, str, tuple[str, Entry] | None]] = []
        self._order = count()
        self._latest: dict[str, float] = {}

    def place(self, pk: str, item: Item | None) -> tuple[str, Entry] | None:
        """Return an item's partition and entry; None if it is not in the index."""
        if item is None or self.partition not in item or self.sort not in item:
            return None
        (kind, partition), (_, sort) = comparable(item[self.partition]), comparable(item[self.sort])
        if kind != "S" or partition == "" or sort == "":
            raise invalid(f"One or more parameter values were invalid: index key of {self.name}")
        return partition, (sort, pk)

    def follow(self, pk: str, item: Item | None, visible_at: float) -> None:
        """Show a change of the table from `visible_at` on. Changes of one item keep their order."""
        visible_at = max(visible_at, self._latest.get(pk, 0))
        self._latest[pk] = visible_at
        heapq.heappush(self._pending, (visible_at, next(self._order), pk, self.place(pk, item)))

    def read(
        self, partition: str, now: float, *, at_most: Any = None, forward: bool = True, after: Entry | None = None
    ) -> Iterator[Entry]:
        """Return the visible entries of a partition, in order."""
        self._catch_up(now)
        entries = self._partitions.get(partition, [])
        last = len(entries) if at_most is None else bisect_right(entries, at_most, key=lambda entry: entry[0])
        if forward:
            first = bisect_right(entries, after) if after else 0
            return iter(entries[first:last])
        if after:
            last = min(last, bisect_left(entries, after))
        return reversed(entries[:last])

    def _catch_up(self, now: float) -> None:
        while self._pending and self._pending[0][0] <= now:
            _, _, pk, place = heapq.heappop(self._pending)
            before = self._entries.pop(pk, None)
            if before:
                entries = self._partitions[before[0]]
                entries.pop(bisect_left(entries, before[1]))
            if place:
                self._entries[pk] = place
                insort(self._partitions.setdefault(place[0], []), place[1])
