"""Places of held callers: limited, shared among callers, and none is lost with the function that had it."""

from random import Random
from typing import Any

import pytest

from inference_api.jobs.state.waiting_places import WaitingPlaces
from inference_api.shared.runtime import Runtime
from simulation.aws.dynamodb import DynamoDb
from simulation.aws.errors import Refusal
from simulation.aws.table import Table
from simulation.aws.transactions import Transactions
from simulation.callers.job_callers import Habits
from simulation.callers.trial import Trial
from simulation.runtime.faults import Rates
from simulation.runtime.scheduler import Scheduler
from simulation.world.world import World

ALICE, BOB, CAROL = "a" * 32, "b" * 32, "c" * 32


class Places:
    """Places in a simulated table. now: seconds; writes: the number of writes so far."""

    def __init__(self, most: int) -> None:
        scheduler = Scheduler(0)
        self._table = Table("jobs", [], scheduler, Random(1))
        self._database = DynamoDb(self._table, Transactions(scheduler, Random(1)))
        self.now, self.writes = 1_800_000_000.0, 0
        self.places = WaitingPlaces(self, "jobs", Runtime(now=lambda: self.now, random=Random(1)), most)

    def update_item(self, **request: Any) -> dict[str, Any]:
        self.writes += 1
        try:
            return self._database.update_item(**request)
        except Refusal as refusal:
            raise refusal.for_caller("UpdateItem") from None

    def take(self, owner: str) -> str | None:
        return self.places.take(owner, self.now + 25)

    @property
    def item(self) -> dict[str, Any]:
        return dict(self._table.items["waiting"])


def test_seventy_quick_calls_share_eight_places() -> None:
    table = Places(most=16)
    held: list[str] = []
    for _ in range(70):
        if len(held) == 8:
            table.places.give_back(ALICE, held.pop(0))
        place = table.take(ALICE)
        assert place
        held.append(place)
    assert table.writes == 70 + 62, "one write to take a place, one to give it back"


def test_no_more_callers_are_held_at_once_than_allowed() -> None:
    table = Places(most=4)
    taken = [(owner, table.take(owner)) for owner in (ALICE, BOB, ALICE, BOB)]
    assert all(place for _, place in taken)
    assert table.take(CAROL) is None
    owner, place = taken[0]
    assert place
    table.places.give_back(owner, place)
    assert table.take(CAROL)


@pytest.mark.parametrize(("most", "share"), [(1, 1), (2, 1), (5, 3), (50, 25)])
def test_a_caller_gets_half_of_the_places_and_leaves_the_rest_to_others(most: int, share: int) -> None:
    table = Places(most)
    assert sum(table.take(ALICE) is not None for _ in range(2 * most)) == share
    assert sum(table.take(BOB) is not None for _ in range(2 * most)) == min(share, most - share)


def test_the_place_of_a_function_that_was_killed_comes_back() -> None:
    table = Places(most=2)
    assert table.take(ALICE)
    assert table.take(BOB)
    table.now += 29
    assert table.take(ALICE) is None
    table.now += 2
    assert table.take(ALICE)
    assert table.take(BOB)


def test_a_place_given_back_twice_is_one_place_and_an_empty_item_stays_small() -> None:
    table = Places(most=2)
    first, second = table.take(ALICE), table.take(BOB)
    assert first
    assert second
    for _ in range(2):
        table.places.give_back(ALICE, first)
    assert table.item["places"] == {"SS": [second]}
    table.places.give_back(BOB, second)
    assert table.item == {"pk": {"S": "waiting"}}


def test_without_waiting_callers_nothing_is_written() -> None:
    table = Places(most=0)
    assert (table.take(ALICE), table.writes) == (None, 0)


@pytest.mark.parametrize("mode", ["async", "realtime"])
def test_every_place_is_given_back(mode: str) -> None:
    world = World(Trial(mode=mode, jobs=60, arrivals=200, rates=Rates(), outages=0, habits=Habits(waiting=0.5)))
    world.run()
    writes = [write.new for write in world.history.writes_of_others if write.pk == "waiting"]
    assert max(len((item or {}).get("places", {"SS": []})["SS"]) for item in writes) > 2
    assert writes[-1] == {"pk": {"S": "waiting"}}
