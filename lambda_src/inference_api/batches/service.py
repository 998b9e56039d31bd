"""The objects that the handlers of batches work with, made once per process."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from botocore.config import Config

from inference_api.batches.batch import Batch
from inference_api.batches.driver import Driver, DriverSettings
from inference_api.batches.lines import Lines
from inference_api.batches.storage import Storage
from inference_api.batches.table import BatchTable
from inference_api.jobs.service import SIGNED_FOR_THE_REGION, job_service
from inference_api.openai.exchange import Exchange
from inference_api.routes.readers import READERS
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.log import log
from inference_api.shared.runtime import STANDARD_RETRIES, runtime
from inference_api.shared.settings import job_settings, settings

# Of an endpoint's path in a batch, as OpenAI writes it.
PREFIX = "/v1"
# By default botocore sends each part with a kind of checksum that the upload has not announced.
PLAIN_PARTS = Config(request_checksum_calculation="when_required")


@dataclass(frozen=True)
class BatchService:
    """The parts that the routes of files and batches need."""

    table: BatchTable
    storage: Storage
    events: Any

    def ask_for_a_step(self, batch: Batch) -> None:
        """Let the driver begin at once; without the event it begins within a minute."""
        detail = {"batch": batch.id, "deployment": job_settings().deployment}
        entry = {"Source": "slipway", "DetailType": "Batch Waits", "Detail": json.dumps(detail)}
        try:
            self.events.put_events(Entries=[entry])
        except PASSING_ERRORS as error:
            log({"batch": batch.id, "cause": f"{type(error).__name__} at asking for a step"})


@cache
def batch_service() -> BatchService:
    """Return the parts that the routes need, made on first use."""
    current, jobs = runtime(), job_settings()
    table = BatchTable(current.client("dynamodb", STANDARD_RETRIES), jobs.table, current)
    storage = Storage(
        current.client("s3", STANDARD_RETRIES.merge(SIGNED_FOR_THE_REGION).merge(PLAIN_PARTS)), jobs.bucket
    )
    return BatchService(table, storage, current.client("events", STANDARD_RETRIES))


@cache
def driver() -> Driver:
    """Return the driver of this deployment's batches, made on first use."""
    batches, jobs, deployed, kept = batch_service(), job_service(), settings(), job_settings()
    limits = DriverSettings(
        models=deployed.model_names,
        adapters=deployed.adapters,
        any_model=deployed.openai.any_model,
        most_body_bytes=deployed.request_rules.max_bytes,
        retention=kept.times.retention,
        deployment=kept.deployment,
    )
    return Driver(batches.table, batches.storage, jobs, Lines(jobs, _read), limits, runtime())


def _read(body: Mapping[str, Any], endpoint: str) -> Exchange:
    """Check a line's body as its route would. Raises ApiError."""
    return READERS[endpoint.removeprefix(PREFIX)].read(json.dumps(body, ensure_ascii=False).encode(), None, None)
