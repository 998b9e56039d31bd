"""An asynchronous endpoint: a queue before the model, outputs and failures in S3, notifications."""

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Any

from simulation.aws.errors import Refusal
from simulation.aws.s3 import Bucket
from simulation.runtime.faults import Faults
from simulation.runtime.model import Answer, Model, Run
from simulation.runtime.scheduler import Scheduler


@dataclass
class Request:
    """One accepted invocation. run: None until the model has it; over_at: when it ended."""

    job: str
    attempt: int
    input_key: str
    output_key: str
    failure_key: str
    give_up_at: float
    timeout: int
    received_at: float
    run: Run | None = None
    over_at: float = inf


@dataclass
class AsyncEndpoint:
    """The endpoint. capacity: how many requests run at once. notify: sends to the success or error topic."""

    name: str
    scheduler: Scheduler
    random: Random
    faults: Faults
    model: Model
    capacity: int
    bucket: Bucket
    composition: str
    notify: Callable[[str], object]
    wake_up_in_seconds: float = 240.0
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._queue: deque[Request] = deque()
        self._awake_at: float | None = None  # None: no instance runs

    def invoke_endpoint_async(self, **request: Any) -> dict[str, Any]:
        if request["EndpointName"] != self.name:
            raise Refusal("ValidationError", f"Endpoint {request['EndpointName']} not found.")
        prefix = f"s3://{self.bucket.name}/"
        if not request["InputLocation"].startswith(prefix):
            raise Refusal("ValidationError", "InputLocation is in no bucket that the endpoint may read")
        for member, least, most in (("RequestTTLSeconds", 60, 21_600), ("InvocationTimeoutSeconds", 1, 3600)):
            if not least <= request[member] <= most:
                raise Refusal("ValidationError", f"{member} must be from {least} to {most}")
        if len(request["InferenceId"]) > 64:
            raise Refusal("ValidationError", "InferenceId must have at most 64 characters")
        job, _, attempt = request["InferenceId"].partition(".")
        extension, name = request["S3OutputPathExtension"], f"{self.random.getrandbits(128):032x}"
        accepted = Request(
            job=job,
            attempt=int(attempt),
            input_key=request["InputLocation"].removeprefix(prefix),
            output_key={
                "folder": f"output/{extension}/{name}.out",
                "no slashes": f"output/{extension}{name}.out",
                "behind the name": f"output/{name}.out/{extension}",
            }[self.composition],
            failure_key=f"failure/{name}-error.out",
            give_up_at=self.scheduler.now + request["RequestTTLSeconds"],
            timeout=request["InvocationTimeoutSeconds"],
            received_at=self.scheduler.now,
        )
        self.take(accepted)
        return {
            "InferenceId": request["InferenceId"],
            "OutputLocation": prefix + accepted.output_key,
            "FailureLocation": prefix + accepted.failure_key,
        }

    def take(self, accepted: Request) -> None:
        """Add a request to the queue. The first one starts an instance."""
        self.requests.append(accepted)
        self._queue.append(accepted)
        if self._awake_at is None:
            self._awake_at = self.scheduler.now + self.wake_up_in_seconds
        self.scheduler.call_later(max(self._awake_at - self.scheduler.now, 0.05), self._go_on)

    def _go_on(self) -> None:
        if not self.model.is_ready:
            self.scheduler.call_later(self.model.ready_at - self.scheduler.now, self._go_on)
            return
        while self._queue and len(self.model.running) < self.capacity:
            self._start(self._queue.popleft())

    def _start(self, request: Request) -> None:
        if self.scheduler.now > request.give_up_at:
            self._fail(request, "The request's time to live passed", notified=self.random.random() < 0.5)
            return
        versions = self.bucket.objects.get(request.input_key)
        if not versions:
            self._fail(request, "Unable to read the input")
            return
        body = versions[-1].body
        request.run = self.model.start(body, request.job, request.attempt, lambda answer: self._end(request, answer))
        self.scheduler.call_later(request.timeout, lambda: self._time_out(request))

    def _time_out(self, request: Request) -> None:
        if request.over_at == inf and request.run:
            self.model.stop(request.run)
            self._fail(request, "Request timed out")
            self._go_on()

    def _end(self, request: Request, answer: Answer) -> None:
        if answer.status == 200:
            self._succeed(request, answer.body)
        else:
            kind = "client" if 400 <= answer.status < 500 else "server"
            reason = f"Received {kind} error ({answer.status}) from model. See the SageMaker Endpoint logs"
            self._fail(request, reason, answer.body)
        self.scheduler.call_later(0, self._go_on)

    def _succeed(self, request: Request, body: bytes) -> None:
        request.over_at = self.scheduler.now
        chance = self.faults.rates.broken_output / 3
        key = request.output_key
        if not self.faults.happens("output missing", chance):
            self.bucket.write(key, body, "application/json")
            if self.faults.happens("output written twice", chance):
                again = body.replace(b" answers ", b" (again) answers ", 1)
                self.scheduler.call_later(
                    self.random.expovariate(1 / 2), lambda: self.bucket.write(key, again, "application/json")
                )
        output = {"contentType": "application/json", "outputLocation": f"s3://{self.bucket.name}/{key}"}
        self._publish(request, {"invocationStatus": "Completed", "responseParameters": output})

    def _fail(self, request: Request, reason: str, words: bytes = b"", notified: bool = True) -> None:
        """End a request with a failure. words: the container's error, for the failure object."""
        request.over_at = self.scheduler.now
        if not self.faults.happens("failure object missing", self.faults.rates.broken_output):
            self.bucket.write(request.failure_key, words or reason.encode(), "text/plain")
        if notified:
            self._publish(request, {"invocationStatus": "Failed", "failureReason": reason})

    def _publish(self, request: Request, outcome: dict[str, Any]) -> None:
        """Send a notification, with the members that the recorder reads."""
        self.notify(json.dumps({"inferenceId": f"{request.job}.{request.attempt}", **outcome}))
