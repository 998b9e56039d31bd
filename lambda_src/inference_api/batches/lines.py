"""A line's request -> the engine's body; a line's end -> a line of the output or error file."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from inference_api.batches.batch import Batch
from inference_api.batches.input_lines import InputLine
from inference_api.http.answer import MAX_RESPONSE_BYTES, Answer
from inference_api.jobs.service import JobService
from inference_api.jobs.state.job import CANCELLED, EXPIRED, FAILED, Job
from inference_api.jobs.view import error_of
from inference_api.openai.exchange import Exchange
from inference_api.shared import errors
from inference_api.shared.errors import ApiError

Read = Callable[[Mapping[str, Any], str], Exchange]

# Lines that were not executed, by the final status of their batch.
_UNEXECUTED = {
    "expired": {
        "code": "batch_expired",
        "message": "This request could not be executed before the completion window expired.",
    },
    "cancelled": {
        "code": "batch_cancelled",
        "message": "This request was not executed, as the batch was cancelled.",
    },
}


class OutputLine(NamedTuple):
    """A line of the output file, if `is_success`, or of the error file."""

    is_success: bool
    raw: bytes


class Lines:
    """Turns a batch's lines into calls, and their results into output lines.

    read: checks a body for the batch's endpoint, and returns the exchange; raises ApiError.
    """

    def __init__(self, jobs: JobService, read: Read) -> None:
        self._jobs, self._read = jobs, read

    def exchange_of(self, batch: Batch, line: InputLine) -> Exchange:
        """Return the exchange of a line. Raises ApiError for a body that the routes would refuse."""
        exchange = self._read(line.body, batch.endpoint)
        if exchange.call.streams:
            message = "stream: a batch has no streams; remove it or set it to false."
            raise ApiError("stream_not_supported", message, field="stream")
        return exchange

    def result(
        self, batch: Batch, line: InputLine, job: Job | None, refusal: ApiError | None, answer: Answer | None
    ) -> OutputLine:
        """Return the result of a line whose job has ended, that was refused, or that its batch has not executed.

        answer: the table's copy of the job's answer, if it has been read.
        """
        if refusal:
            return self._failure(batch, line, refusal)
        if job is None or (job.state == CANCELLED and batch.ending in _UNEXECUTED):
            return self._line(batch, line, error=_UNEXECUTED[batch.ending])
        try:
            body = self._body(job, self.exchange_of(batch, line), answer)
        except ApiError as error:
            return self._failure(batch, line, error)
        return self._line(batch, line, 200, body)

    def _body(self, job: Job, exchange: Exchange, answer: Answer | None) -> dict[str, Any]:
        """Return the answer to a line. Raises the ApiError that a caller of the route would get."""
        if job.state == FAILED:
            raise errors.job_failed(**error_of(job, self._jobs))
        if job.state == EXPIRED:
            raise errors.deadline_exceeded()
        if job.state == CANCELLED or job.output is None:
            raise errors.job_cancelled()
        if job.output.size > MAX_RESPONSE_BYTES:
            raise errors.answer_too_large()
        return exchange.view((answer or self._jobs.read_answer(job, job.output)).body)

    def _failure(self, batch: Batch, line: InputLine, error: ApiError) -> OutputLine:
        return self._line(batch, line, error.status, {"error": error.as_object()})

    def _line(
        self,
        batch: Batch,
        line: InputLine,
        status: int | None = None,
        body: Mapping[str, Any] | None = None,
        error: Mapping[str, str] | None = None,
    ) -> OutputLine:
        request = batch.job_of(line.number)
        response = {"status_code": status, "request_id": request, "body": body} if status else None
        document = {"id": f"batch_req_{request}", "custom_id": line.custom_id, "response": response, "error": error}
        # ASCII: some readers take U+2028 for the end of a line, and a model may answer with half a character.
        return OutputLine(status == 200, json.dumps(document).encode() + b"\n")
