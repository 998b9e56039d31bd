"""Virtual time: order, waiting and death of tasks."""

import pytest

from simulation.runtime.scheduler import Killed, Scheduler, Signal


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler(100.0)


def test_tasks_run_in_the_order_of_their_times(scheduler: Scheduler) -> None:
    seen = []

    def walk(name: str, pace: float) -> None:
        for _ in range(3):
            scheduler.sleep(pace)
            seen.append((scheduler.now, name))

    scheduler.spawn(lambda: walk("slow", 2.5))
    scheduler.spawn(lambda: walk("quick", 1))
    scheduler.run()
    assert seen == [(101, "quick"), (102, "quick"), (102.5, "slow"), (103, "quick"), (105, "slow"), (107.5, "slow")]


def test_a_run_ends_after_its_time(scheduler: Scheduler) -> None:
    seen: list[float] = []

    def walk() -> None:
        for _ in range(5):
            scheduler.sleep(10)
            seen.append(scheduler.now)

    scheduler.spawn(walk)
    scheduler.run(25)
    assert (seen, scheduler.now) == ([110, 120], 125)
    scheduler.run()
    assert seen == [110, 120, 130, 140, 150]


def test_waiting_ends_with_the_signal_or_its_timeout(scheduler: Scheduler) -> None:
    signal, seen = Signal(scheduler), []
    scheduler.call_later(5, signal.set)
    scheduler.spawn(lambda: seen.append((signal.wait(2), scheduler.now)))
    scheduler.spawn(lambda: seen.append((signal.wait(20), scheduler.now)))
    scheduler.spawn(lambda: seen.append((signal.wait(), scheduler.now)), delay=8)
    scheduler.run()
    assert seen == [(False, 102), (True, 105), (True, 108)]


def test_a_killed_task_does_nothing_more(scheduler: Scheduler) -> None:
    seen = []

    def work() -> None:
        try:
            scheduler.sleep(10)
            seen.append("worked")
        except Exception:
            seen.append("survived")
        finally:
            with pytest.raises(Killed):
                scheduler.sleep(1)  # a call in `finally` has no effect, either

    task = scheduler.spawn(work)
    scheduler.call_later(5, task.kill)
    scheduler.run()
    assert (seen, task.finished.is_set, scheduler.now) == ([], True, 110)


def test_a_task_that_is_killed_before_its_start_never_runs(scheduler: Scheduler) -> None:
    seen: list[str] = []
    task = scheduler.spawn(lambda: seen.append("began"), delay=3)
    scheduler.call_later(1, task.kill)
    scheduler.run()
    assert (seen, task.finished.is_set) == ([], True)


def test_the_run_raises_the_error_of_a_task(scheduler: Scheduler) -> None:
    scheduler.spawn(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        scheduler.run()
