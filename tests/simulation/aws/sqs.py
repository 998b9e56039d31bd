"""A standard queue: messages come in any order, some twice, and again unless they are deleted."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random
from typing import Any

from simulation.aws.errors import Refusal
from simulation.runtime.faults import Faults
from simulation.runtime.scheduler import Scheduler, Signal


@dataclass
class Message:
    """A message. receives: how often it was received."""

    id: str
    body: str
    receives: int = 0


@dataclass
class _Flight:
    message: Message
    back_at: float


@dataclass
class Queue:
    """A queue. on_arrival: called when a message may be received. sent: the number of messages sent."""

    name: str
    scheduler: Scheduler
    random: Random
    faults: Faults
    visibility_timeout: float
    max_receives: int | None = None
    dead_letters: "Queue | None" = None
    on_arrival: Callable[[], None] = lambda: None
    sent: int = 0
    lost: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._order = count()
        self._waiting: list[tuple[float, int, Message]] = []
        self._ready: list[Message] = []
        self._flights: dict[str, _Flight] = {}
        self._polls: list[Signal] = []

    @property
    def url(self) -> str:
        return f"https://sqs.us-east-1.amazonaws.com/111122223333/{self.name}"

    def send_message(self, **request: Any) -> dict[str, Any]:
        self._check(request)
        if not 0 <= request.get("DelaySeconds", 0) <= 900:
            raise Refusal("InvalidParameterValue", "DelaySeconds must be >= 0 and <= 900")
        if not request["MessageBody"] or len(request.get("MessageGroupId", "x")) > 128:
            raise Refusal("InvalidParameterValue", "The message has no body, or its group's name is too long")
        return {"MessageId": self.send(request["MessageBody"], request.get("DelaySeconds", 0))}

    def change_message_visibility(self, **request: Any) -> dict[str, Any]:
        self._check(request)
        flight = self._flights.get(request["ReceiptHandle"])
        if flight is None or flight.back_at <= self.scheduler.now:
            raise Refusal("MessageNotInflight", "The message is not in flight")
        flight.back_at = self.scheduler.now + request["VisibilityTimeout"]
        self.scheduler.call_later(request["VisibilityTimeout"], lambda: self._come_back(request["ReceiptHandle"]))
        return {}

    def receive_message(self, **request: Any) -> dict[str, Any]:
        """Receive messages. A long poll ends with the first one."""
        self._check(request)
        end, asked = self.scheduler.now + request["WaitTimeSeconds"], request["AttributeNames"]
        while not (found := self.receive(request["MaxNumberOfMessages"])) and self.scheduler.now < end:
            arrived = Signal(self.scheduler)
            self._polls.append(arrived)
            arrived.wait(end - self.scheduler.now)
        return {
            "Messages": [
                {"MessageId": message.id, "ReceiptHandle": handle, "Body": message.body}
                | ({"Attributes": {asked[0]: str(message.receives)}} if asked else {})
                for handle, message in found.items()
            ]
        }

    def delete_message(self, **request: Any) -> dict[str, Any]:
        self._check(request)
        self.delete(request["ReceiptHandle"])
        return {}

    def get_queue_attributes(self, **request: Any) -> dict[str, Any]:
        """Return the numbers of messages. They are approximate, as documented: sometimes too low."""
        self._check(request)
        counts = {
            "ApproximateNumberOfMessages": len(self._ready),
            "ApproximateNumberOfMessagesDelayed": len(self._waiting),
            "ApproximateNumberOfMessagesNotVisible": len(self._flights),
        }
        wrong = self.faults.happens("queue counts wrong", 0.05)
        shown = {name: self.random.randrange(number + 1) if wrong else number for name, number in counts.items()}
        return {"Attributes": {name: str(shown[name]) for name in request["AttributeNames"]}}

    def send(self, body: str, delay: float = 0) -> str:
        """Send a message; by a fault it is lost or doubled."""
        message = Message(f"{self.random.getrandbits(128):032x}", body)
        self.sent += 1
        rates = self.faults.rates
        if self.faults.happens(f"message lost: {self.name}", rates.lost_message):
            self.lost.append(body)
            return message.id
        self._send(message, delay)
        if self.faults.happens(f"message doubled: {self.name}", rates.duplicate_message):
            self._send(Message(message.id, body), delay + self.random.expovariate(1 / 20))
        return message.id

    def receive(self, most: int) -> dict[str, Message]:
        """Return up to `most` messages by receipt handle, and hide them for the visibility timeout."""
        received: dict[str, Message] = {}
        while self._ready and len(received) < most:
            message = self._ready.pop(self.random.randrange(min(len(self._ready), 5)))
            message.receives += 1
            if self.max_receives is not None and message.receives > self.max_receives:
                if self.dead_letters is not None:
                    self.dead_letters._ready.append(message)
                continue
            handle = f"{message.id}/{next(self._order)}"
            self._flights[handle] = _Flight(message, self.scheduler.now + self.visibility_timeout)
            self.scheduler.call_later(self.visibility_timeout, partial(self._come_back, handle))
            received[handle] = message
        return received

    def delete(self, handle: str) -> None:
        self._flights.pop(handle, None)

    def redrive(self, source: "Queue") -> int:
        """Move all messages of a dead-letter queue back. Return their number."""
        messages, source._ready = source._ready, []
        for message in messages:
            self._send(Message(message.id, message.body), 0)
        return len(messages)

    @property
    def size(self) -> int:
        """Return the number of messages that are not deleted."""
        return len(self._ready) + len(self._waiting) + len(self._flights)

    @property
    def bodies(self) -> list[str]:
        """Return the bodies of the messages that are not deleted."""
        waiting = [message for _, _, message in self._waiting]
        return [each.body for each in (*self._ready, *waiting, *(flight.message for flight in self._flights.values()))]

    def keeps_unread(self, text: str) -> bool:
        """Whether a message with this text was never received."""
        kept = [*self._ready, *(message for _, _, message in self._waiting)]
        return any(text in message.body and not message.receives for message in kept)

    def _send(self, message: Message, delay: float) -> None:
        delay += self.random.expovariate(1 / 0.02)
        if self.faults.happens(f"message slow: {self.name}", self.faults.rates.slow_message):
            delay += self.random.expovariate(1 / 60)
        self.scheduler.call_later(delay, lambda: self._arrive(message))
        heapq.heappush(self._waiting, (self.scheduler.now + delay, next(self._order), message))

    def _arrive(self, message: Message) -> None:
        while self._waiting and self._waiting[0][0] <= self.scheduler.now:
            heapq.heappop(self._waiting)
        self._make_ready(message)

    def _come_back(self, handle: str) -> None:
        flight = self._flights.get(handle)
        if flight and flight.back_at <= self.scheduler.now + 1e-9:
            del self._flights[handle]
            self._make_ready(flight.message)

    def _make_ready(self, message: Message) -> None:
        self._ready.append(message)
        self.on_arrival()
        polls, self._polls = self._polls, []
        for poll in polls:
            poll.set()

    def _check(self, request: dict[str, Any]) -> None:
        if request["QueueUrl"] != self.url:
            raise Refusal("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
