"""The content of one DynamoDB table: items, recent versions, lagging indexes, late deletion of expired items."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from simulation.aws.expressions import Item
from simulation.aws.table_index import TableIndex
from simulation.aws.table_items import Units
from simulation.runtime.scheduler import Scheduler

KEPT_VERSIONS_SECONDS = 5
LATEST_TTL_DELETION_IN_SECONDS = 48 * 3600
LONGEST_INDEX_LAG_IN_SECONDS = 10


class Write(NamedTuple):
    """A committed change of one item. size: the item's bytes afterwards. new: None after its deletion."""

    at: float
    pk: str
    old: Item | None
    new: Item | None
    size: int


@dataclass
class Lags:
    """Mean lags of stale reads and of indexes, in seconds."""

    share_of_stale_reads: float = 0.2
    stale_read: float = 0.3
    index: float = 0.05
    slow_index: float = 3.0
    share_of_slow_index: float = 0.02


@dataclass
class Table:
    """A table. observers: called with all writes of each committed request."""

    name: str
    indexes: list[TableIndex]
    scheduler: Scheduler
    random: Random
    lags: Lags = field(default_factory=Lags)
    units: Units = field(default_factory=Units)
    observers: list[Callable[[list[Write]], None]] = field(default_factory=list)
    items: dict[str, Item] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._earlier: dict[str, list[tuple[float, Item | None]]] = {}

    def size(self, pk: str) -> int:
        """Return an item's bytes; 0 if it does not exist."""
        return self._sizes.get(pk, 0)

    def read(self, pk: str, *, consistent: bool) -> Item | None:
        """Return an item; unless `consistent`, sometimes an earlier version."""
        self.units.read(self.size(pk), consistent=consistent)
        if not consistent and self.random.random() < self.lags.share_of_stale_reads:
            as_of = self.scheduler.now - self.random.expovariate(1 / self.lags.stale_read)
            for replaced_at, item in self._earlier.get(pk, []):
                if replaced_at > as_of:
                    return item
        return self.items.get(pk)

    def commit(self, changes: Iterable[tuple[str, Item | None, int]]) -> None:
        """Write all changes at once: keys, new items and their sizes."""
        writes = []
        for pk, new, size in changes:
            writes.append(Write(self.scheduler.now, pk, self.items.get(pk), new, size))
            self._tell_indexes(writes[-1])
            self._sizes[pk] = size
            self._replace(pk, new)
        for observe in self.observers:
            observe(writes)

    def _replace(self, pk: str, new: Item | None) -> None:
        now, old = self.scheduler.now, self.items.pop(pk, None)
        earlier = [version for version in self._earlier.get(pk, []) if version[0] > now - KEPT_VERSIONS_SECONDS]
        self._earlier[pk] = [*earlier, (now, old)]
        if new is None:
            return
        self.items[pk] = new
        expiry = new.get("expires_at")
        if expiry and expiry != (old or {}).get("expires_at"):
            late = self.random.uniform(0, LATEST_TTL_DELETION_IN_SECONDS)
            self.scheduler.call_later(float(expiry["N"]) - now + late, lambda: self._delete_expired(pk))

    def _tell_indexes(self, write: Write) -> None:
        for index in self.indexes:
            before, after = index.place(write.pk, write.old), index.place(write.pk, write.new)
            if before != after:
                self.units.index_writes += (before is not None) + (after is not None)
                slow = self.random.random() < self.lags.share_of_slow_index
                lag = self.random.expovariate(1 / (self.lags.slow_index if slow else self.lags.index))
                index.follow(write.pk, write.new, self.scheduler.now + min(lag, LONGEST_INDEX_LAG_IN_SECONDS))

    def _delete_expired(self, pk: str) -> None:
        item = self.items.get(pk)
        if item and "expires_at" in item and float(item["expires_at"]["N"]) <= self.scheduler.now:
            self.commit([(pk, None, 0)])
