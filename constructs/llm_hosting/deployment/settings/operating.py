"""The settings of alarms, operations, logs and checks."""

from typing import Annotated, Literal

from pydantic import Field

from .section import RunbookUrl, Section, TopicArn

# A selection of the values that CloudWatch Logs takes.
LogRetentionInDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 180, 365, 731, 1827, 3653]


class Alarms(Section):
    """Alarms on endpoint and jobs; failures and latency roll a bad update back, callers' mistakes do not."""

    topic_arn: TopicArn | None = Field(None, description="SNS topic to notify; null = none.")
    paging_topic_arn: TopicArn | None = Field(
        None,
        description="SNS topic to notify only if callers get no answers: makes one more alarm, Down, and those that it "
        "follows, for about a dollar a month; null = none.",
    )
    runbook_url: RunbookUrl | None = Field(
        None, description="Page of your own that alarms link to, with our anchors; null = `docs/runbook.md`."
    )
    error_rate: float = Field(
        0.05,
        gt=0,
        lt=1,
        description="Share of invocations, and of requests to the API, that are answered with 5XX; during an update "
        "also the share of the API's calls that the new instances failed.",
    )
    failure_rate: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="Share of invocations without a 2XX answer (asynchronous: with a 4XX answer); LMI reports its own "
        "failures as 424.",
    )
    latency_in_seconds: float = Field(
        25,
        gt=0,
        lt=60,
        description="`hosting.mode: realtime` only: 99th percentile of the model's latency; the API stops waiting at "
        "25 s. With jobs, which may take 60 s, this alarm rolls no update back.",
    )
    idle_in_hours: int | None = Field(
        24,
        ge=1,
        le=168,
        description="Hours without a request while instances run and cost money; null = no alarm.",
    )
    failed_job_rate: float = Field(
        0.1,
        gt=0,
        lt=1,
        description="Share of ended jobs that failed or expired; jobs whose body the model refused do not count.",
    )
    job_wait_in_seconds: int | None = Field(
        None, ge=60, le=604_800, description="Age of the oldest waiting job; null = half of `jobs.deadline_in_seconds`."
    )


class Operations(Section):
    """What shows and limits a service that runs."""

    dashboard: bool = Field(
        False,
        description="Make a CloudWatch dashboard of the service (3 USD a month after an account's first three), and "
        "emit the metrics that only it needs (0.30 USD each).",
    )
    monthly_budget_in_usd: float | None = Field(
        None,
        ge=1,
        le=1e9,
        description="Budget of a month in AWS Budgets, for all that has the tag `slipway:deployment`. Tells the topic "
        "of the alarms at 80 % and 100 %, and if 100 % are forecast; needs `alarms.topic_arn`; null = none.",
    )
    tracing: bool = Field(
        False,
        description="Trace each request in AWS X-Ray: API Gateway, the functions, the call of the model, jobs to their "
        "end. X-Ray bills 5 USD for a million traces, after 100,000 a month that are free.",
    )


class Logs(Section):
    """The log groups of endpoint, functions and API."""

    retention_in_days: LogRetentionInDays = Field(30, description="Days after which log lines are deleted.")
    requests: Literal["metadata", "none"] = Field(
        "metadata",
        description="What the logs tell of a request. `metadata`: a line with ids, caller, address, status, sizes and "
        "times, never texts. `none`: no access log, and the functions write only metrics and failures, without "
        "caller, address and sizes; `operations.tracing` traces requests all the same.",
    )


class Preflight(Section):
    """Settings of the checks before a deploy."""

    silenced: dict[
        Annotated[str, Field(pattern=r"^[a-z0-9-]+$")], Annotated[str, Field(min_length=10, max_length=500)]
    ] = Field(default_factory=dict, description="Warnings that are not printed: the id of each rule, and the reason.")
