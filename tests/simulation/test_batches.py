"""Batches under random faults, past their window, in many parts: each line has exactly one result."""

from typing import Any

import pytest

from inference_api.batches import driver, join
from inference_api.handlers import batches
from simulation.aws import s3
from simulation.aws.dynamodb import DynamoDb
from simulation.callers.job_callers import Habits
from simulation.callers.trial import MODES, Trial
from simulation.invariants.check import breaches
from simulation.runtime.faults import Rates
from simulation.world.world import World

SMALL: dict[str, Any] = {"jobs": 3, "after_retention": False, "unknown_messages": 0, "habits": Habits.only_submit()}


def run(**trial: Any) -> World:
    """Run a trial, which must have no breach. Return the world after it."""
    world = World(Trial(**SMALL | trial))
    world.run()
    assert breaches(world) == []
    return world


def ends(world: World) -> list[str]:
    return [batch.last["status"] for batch in world.batch_callers.followed]


@pytest.mark.parametrize("mode", MODES)
def test_no_fault_loses_a_line_of_a_batch(mode: str) -> None:
    """`make chaos` runs many of these."""
    world = run(mode=mode, seed=2, batches=3)
    assert set(ends(world)) <= {"completed", "cancelled", "expired"}
    assert sum(len(batch.output) for batch in world.batch_callers.followed) > 20


def test_a_healthy_batch_runs_each_line_once_and_ends_within_minutes() -> None:
    world = run(mode="async", batches=4, rates=Rates(), outages=0)
    lines = [run.prompt for run in world.deployment.runs if run.prompt.startswith("batch ")]
    assert len(lines) == len(set(lines)) > 100
    for batch in world.batch_callers.followed:
        if batch.last["status"] == "completed":
            assert batch.last["completed_at"] - batch.last["created_at"] < 300


def test_a_batch_that_is_cancelled_at_once_has_no_results() -> None:
    world = run(mode="async", batches=30, batch_lines=20, rates=Rates(), outages=0, seed=1)
    unchecked = [batch for batch in world.batch_callers.followed if not batch.last["request_counts"]["total"]]
    assert unchecked
    assert all(batch.last["cancelled_at"] for batch in unchecked)


def test_the_answers_of_a_block_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that dies, or fails, reads all answers again. A hundred calls would seldom all succeed."""
    alone: list[str] = []
    read = DynamoDb.get_item

    def get_item(self: DynamoDb, **request: Any) -> dict[str, Any]:
        alone.append(request["Key"]["pk"]["S"])
        return read(self, **request)

    monkeypatch.setattr(DynamoDb, "get_item", get_item)
    world = run(mode="async", batches=1, rates=Rates(), outages=0, seed=2)
    (batch,) = world.batch_callers.followed
    assert len(batch.output) > 20
    assert not [key for key in alone if key.startswith("output#")]


def test_a_window_that_ends_early_leaves_an_error_for_each_line_that_was_not_executed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "WINDOW_IN_SECONDS", 300)
    world = run(mode="realtime", batches=3, seed=4, median=20.0, capacity=2)
    expired = [batch for batch in world.batch_callers.followed if batch.last["status"] == "expired"]
    assert any(batch.output for batch in expired)
    assert any(line["error"] and line["error"]["code"] == "batch_expired" for batch in expired for line in batch.errors)


def test_a_large_output_is_joined_from_parts_in_several_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are smaller here than S3 allows."""
    for module in (join, driver):
        monkeypatch.setattr(module, "PART_BYTES", 10_000)
    monkeypatch.setattr(s3, "_LEAST_PART_BYTES", 5_000)
    world = run(mode="realtime", seed=1, batches=3)
    keys = [f"file/{batch.last['output_file_id']}" for batch in world.batch_callers.followed]
    assert max(len(world.deployment.bucket.objects[key][-1].body) for key in keys if key != "file/None") > 50_000


def test_a_batch_leaves_half_of_its_owners_open_jobs() -> None:
    world = run(mode="realtime", batches=1, seed=3, rates=Rates(), outages=0, open_jobs=20, median=20.0)
    counted = [
        int(write.new["open"]["N"])
        for write in world.history.writes_of_others
        if write.new and write.pk.startswith("owner#") and "open" in write.new
    ]
    assert max(counted) == 10
