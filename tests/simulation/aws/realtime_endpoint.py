"""A real-time endpoint: the caller waits at most 60 seconds; requests beyond its capacity are refused at once."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from botocore.exceptions import ReadTimeoutError
from botocore.response import StreamingBody

from simulation.aws.errors import Refusal
from simulation.faults import Faults
from simulation.model import Answer, Model
from simulation.scheduler import Scheduler, Signal

MAX_SECONDS = 60


@dataclass
class RealtimeEndpoint:
    """capacity: the requests that run at once. invoked_attempt: job and attempt of the calling worker."""

    name: str
    scheduler: Scheduler
    random: Random
    faults: Faults
    model: Model
    capacity: int
    invoked_attempt: Callable[[], tuple[str, int]]
    refused: int = 0

    def invoke_endpoint(self, *, read_timeout: float, **request: Any) -> dict[str, Any]:
        if request["EndpointName"] != self.name:
            raise Refusal("ValidationError", f"Endpoint {request['EndpointName']} not found.")
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

    def _ask(self, body: bytes, read_timeout: float) -> Answer | None:
        """None if it took too long for SageMaker."""
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
