"""A job's life, explored completely: no order of steps and faults breaks a promise."""

import pytest

from life_cycle.async_mode import AsyncMode
from life_cycle.exploration import Exploration, Found
from life_cycle.functions import Functions
from life_cycle.mutated_life import life_with
from life_cycle.queue_mode import QueueMode

MODES = [AsyncMode, QueueMode]
ONE_ATTEMPT = life_with(("MAX_ATTEMPTS = 3", "MAX_ATTEMPTS = 1"))


class OneWorker(QueueMode):
    """So that two jobs stay explorable."""

    workers = 1


def tell(capsys: pytest.CaptureFixture[str], what: str, found: Found) -> None:
    """Into the output of the tests."""
    with capsys.disabled():
        print(f"\n  {what}: {found}", end="")


@pytest.mark.parametrize("mode", MODES)
def test_one_job_with_three_attempts(mode: type[Functions], capsys: pytest.CaptureFixture[str]) -> None:
    found = Exploration(mode()).run()
    tell(capsys, f"one job, {mode.__name__}", found)
    assert found.broken is None, str(found)


@pytest.mark.parametrize("mode", MODES)
def test_two_sweepers_at_once(mode: type[Functions], capsys: pytest.CaptureFixture[str]) -> None:
    found = Exploration(mode(ONE_ATTEMPT, sweepers=2, looks_apart=True)).run()
    tell(capsys, f"one attempt, two sweepers, {mode.__name__}", found)
    assert found.broken is None, str(found)


@pytest.mark.parametrize("mode", [AsyncMode, OneWorker])
def test_two_jobs_of_an_owner_with_one_slot(mode: type[Functions], capsys: pytest.CaptureFixture[str]) -> None:
    found = Exploration(mode(ONE_ATTEMPT), jobs=2, slots=1).run()
    tell(capsys, f"two jobs, one slot, {mode.__name__}", found)
    assert found.broken is None, str(found)
    assert found.refusals


def test_a_limit_that_is_read_before_the_transaction_is_no_limit() -> None:
    changes = frozenset(["the limit is not in the transaction"])
    found = Exploration(AsyncMode(ONE_ATTEMPT, changes), jobs=2, slots=1).run()
    assert (found.broken or "").startswith("I8: more unfinished jobs")
