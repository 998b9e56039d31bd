"""The settings of the job API."""

import math
from typing import Literal

from pydantic import Field

from .section import Section


class JobLimits(Section):
    """Limits of each caller; a job above a limit gets 429."""

    open_jobs: int = Field(
        1000, ge=1, le=1_000_000, description="Largest number of jobs of one caller that have not ended."
    )
    answer_tokens_per_day: int | None = Field(
        None,
        ge=1,
        le=1_000_000_000_000,
        description="Largest number of answer tokens that the jobs of one caller may ask for per UTC day; every job "
        "must then state how many it asks for. null = no limit.",
    )


class Jobs(Section):
    """The asynchronous job API: POST /jobs, and the result when it is ready."""

    enabled: bool = Field(
        True, description="Offer the job API. Refused with `api.auth: none`, which can't tell callers apart."
    )
    retention_in_hours: int = Field(168, ge=1, le=8760, description="How long an ended job can be read.")
    deadline_in_seconds: int = Field(
        3600, ge=420, le=604_800, description="Time from a job's acceptance to its end, including waiting and retries."
    )
    invocation_timeout_in_seconds: int = Field(
        900,
        ge=1,
        le=3600,
        description="`hosting.mode: async` and `ec2` only: time for one attempt of a job; a real-time endpoint has 60 "
        "s.",
    )
    max_concurrency: int | None = Field(
        None,
        ge=2,
        le=1000,
        description="`hosting.mode: realtime` only: number of jobs sent to the endpoint at once, each by a running "
        "function; null = `instance_count.max` (on a shared endpoint, `copies.max`) x "
        "`scaling.concurrent_requests_per_instance`, but at most 4, because a "
        "new account may run 10 functions at once.",
    )
    max_waiting: int = Field(
        4,
        ge=0,
        le=200,
        description="Number of callers that may wait for the end of a job at once, each in a running function; one "
        "caller gets at most half of the places, and callers without a place must ask again. The default is low, "
        "because a new account may run 10 functions at once: raise it together with that quota.",
    )
    limits: JobLimits = JobLimits()
    on_destroy: Literal["retain", "delete"] = Field(
        "retain", description="What happens to the job table when the stack is deleted; the bucket is always kept."
    )
    deletion_protection: bool = Field(
        False, description="Protects the job table from deletion, also by the rollback of a failed first deploy."
    )

    @property
    def retention_in_seconds(self) -> int:
        """How long an ended job can be read, in seconds."""
        return self.retention_in_hours * 3600

    @property
    def files_kept_in_days(self) -> int:
        """Days that each version of a file is kept, so that no version expires before the job's row that names it."""
        return math.ceil((self.retention_in_seconds + self.deadline_in_seconds) / 86_400) + 1
