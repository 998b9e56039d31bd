"""Everything the job handlers work with, put together once per process from the settings and the surroundings."""

from dataclasses import dataclass
from functools import cache

from botocore.config import Config

from inference_api.async_endpoint import AsyncEndpoint
from inference_api.endings import Endings
from inference_api.job_backend import JobBackend
from inference_api.job_files import JobFiles
from inference_api.job_queue import JobQueue
from inference_api.job_table import JobTable
from inference_api.runtime import ONE_ATTEMPT, STANDARD_RETRIES, runtime
from inference_api.settings import job_settings, settings
from inference_api.submission import Submission
from inference_api.waiting import Waiting

# Otherwise a link names the global host, which redirects new buckets and refuses those of younger regions.
SIGNED_FOR_THE_REGION = Config(signature_version="s3v4", s3={"addressing_style": "virtual"})


@dataclass(frozen=True)
class JobService:
    """The parts, each of which knows only what it needs."""

    table: JobTable
    files: JobFiles
    endings: Endings
    backend: JobBackend
    submission: Submission
    waiting: Waiting


@cache
def job_service() -> JobService:
    """Made on first use; nothing in it belongs to one request."""
    around, deployed, jobs = runtime(), settings(), job_settings()
    table = JobTable(around.client("dynamodb", STANDARD_RETRIES), jobs.table, around)
    files = JobFiles(around.client("s3", STANDARD_RETRIES.merge(SIGNED_FOR_THE_REGION)), jobs.bucket)
    endings = Endings(table, around.client("events", STANDARD_RETRIES), jobs.terms, around, jobs.deployment)
    backend: JobBackend
    if deployed.hosting_mode == "async":
        client = around.client("sagemaker-runtime", ONE_ATTEMPT)
        backend = AsyncEndpoint(
            client,
            deployed.endpoint_name,
            table=table,
            files=files,
            endings=endings,
            terms=jobs.terms,
            runtime=around,
        )
    else:
        backend = JobQueue(around.client("sqs", STANDARD_RETRIES), jobs.queue_url, table, jobs.terms, around)
    submission = Submission(
        table,
        files,
        backend,
        rules=deployed.request_rules,
        terms=jobs.terms,
        limits=jobs.limits,
        runtime=around,
        deployment=jobs.deployment,
    )
    return JobService(table, files, endings, backend, submission, Waiting(table, around, jobs.max_waiting))
