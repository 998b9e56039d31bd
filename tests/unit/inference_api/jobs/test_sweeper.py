"""A sweep looks at several due jobs at once, the longest overdue first."""

from collections.abc import Iterator
from itertools import count
from threading import Barrier, Lock
from types import SimpleNamespace
from typing import Any

from inference_api.jobs.sweeper import sweep
from inference_api.shared.runtime import Runtime

OVERDUE = {"a": 50.0, "b": 10.0, "c": 40.0, "d": 30.0, "e": 20.0}


class Rows:
    """Due jobs in two of the shards. `looked_at` holds the ids in order."""

    def __init__(self) -> None:
        self.looked_at: list[str] = []

    def due(self, shard: int) -> Iterator[tuple[float, str]]:
        yield from sorted((since, job) for job, since in OVERDUE.items() if ord(job) % 2 == shard)

    def get(self, job_id: str) -> None:
        self.looked_at.append(job_id)


def test_a_sweep_without_the_time_for_all_looks_at_the_longest_overdue() -> None:
    rows, turns = Rows(), count(1)
    service: Any = SimpleNamespace(table=rows)
    assert sweep(service, lambda: next(turns) <= 3) == 3
    assert sorted(rows.looked_at) == ["b", "d", "e"]


def test_work_is_done_side_by_side_and_no_more_at_once_than_allowed() -> None:
    three, lock, running, most_running, done = Barrier(3, timeout=60), Lock(), 0, 0, []

    def work(item: int) -> None:
        nonlocal running, most_running
        with lock:
            running += 1
            most_running = max(most_running, running)
        three.wait()  # no thread goes on before three are here
        with lock:
            running -= 1
            done.append(item)

    Runtime().side_by_side(work, iter(range(9)), 3)
    assert (sorted(done), most_running) == (list(range(9)), 3)
