"""The asynchronous endpoint: SageMaker queues each attempt and writes its output to the job bucket."""

from threading import Lock
from typing import Any

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

from inference_api.jobs.state import transitions
from inference_api.jobs.state.completion import Completion
from inference_api.jobs.state.files import JobFiles
from inference_api.jobs.state.job import Job
from inference_api.jobs.state.table import JobTable
from inference_api.model.endpoint_client import IDLE_LIMIT_IN_SECONDS, NEVER_SENT
from inference_api.shared import errors
from inference_api.shared.job_times import MARGIN_IN_SECONDS, JobTimes
from inference_api.shared.log import log
from inference_api.shared.runtime import Runtime

# Limits of RequestTTLSeconds.
_SHORTEST_TTL, _LONGEST_TTL = 60, 21_600


class AsyncBackend:
    """Hands jobs to SageMaker; each attempt is claimed before it is invoked."""

    def __init__(
        self,
        client: Any,
        endpoint_name: str,
        *,
        table: JobTable,
        files: JobFiles,
        completion: Completion,
        times: JobTimes,
        runtime: Runtime,
    ) -> None:
        self._client, self._endpoint_name = client, endpoint_name
        self._table, self._files, self._completion = table, files, completion
        self._times, self._runtime = times, runtime
        self._used_at, self._use_lock = runtime.now(), Lock()

    def claim_at_acceptance(self, job: Job) -> Job:
        """Return the job with its first attempt claimed, so that one write accepts and claims."""
        return self._claim(job) or job

    def dispatch(self, job: Job) -> None:
        """Invoke the attempt that has just been claimed."""
        attempt = job.attempts
        try:
            output_key, failure_key = self._invoke(job, attempt)
        except (ClientError, ConnectionError, HTTPClientError) as error:
            code = error.response["Error"].get("Code") if isinstance(error, ClientError) else type(error).__name__
            log({"job": job.id, "cause": f"{code} at InvokeEndpointAsync"})
            # After other errors SageMaker may have taken the attempt: the claim stays, and the sweeper finds out.
            if _never_ran(error):
                self._completion.give_back(job, attempt)
        else:
            self._table.change(job, lambda row: transitions.note_invoked(row, attempt, output_key, failure_key))

    def tend(self, job: Job) -> None:
        """Claim and invoke the next attempt if the last one is over, or was never confirmed."""
        job, claimed = self._table.change(job, self._claim)
        if claimed:
            self.dispatch(job)

    def end_without_output(self, job: Job, attempt: int, looked_at: float) -> Job:
        """Fail the attempt if SageMaker has described its failure: nothing else proves that no output will come."""
        if attempt == job.marked and job.failure_key and (words := self._files.read_failure(job.failure_key)):
            return self._completion.fail_attempt(job, attempt, errors.container_error(None, words), by_sweeper=True)
        return job

    def seconds_until_ready(self) -> int:
        """Return 0: how long the endpoint takes is not known."""
        return 0

    def _claim(self, job: Job) -> Job | None:
        return transitions.claim(job, self._runtime.now(), self._times)

    def _invoke(self, job: Job, attempt: int) -> tuple[str | None, str | None]:
        """Invoke an attempt. Return the keys of its output and failure, as SageMaker names them."""
        with self._use_lock:  # a sweep calls this from several threads
            if self._runtime.now() - self._used_at > IDLE_LIMIT_IN_SECONDS:
                self._client.close()
            self._used_at = self._runtime.now()
        left = job.deadline - self._runtime.now() - self._times.invocation_timeout - MARGIN_IN_SECONDS
        response = self._client.invoke_endpoint_async(
            EndpointName=self._endpoint_name,
            InputLocation=self._files.input_location(job.id),
            ContentType="application/json",
            Accept="application/json",
            InferenceId=f"{job.id}.{attempt}",
            S3OutputPathExtension=f"{job.id}/{attempt}",
            RequestTTLSeconds=int(min(max(left, _SHORTEST_TTL), _LONGEST_TTL)),
            InvocationTimeoutSeconds=self._times.invocation_timeout,
        )
        output, failure = response.get("OutputLocation"), response.get("FailureLocation")
        return self._files.key_of(output, "output"), self._files.key_of(failure, "failure")


def _never_ran(error: Exception) -> bool:
    if isinstance(error, ClientError):
        return int(error.response["ResponseMetadata"]["HTTPStatusCode"]) < 500
    return isinstance(error, NEVER_SENT)
