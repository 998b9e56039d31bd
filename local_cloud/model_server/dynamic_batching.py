"""Requests that a server puts together, and runs one such batch at a time.

DJL Serving's front end: a worker takes what waits, up to `batch_size`, and gives a batch that is not full
`max_batch_delay` to fill (deepjavalibrary/djl-serving wlm/TemporaryBatchAggregator.java, WlmConfigManager.java: 1
and 100 ms by default).
"""

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from local_cloud.model_server.answer import Answer

DEFAULT_DELAY_IN_MS = 100


@dataclass(frozen=True)
class Batching:
    """How many requests run together, and how long a batch waits to fill."""

    size: int
    delay_in_seconds: float


class BatchQueue:
    """One model copy behind a queue; each decoding step of a batch takes `seconds_per_token`."""

    def __init__(
        self, batching: Batching, answer_together: Callable[[list[bytes]], list[Answer]], seconds_per_token: float
    ) -> None:
        self._batching = batching
        self._answer_together = answer_together
        self._seconds_per_token = seconds_per_token
        self._waiting: queue.SimpleQueue[tuple[bytes, Future[Answer]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def answer(self, raw: bytes) -> Answer:
        """The answer to one body, once its batch has run."""
        future: Future[Answer] = Future()
        self._waiting.put((raw, future))
        return future.result()

    def _work(self) -> None:
        while True:
            batch = self._collect()
            try:
                answers = self._answer_together([raw for raw, _ in batch])
                time.sleep(max(answer.steps for answer in answers) * self._seconds_per_token)
            except Exception as error:  # the callers have to hear of it: their threads wait for this one
                for _, future in batch:
                    future.set_exception(error)
            else:
                for (_, future), answer in zip(batch, answers, strict=True):
                    future.set_result(answer)

    def _collect(self) -> list[tuple[bytes, Future[Answer]]]:
        batch = [self._waiting.get()]
        deadline = time.monotonic() + self._batching.delay_in_seconds
        while len(batch) < self._batching.size:
            try:
                batch.append(self._waiting.get(timeout=max(0.0, deadline - time.monotonic())))
            except queue.Empty:
                break
        return batch
