"""The objects that the handlers of jobs work with, made once per process."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from botocore.config import Config

from inference_api.http.answer import Answer
from inference_api.http.gateway import Request
from inference_api.jobs.backends.async_backend import AsyncBackend
from inference_api.jobs.backends.backend import JobBackend
from inference_api.jobs.backends.machine_backend import MachineBackend
from inference_api.jobs.backends.queue_backend import QueueBackend
from inference_api.jobs.long_poll import LongPoll
from inference_api.jobs.state.completion import Completion
from inference_api.jobs.state.files import JobFiles
from inference_api.jobs.state.job import Job, Output
from inference_api.jobs.state.table import JobTable
from inference_api.jobs.state.waiting_places import WaitingPlaces
from inference_api.jobs.submission import Submission
from inference_api.keys.key_usage import key_usage
from inference_api.machines.parts import readiness, starter
from inference_api.machines.readiness import Readiness
from inference_api.model import deployed_engine
from inference_api.model.endpoint_status import FirstService
from inference_api.shared.model_states import ASLEEP, READY, STARTING
from inference_api.shared.runtime import ONE_ATTEMPT, ONE_QUICK_ATTEMPT, STANDARD_RETRIES, OutOfTimeError, runtime
from inference_api.shared.settings import job_settings, settings, sleeps

if TYPE_CHECKING:
    from inference_api.wake.waker import Waker

# By default a link names the global host, which redirects for new buckets and refuses those of younger regions.
SIGNED_FOR_THE_REGION = Config(signature_version="s3v4", s3={"addressing_style": "virtual"})


@dataclass(frozen=True)
class JobService:
    """The parts of the job API. Each part knows only the parts that it needs."""

    table: JobTable
    files: JobFiles
    completion: Completion
    backend: JobBackend
    submission: Submission
    long_poll: LongPoll

    def submit(self, request: Request) -> Job:
        """Accept a job. Raises ApiError, also if there is no model, or if it has never been in service.

        Before the first service no input may be in the bucket: it would keep CloudFormation from rolling a failed first
        deploy back.
        """
        self.demand()
        return self.submission.submit(request)

    def demand(self) -> None:
        """Raises ApiError 503 if there is no model, or if it has never been in service."""
        deployed_engine.demand()
        first_service().demand()

    def wake(self) -> bool:
        """Start a model that sleeps, without a job of the caller. Return whether it starts, or already runs."""
        if sleeps():
            return _waker().wake().state in (STARTING, READY)
        if settings().runs_on_machines:
            starter().wake()
        elif deployed_engine.state() == ASLEEP:
            self.submission.wake()
            return True
        return deployed_engine.state() in (STARTING, READY)

    def read_answer(self, job: Job, output: Output) -> Answer:
        """Return the model's answer, from the table's copy if there is one."""

        def read(table: JobTable, files: JobFiles) -> Answer:
            return (table.get_answer(job, output) if output.in_table else None) or files.read_output(output)

        try:
            return read(self.table, self.files)
        except OutOfTimeError:  # little time is left after a long hold
            return read(_quick_table(), _quick_files())

    def read_error(self, job: Job) -> dict[str, str] | None:
        """Return the error of the attempt that failed the job."""
        try:
            return self.table.get_error(job, job.error_attempt)
        except OutOfTimeError:
            return _quick_table().get_error(job, job.error_attempt)


@cache
def job_service() -> JobService:
    """Return the parts of the job API. They are made on first use, and hold nothing of a single request."""
    current, jobs = runtime(), job_settings()
    table = JobTable(current.client("dynamodb", STANDARD_RETRIES), jobs.table, current)
    files = JobFiles(current.client("s3", STANDARD_RETRIES.merge(SIGNED_FOR_THE_REGION)), jobs.bucket)
    usage = key_usage()
    events = current.client("events", STANDARD_RETRIES)
    completion = Completion(table, events, jobs.times, current, jobs.deployment, usage)
    backend = _backend(table, files, completion)
    submission = Submission(
        table,
        files,
        backend,
        rules=settings().request_rules,
        times=jobs.times,
        limits=jobs.limits,
        runtime=current,
        deployment=jobs.deployment,
        engine_serves=deployed_engine.serves,
        usage=usage,
    )
    return JobService(table, files, completion, backend, submission, _long_poll(table))


def _long_poll(table: JobTable) -> LongPoll:
    current, jobs = runtime(), job_settings()
    places = WaitingPlaces(_quick_client(), jobs.table, current, jobs.max_waiting)
    return LongPoll(table, current, places, while_held=_quick_table())


@cache
def _quick_client() -> Any:
    """Return a client without retries, for a caller who is held, or has been held and has little time left."""
    return runtime().client("dynamodb", ONE_QUICK_ATTEMPT)


@cache
def _quick_table() -> JobTable:
    return JobTable(_quick_client(), job_settings().table, runtime())


@cache
def _quick_files() -> JobFiles:
    return JobFiles(runtime().client("s3", ONE_QUICK_ATTEMPT.merge(SIGNED_FOR_THE_REGION)), job_settings().bucket)


@cache
def first_service() -> "FirstService | Readiness | Waker":
    """Return the check of the first service.

    It is no part of JobService: only functions that submit jobs need its client, which is large.
    """
    if settings().runs_on_machines:
        return readiness()
    if sleeps():
        return _waker()
    if settings().inference_component:
        from inference_api.wake.parts import component

        return FirstService(component())
    return FirstService(deployed_engine.endpoint_status())


def _waker() -> "Waker":
    from inference_api.wake.parts import waker  # functions of a model that never sleeps start faster without it

    return waker()


def _backend(table: JobTable, files: JobFiles, completion: Completion) -> JobBackend:
    current, deployed, jobs = runtime(), settings(), job_settings()
    if deployed.queues_in_sagemaker:
        return AsyncBackend(
            current.client("sagemaker-runtime", ONE_ATTEMPT),
            deployed.endpoint_name,
            table=table,
            files=files,
            completion=completion,
            times=jobs.times,
            runtime=current,
        )
    client = current.client("sqs", STANDARD_RETRIES)
    parts: dict[str, Any] = {"table": table, "completion": completion, "times": jobs.times, "runtime": current}
    if deployed.runs_on_machines:
        return MachineBackend(client, jobs.queue_url, starter=starter(), readiness=readiness(), **parts)
    return QueueBackend(client, jobs.queue_url, until_ready=_waker().seconds_until_ready if sleeps() else None, **parts)
