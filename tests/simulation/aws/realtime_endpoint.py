"""A real-time endpoint: the caller waits at most 60 seconds; requests beyond its capacity are refused at once."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from botocore.exceptions import ReadTimeoutError
from botocore.response import StreamingBody

from simulation.aws.component import Component
from simulation.aws.errors import Refusal
from simulation.runtime.faults import Faults
from simulation.runtime.model import Answer, Model
from simulation.runtime.scheduler import Scheduler, Signal

MAX_SECONDS = 60
PIECES, SECONDS_BETWEEN_PIECES = 10, 0.5


@dataclass(eq=False)
class EventStream:
    """An answer in parts. Each is a value of the engine. The function that reads them may die."""

    answer: bytes
    scheduler: Scheduler
    faults: Faults

    def __post_init__(self) -> None:
        self._raw_stream = self

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for piece in range(PIECES):
            self.scheduler.sleep(SECONDS_BETWEEN_PIECES)
            if self.faults.happens("function died in a stream", self.faults.rates.death_in_stream / PIECES):
                self.scheduler.die()
            yield _part({"token": {"text": "la "}, "generated_text": None if piece + 1 < PIECES else "la"})

    def close(self) -> None:
        """Do nothing: no connection is open."""


def _part(value: dict[str, Any]) -> dict[str, Any]:
    return {"PayloadPart": {"Bytes": f"data: {json.dumps(value)}\n\n".encode()}}


@dataclass
class RealtimeEndpoint:
    """The endpoint. capacity: how many requests run at once. invoked_attempt: job and attempt of the calling worker.

    component: of a model that sleeps.
    """

    name: str
    scheduler: Scheduler
    random: Random
    faults: Faults
    model: Model
    capacity: int
    invoked_attempt: Callable[[], tuple[str, int]]
    component: Component | None = None
    refused: int = 0

    def invoke_endpoint(self, *, read_timeout: float, **request: Any) -> dict[str, Any]:
        if request["EndpointName"] != self.name:
            raise Refusal("ValidationError", f"Endpoint {request['EndpointName']} not found.")
        if self.component:
            self.component.call(request.get("InferenceComponentName"))
        if not self.model.is_ready:
            self.refused += 1
            raise self.random.choice(
                (
                    Refusal("ModelNotReadyException", "The model is starting", 429),
                    Refusal("ServiceUnavailable", "No healthy instance", 503),
                )
            )
        if len(self.model.running) >= self.capacity:
            self.refused += 1
            status = self.random.choice((429, 503))
            raise Refusal("ModelError", "busy", 424, OriginalStatusCode=status, OriginalMessage="busy")
        return self._answer(self._ask(request["Body"], read_timeout))

    def invoke_endpoint_with_response_stream(self, **request: Any) -> dict[str, Any]:
        answer = self.invoke_endpoint(read_timeout=MAX_SECONDS, **request)["Body"].read()
        return {"Body": EventStream(answer, self.scheduler, self.faults)}

    def _ask(self, body: bytes, read_timeout: float) -> Answer | None:
        """Return the model's answer; None if it took too long for SageMaker."""
        answers: list[Answer] = []
        arrived = Signal(self.scheduler)

        def on_end(answer: Answer) -> None:
            answers.append(answer)
            arrived.set()

        run = self.model.start(bytes(body), *self.invoked_attempt(), on_end)
        if not arrived.wait(min(read_timeout, MAX_SECONDS)):
            if read_timeout < MAX_SECONDS:
                raise ReadTimeoutError(endpoint_url="https://simulated")
            return None
        assert run.answer
        return answers[0]

    def _answer(self, answer: Answer | None) -> dict[str, Any]:
        if answer is None or answer.status == 0:
            words = "Your invocation timed out" if answer is None else "Received server error (0) from primary"
            raise Refusal("ModelError", words, 424, OriginalStatusCode=0, OriginalMessage="")
        if answer.status != 200:
            words = answer.body.decode()
            message = f'Received error ({answer.status}) from primary with message "{words}".'
            raise Refusal("ModelError", message, 424, OriginalStatusCode=answer.status, OriginalMessage=words)
        body = StreamingBody(io.BytesIO(answer.body), len(answer.body))
        return {"Body": body, "ContentType": "application/json", "InvokedProductionVariant": "primary"}
