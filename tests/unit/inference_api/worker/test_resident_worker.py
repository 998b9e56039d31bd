"""The worker on a machine: when it takes work, gives it back, and ends. Trials and exploration run it with faults."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from inference_api.jobs import worker
from inference_api.jobs.backends.queue_backend import QueueBackend
from inference_api.jobs.state import transitions
from inference_api.jobs.state.job import Job
from inference_api.machines.row import BUSY, IDLE, LOADING, STOPPING, MachineRow
from inference_api.machines.rows import ReplacedError
from inference_api.shared.job_times import JobTimes
from inference_api.shared.runtime import Runtime
from inference_api.worker.resident_worker import INTERRUPTED, NO_WORK, ResidentWorker

MESSAGE = {
    "MessageId": "m",
    "ReceiptHandle": "receipt",
    "Body": json.dumps({"job": "0" * 32, "waits": 0}),
    "Attributes": {"ApproximateReceiveCount": "1"},
}


JOB = transitions.accept("0" * 32, "a" * 32, 0, JobTimes(3600, 3600, 900))


class Rows:
    """The states that were written, in order. An error in `failures` is raised instead of a write."""

    def __init__(self) -> None:
        self.states: list[str] = []
        self.failures: dict[str, list[Exception]] = {}

    def get(self, number: int) -> MachineRow:
        return MachineRow(number)

    def register(self, row: MachineRow) -> None:
        self.beat(row)

    def beat(self, row: MachineRow) -> None:
        if self.failures.get(row.state):
            raise self.failures[row.state].pop(0)
        self.states.append(row.state)


class World:
    """A worker with doubles around it. answers: those of ReceiveMessage, each a list of messages or an error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.answers, self.rows = 0.0, list[Any](), Rows()
        self.deleted, self.shown, self.worked_on = list[str](), list[tuple[str, int]](), list[str]()
        self.is_ready = True
        self.while_working: Callable[[], None] = lambda: None
        self.while_polling: Callable[[], None] = lambda: None
        queue = SimpleNamespace(
            receive_message=self._receive,
            delete_message=lambda QueueUrl, ReceiptHandle: self.deleted.append(ReceiptHandle),
            change_message_visibility=lambda QueueUrl, ReceiptHandle, VisibilityTimeout: self.shown.append(
                (ReceiptHandle, VisibilityTimeout)
            ),
        )
        parts: dict[str, Any] = {"table": None, "completion": None, "times": JobTimes(3600, 3600, 900)}
        runtime = Runtime(now=lambda: self.now, sleep=self._sleep, side_by_side=_in_turn)
        self.table: Any = SimpleNamespace(change=lambda job, decide: (job, False))
        service: Any = SimpleNamespace(table=self.table, backend=QueueBackend(queue, "url", runtime=runtime, **parts))
        server: Any = SimpleNamespace(is_ready=lambda: self.is_ready, interrupt=lambda: None)
        rows: Any = self.rows
        self.worker = ResidentWorker(
            number=0,
            instance_id="i-1",
            service=service,
            rows=rows,
            queue=queue,
            queue_url="url",
            server=server,
            runtime=runtime,
            alongside=lambda work, beat, seconds: work(),
            idle_in_seconds=100,
            batch=4,
        )
        monkeypatch.setattr(worker, "work_on", self._work_on)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def _receive(self, **request: Any) -> dict[str, Any]:
        self.now += request["WaitTimeSeconds"]
        self.while_polling()
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        return {"Messages": answer} if answer else {}

    def _work_on(self, message: Any, service: Any, server: Any, holding: Any) -> None:
        self.worked_on.append(message["messageId"])
        with holding(JOB):
            self.while_working()


def _in_turn(work: Callable[[Any], None], items: Iterator[Any], most: int) -> None:
    for item in items:
        work(item)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_without_work_it_says_that_it_stops_looks_once_more_and_ends(world: World) -> None:
    assert world.worker.run() == NO_WORK
    assert world.rows.states == [LOADING, IDLE, *4 * [IDLE], STOPPING]
    assert world.now == 5 * 20 + 20  # idle for 100 s, and the last look


def test_work_at_the_last_look_is_taken_and_the_wait_begins_anew(world: World) -> None:
    world.answers = [*5 * [[]], [MESSAGE]]
    assert world.worker.run() == NO_WORK
    assert world.rows.states[6:9] == [STOPPING, BUSY, IDLE]
    assert (world.worked_on, world.deleted) == (["m"], ["receipt"])
    assert world.now >= 6 * 20 + 100


def test_a_message_whose_work_fails_stays_in_the_queue_and_the_worker_goes_on(world: World) -> None:
    def fail() -> None:
        world.while_working = lambda: None
        raise RuntimeError

    world.while_working = fail
    world.answers = [[MESSAGE], [MESSAGE]]
    assert world.worker.run() == NO_WORK
    assert (world.worked_on, world.deleted) == (["m", "m"], ["receipt"])


def test_a_job_in_hand_is_not_begun_again(world: World) -> None:
    """Its lease was lost while the network was down. The sweeper sends another message if needed."""

    def overlapping(work: Callable[[Any], None], items: Iterator[Any], most: int) -> None:
        def work_on_the_next() -> None:
            world.while_working = lambda: None
            _in_turn(work, islice(items, 1), most)

        world.while_working = work_on_the_next
        _in_turn(work, items, most)

    object.__setattr__(world.worker.runtime, "side_by_side", overlapping)
    other = MESSAGE | {"MessageId": "again", "ReceiptHandle": "second receipt"}
    world.answers = [[MESSAGE], [other]]
    assert world.worker.run() == NO_WORK
    assert (world.worked_on, world.deleted, world.shown) == (["m"], ["second receipt", "receipt"], [])


def test_a_renewal_begins_with_the_row_of_the_last_one(world: World) -> None:
    """Otherwise the first try of each write is refused."""
    versions: list[int] = []

    def change(job: Job, decide: Any) -> tuple[Job, bool]:
        versions.append(job.version)
        return replace(job, version=job.version + 1), len(versions) < 3

    def alongside(work: Callable[[], None], beat: Callable[[], None], seconds: float) -> None:
        world.while_working = lambda: _in_turn(lambda _: beat(), iter(range(4)), 1)
        work()

    world.table.change, world.worker.alongside = change, alongside
    world.answers = [[MESSAGE]]
    assert world.worker.run() == NO_WORK
    assert versions == [1, 2, 3, 3]  # the third belongs to another worker's claim


def test_after_sigterm_in_a_long_poll_its_messages_go_back_at_once(world: World) -> None:
    world.while_polling = world.worker.interrupt
    world.answers = [[MESSAGE]]
    assert world.worker.run() == INTERRUPTED
    assert (world.worked_on, world.shown, world.deleted) == ([], [("receipt", 0)], [])


def test_after_sigterm_in_a_job_nothing_more_is_received(world: World) -> None:
    world.while_working = world.worker.interrupt
    world.answers = [[MESSAGE], [MESSAGE]]
    assert world.worker.run() == INTERRUPTED
    assert (world.worked_on, len(world.answers)) == (["m"], 1)


def test_sigterm_at_the_last_look_does_not_count_as_an_end_for_want_of_work(world: World) -> None:
    def interrupt_at_the_last() -> None:
        if STOPPING in world.rows.states:
            world.worker.interrupt()

    world.while_polling = interrupt_at_the_last
    assert world.worker.run() == INTERRUPTED


def test_a_machine_that_was_replaced_finishes_its_work_and_ends(world: World) -> None:
    world.rows.failures = {BUSY: [ReplacedError()]}
    world.answers = [[MESSAGE]]
    assert world.worker.run() == NO_WORK
    assert (world.worked_on, world.deleted) == (["m"], ["receipt"])
    assert STOPPING not in world.rows.states


def test_nothing_is_received_while_the_model_is_not_there(world: World) -> None:
    world.is_ready = False
    beats: list[float] = []

    def wait(seconds: float) -> None:
        world.now += seconds
        beats.append(world.now)
        world.is_ready = world.now >= 50

    object.__setattr__(world.worker.runtime, "sleep", wait)
    world.answers = [[MESSAGE]]
    assert world.worker.run() == NO_WORK
    assert world.rows.states[:5] == [LOADING, LOADING, LOADING, IDLE, BUSY]  # it registers, and beats each 20 s
    assert len(beats) == 25


@pytest.mark.parametrize("state", [LOADING, IDLE, STOPPING])
def test_it_survives_a_table_that_fails(world: World, state: str) -> None:
    world.rows.failures = {state: [EndpointConnectionError(endpoint_url="https://dynamodb") for _ in range(5)]}
    assert world.worker.run() == NO_WORK
    assert world.rows.states[-1] == STOPPING


def test_it_survives_a_queue_that_fails_and_takes_its_time(world: World) -> None:
    world.answers = [EndpointConnectionError(endpoint_url="https://sqs") for _ in range(8)]
    assert world.worker.run() == NO_WORK
    pauses = world.now - 8 * 20 - 20
    assert pauses > 0.5 + 1 + 2 + 4 + 8 + 3 * 15 - 20
