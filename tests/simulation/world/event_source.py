"""Lambda's event source for a queue: batches, maximum concurrency, partial batch responses."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from simulation.aws.sqs import Message, Queue
from simulation.runtime.functions import Function, Invocation
from simulation.runtime.scheduler import Scheduler


@dataclass
class EventSource:
    """Starts `function` for messages of `queue`, with at most `maximum_concurrency` runs at once."""

    queue: Queue
    function: Function
    batch_size: int
    maximum_concurrency: int
    scheduler: Scheduler
    running: int = 0
    most_running: int = 0

    def __post_init__(self) -> None:
        self.queue.on_arrival = self.poll

    def poll(self) -> None:
        """Invoke the function for each batch, up to the maximum concurrency."""
        while self.running < self.maximum_concurrency:
            received = self.queue.receive(self.batch_size)
            if not received:
                return
            self.running += 1
            self.most_running = max(self.most_running, self.running)
            event = {"Records": [self._record(handle, message) for handle, message in received.items()]}
            invocation = self.function.start(event)
            invocation.finished.then(partial(self._settle, invocation))

    def _settle(self, invocation: Invocation) -> None:
        """Delete the messages that succeeded; the others come back after their visibility timeout."""
        self.running -= 1
        if invocation.outcome == "returned":
            failures = {each["itemIdentifier"] for each in (invocation.result or {}).get("batchItemFailures", [])}
            known = {record["messageId"] for record in invocation.event["Records"]}
            if failures <= known:  # an unknown identifier fails the whole batch
                for record in invocation.event["Records"]:
                    if record["messageId"] not in failures:
                        self.queue.delete(record["receiptHandle"])
        self.scheduler.call_later(0, self.poll)

    def _record(self, handle: str, message: Message) -> dict[str, Any]:
        """Return a record, with the members that handlers read."""
        attributes = {"ApproximateReceiveCount": str(message.receives)}
        return {"messageId": message.id, "receiptHandle": handle, "body": message.body, "attributes": attributes}
