"""Everything the job handlers work with, put together once per process from the settings and the surroundings."""

from dataclasses import dataclass
from functools import cache

from botocore.config import Config

from inference_api.jobs.async_backend import AsyncBackend
from inference_api.jobs.backend import JobBackend
from inference_api.jobs.completion import Completion
from inference_api.jobs.files import JobFiles
from inference_api.jobs.long_poll import LongPoll
from inference_api.jobs.queue_backend import QueueBackend
from inference_api.jobs.submission import Submission
from inference_api.jobs.table import JobTable
from inference_api.runtime import ONE_ATTEMPT, STANDARD_RETRIES, runtime
from inference_api.settings import job_settings, settings

# Otherwise a link names the global host, which redirects new buckets and refuses those of younger regions.
SIGNED_FOR_THE_REGION = Config(signature_version="s3v4", s3={"addressing_style": "virtual"})


@dataclass(frozen=True)
class JobService:
    """The parts, each of which knows only what it needs."""

    table: JobTable
    files: JobFiles
    completion: Completion
    backend: JobBackend
    submission: Submission
    long_poll: LongPoll


@cache
def job_service() -> JobService:
    """Made on first use; nothing in it belongs to one request."""
    around, deployed, jobs = runtime(), settings(), job_settings()
    table = JobTable(around.client("dynamodb", STANDARD_RETRIES), jobs.table, around)
    files = JobFiles(around.client("s3", STANDARD_RETRIES.merge(SIGNED_FOR_THE_REGION)), jobs.bucket)
    completion = Completion(table, around.client("events", STANDARD_RETRIES), jobs.policy, around, jobs.deployment)
    backend: JobBackend
    if deployed.hosting_mode == "async":
        client = around.client("sagemaker-runtime", ONE_ATTEMPT)
        backend = AsyncBackend(
            client,
            deployed.endpoint_name,
            table=table,
            files=files,
            completion=completion,
            policy=jobs.policy,
            runtime=around,
        )
    else:
        backend = QueueBackend(around.client("sqs", STANDARD_RETRIES), jobs.queue_url, table, jobs.policy, around)
    submission = Submission(
        table,
        files,
        backend,
        rules=deployed.request_rules,
        policy=jobs.policy,
        limits=jobs.limits,
        runtime=around,
        deployment=jobs.deployment,
    )
    return JobService(table, files, completion, backend, submission, LongPoll(table, around, jobs.max_waiting))
