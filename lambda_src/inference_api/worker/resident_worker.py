"""The worker on a machine: runs jobs from the queue, a few side by side, and ends after a long time without jobs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from botocore.config import Config

from inference_api.jobs import worker
from inference_api.jobs.backends.queue_backend import QueueBackend
from inference_api.jobs.service import JobService
from inference_api.jobs.state import transitions
from inference_api.jobs.state.job import Job
from inference_api.machines import row as machine_row
from inference_api.machines.row import BEAT_IN_SECONDS, BUSY, IDLE, LOADING, STOPPING, MachineRow
from inference_api.machines.rows import MachineRows, ReplacedError
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.log import log, place_of
from inference_api.shared.runtime import Runtime
from inference_api.shared.sqs import Message

# The exit statuses. systemd powers the machine off after NO_WORK only.
NO_WORK, INTERRUPTED = 0, 1

_WAIT_IN_SECONDS = 20  # the most that SQS allows
# Settings of a client that waits so long.
LONG_POLL = Config(
    connect_timeout=5,
    read_timeout=_WAIT_IN_SECONDS + 10,
    retries={"mode": "standard", "total_max_attempts": 2},
)
_MOST_MESSAGES = 10  # in one ReceiveMessage
_PING_EVERY_SECONDS = 2
_LONGEST_PAUSE_IN_SECONDS = 30


class LocalModel(worker.InvokableModel, Protocol):
    """The model's server on this machine."""

    def is_ready(self) -> bool:
        """Whether the server takes requests now."""
        ...

    def interrupt(self) -> None:
        """End all calls, also new ones, as if they had not run."""
        ...


# alongside(work, beat, seconds): runs `work`, and calls `beat` every `seconds` until it ends.
Alongside = Callable[[Callable[[], None], Callable[[], None], float], None]


@dataclass(eq=False)
class _Held:
    """A job that this process works on. job: the row with its claim, as last written."""

    job: Job


@dataclass
class ResidentWorker:
    """The worker of one machine.

    number: the machine's. queue: botocore's `sqs`, with time for a long poll. batch: how many jobs the model takes at
    once.
    """

    number: int
    instance_id: str
    service: JobService
    rows: MachineRows
    queue: Any
    queue_url: str
    server: LocalModel
    runtime: Runtime
    alongside: Alongside
    idle_in_seconds: float
    batch: int

    def __post_init__(self) -> None:
        self._interrupted = self._replaced = False
        self._row = self._earlier = MachineRow(self.number)
        self._in_hand: list[_Held] = []
        self._failures = 0

    def interrupt(self) -> None:
        """Give back the jobs in hand, receive no more, and end, because the machine stops. Safe in a signal handler."""
        if not self._interrupted:  # a second signal interrupts the first one's handler
            self._interrupted = True
            self.server.interrupt()

    def run(self) -> int:
        """Work until there has been nothing to do for long, or until interrupted. Return the exit status."""
        while not self._ended:
            try:
                self._register()
                break
            except PASSING_ERRORS as error:
                self._pause(error)
        while not self._ended:
            try:
                if self._turn():
                    break
                self._failures = 0
            except ReplacedError:
                log({"machine": self.number, "instance": self.instance_id, "cause": "replaced by another instance"})
                self._replaced = True
            except PASSING_ERRORS as error:
                self._pause(error)
        return INTERRUPTED if self._interrupted else NO_WORK

    @property
    def _ended(self) -> bool:
        return self._interrupted or self._replaced

    def _register(self) -> None:
        self._earlier = self.rows.get(self.number)
        row = machine_row.register(self._earlier, self.instance_id, self.runtime.now())
        self.rows.register(row)
        self._row = row

    def _turn(self) -> bool:
        """Wait for work, and do all that comes without a break. Return whether the worker may end for lack of work."""
        if not self.server.is_ready():
            self._wait_for_the_model()
            return False
        if self._row.state == LOADING:
            earlier, self._earlier = self._earlier, self._row
            self._write(machine_row.begin_service(self._row, earlier, self.runtime.now()))
            log({"machine": self.number, "state": IDLE})  # the set-up waits for this line
        else:
            self._beat(IDLE)
        if messages := self._receive(self.batch):
            self._work(messages)
            return False
        if self.runtime.now() - self._row.busy_at < self.idle_in_seconds:
            return False
        return self._stop()

    def _stop(self) -> bool:
        """Say that the machine stops, then look for messages once more. Return whether the worker may end.

        A sender reads the row after it has sent its message. If it does not see that the machine stops, this look finds
        the message.
        """
        self._beat(STOPPING)
        if not (messages := self._receive(self.batch)):
            return not self._interrupted
        self._work(messages)
        return False

    def _wait_for_the_model(self) -> None:
        if self._row.state != LOADING or self.runtime.now() - self._row.seen_at >= BEAT_IN_SECONDS:
            self._beat(LOADING)
        self.runtime.sleep(_PING_EVERY_SECONDS)

    def _receive(self, most: int) -> list[Message]:
        """Receive messages. After an interruption they go back to the queue at once."""
        answer = self.queue.receive_message(
            QueueUrl=self.queue_url,
            MaxNumberOfMessages=min(most, _MOST_MESSAGES),
            WaitTimeSeconds=_WAIT_IN_SECONDS,
            AttributeNames=["ApproximateReceiveCount"],
        )
        messages = [_as_event(message) for message in answer.get("Messages", [])]
        if not self._interrupted:
            return messages
        for message in messages:
            self._put_back(message)
        return []

    def _work(self, messages: list[Message]) -> None:
        """Work on messages, and on more that come. Each job that ends makes room for the next one."""

        def work() -> None:
            self.runtime.side_by_side(self._work_on, self._and_more(messages), self.batch)

        self._beat_and_renew()
        self.alongside(work, self._beat_and_renew, BEAT_IN_SECONDS)
        self._beat(IDLE)

    def _and_more(self, messages: list[Message]) -> Iterator[Message]:
        """Yield the messages, then more from the queue. The next is asked for when there is room for it."""
        yield from messages
        while not self._ended and self.server.is_ready() and ((more := self._receive(1)) or self._in_hand):
            yield from more

    def _work_on(self, message: Message) -> None:
        """Work on one message. Raises nothing, because the process must outlive every job.

        After a failure of the network a job's message may come back while an attempt still runs here. Then the message
        is dropped. If the attempt brings no output, the sweeper sends another message.
        """
        try:
            if all(held.job.id != worker.job_of(message) for held in [*self._in_hand]):
                worker.work_on(message, self.service, self.server, self._holding)
            self.queue.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["receiptHandle"])
        except Exception as error:
            log({"message": message["messageId"], "cause": place_of(error)})

    @contextmanager
    def _holding(self, job: Job) -> Iterator[None]:
        held = _Held(job)
        self._in_hand.append(held)
        try:
            yield
        finally:
            self._in_hand.remove(held)

    def _beat_and_renew(self) -> None:
        """Write a beat, and renew the leases of the jobs in hand. Raises nothing."""
        for held in [*self._in_hand]:
            self._renew(held)
        try:
            self._beat(BUSY)
        except ReplacedError:
            self._replaced = True
        except Exception as error:
            log({"machine": self.number, "cause": f"{place_of(error)} at a beat"})

    def _renew(self, held: _Held) -> None:
        """Renew a claim's lease, which is over soon after the death of this process. Raises nothing."""
        job = held.job
        try:
            row, renewed = self.service.table.change(job, lambda row: transitions.renew(row, job, self.runtime.now()))
            if renewed:
                held.job = row
        except Exception as error:
            log({"job": job.id, "cause": f"{place_of(error)} at renewing"})

    def _beat(self, state: str) -> None:
        self._write(machine_row.beat(self._row, state, self.runtime.now()))

    def _write(self, row: MachineRow) -> None:
        """Write the machine's row. Every beat writes the whole row, so the next one makes up for one that fails."""
        self._row = row
        self.rows.beat(row)

    def _put_back(self, message: Message) -> None:
        backend = self.service.backend
        assert isinstance(backend, QueueBackend)
        try:
            backend.hide(message["receiptHandle"], 0)
        except PASSING_ERRORS as error:
            log({"message": message["messageId"], "cause": f"{type(error).__name__} at giving back"})

    def _pause(self, error: Exception) -> None:
        """Pause after a failure, longer after each one in a row, with jitter."""
        log({"machine": self.number, "cause": place_of(error)})
        longest = min(2**self._failures, _LONGEST_PAUSE_IN_SECONDS)
        self._failures = min(self._failures + 1, 10)
        self.runtime.sleep(self.runtime.random.uniform(longest / 2, longest))


def _as_event(message: dict[str, Any]) -> Message:
    """Return a message in the form of Lambda's event source."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
    }
