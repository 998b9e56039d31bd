"""The settings of the functions, from their environment. The authorizer has its own, in handlers/authorize.py."""

import json
import os
from dataclasses import dataclass
from functools import cache

from inference_api.shared.job_times import JobTimes
from inference_api.shared.openai_facts import OpenAIFacts
from inference_api.shared.request_rules import MOST_ANSWERS, ImageRules, RequestRules


@dataclass(frozen=True)
class Settings:
    """The deployment behind the API.

    endpoint_deployed: False if a parameter of the stack leaves the endpoint, or the machines, out. inference_component:
    the component of the endpoint that holds the model; empty if the endpoint itself holds it. endpoint_name,
    endpoint_configuration, endpoint_url: empty without an endpoint; the configuration is the one that the endpoint has
    once its update is done. engine_version: empty for an own image. longest_wait_in_seconds: the longest time that a
    caller may wait for the model, or for a job's end. openai_routes: some of `chat`, `completions`, `embeddings`,
    `rerank`. adapters: names of the model's LoRA adapters, which callers may use like a model's. updates_by_parts:
    whether old and new instances answer side by side during an update.
    """

    endpoint_deployed: bool
    endpoint_name: str
    inference_component: str
    endpoint_configuration: str
    endpoint_url: str
    model_id: str
    engine: str
    engine_version: str
    hosting_mode: str
    longest_wait_in_seconds: int
    openai_routes: tuple[str, ...]
    request_rules: RequestRules
    openai: OpenAIFacts
    adapters: tuple[str, ...] = ()
    updates_by_parts: bool = False

    # The meaning of the mode: no other module of the functions compares it with a name.

    @property
    def queues_in_sagemaker(self) -> bool:
        """Whether SageMaker keeps the queue of jobs and calls the model; in other modes the queue is the stack's."""
        return self.hosting_mode == "async"

    @property
    def runs_on_machines(self) -> bool:
        """Whether machines of EC2 run the model; in other modes an endpoint of SageMaker runs it."""
        return self.hosting_mode == "ec2"

    @property
    def model_names(self) -> tuple[str, ...]:
        """All names that callers may use for the model."""
        return (self.model_id, *self.openai.names)

    @property
    def component_adapters(self) -> tuple[str, ...]:
        """The adapters that are components of their own; the engines `vllm` and `sglang` know theirs by its name."""
        return self.adapters if self.engine == "lmi-vllm" else ()


@cache
def logs_requests() -> bool:
    """Whether the log tells of each request and of its caller."""
    return os.environ.get("LOG_REQUESTS") != "none"


@cache
def traces() -> bool:
    """Whether requests and jobs are traced in AWS X-Ray."""
    return os.environ.get("TRACING") == "on"


@cache
def settings() -> Settings:
    """Read the deployment from the environment. Raises KeyError or ValueError if the template did not set it."""
    schema = json.loads(os.environ["REQUEST_SCHEMA"])
    facts = OpenAIFacts(**json.loads(os.environ.get("OPENAI_FACTS", "{}")))
    return Settings(
        endpoint_deployed=os.environ.get("ENDPOINT_DEPLOYED", "true") == "true",
        endpoint_name=os.environ["ENDPOINT_NAME"],
        inference_component=os.environ.get("INFERENCE_COMPONENT", ""),
        endpoint_configuration=os.environ["ENDPOINT_CONFIGURATION"],
        endpoint_url=os.environ["ENDPOINT_URL"],
        model_id=os.environ["MODEL_ID"],
        engine=os.environ["ENGINE"],
        engine_version=os.environ["ENGINE_VERSION"],
        hosting_mode=os.environ["HOSTING_MODE"],
        longest_wait_in_seconds=int(os.environ["LONGEST_WAIT_IN_SECONDS"]),
        openai_routes=tuple(filter(None, os.environ.get("OPENAI_ROUTES", "").split(","))),
        request_rules=RequestRules(
            engine=os.environ["ENGINE"],
            bodies=tuple(schema["bodies"]),
            ranges=schema["parameters"],
            max_bytes=int(os.environ["MAX_BODY_BYTES"]),
            model_aliases=tuple(schema["model_aliases"]),
            names=schema.get("names"),
            most_answers=schema.get("most_answers") or MOST_ANSWERS,
            makes_text=not (facts.embeds or facts.reranks),
            images=ImageRules(**schema["images"]) if "images" in schema else None,
        ),
        openai=facts,
        adapters=tuple(filter(None, os.environ.get("ADAPTERS", "").split(","))),
        updates_by_parts=os.environ.get("UPDATES_BY_PARTS") == "true",
    )


@dataclass(frozen=True)
class Limits:
    """Limits of each caller. answer_tokens_per_day: None = no budget."""

    open_jobs: int
    answer_tokens_per_day: int | None


@dataclass(frozen=True)
class JobSettings:
    """The deployment's jobs. queue_url: empty if SageMaker keeps the queue. max_waiting: callers who may be held."""

    deployment: str
    table: str
    bucket: str
    queue_url: str
    times: JobTimes
    limits: Limits
    max_waiting: int


@cache
def job_settings() -> JobSettings:
    """Read the jobs' settings from the environment. Raises KeyError or ValueError if the template did not set them."""
    jobs = json.loads(os.environ["JOB_SETTINGS"])
    return JobSettings(
        deployment=os.environ["DEPLOYMENT_NAME"],
        table=os.environ["JOB_TABLE"],
        bucket=os.environ["JOB_BUCKET"],
        queue_url=os.environ["JOB_QUEUE_URL"],
        times=JobTimes(
            deadline=jobs["deadline_in_seconds"],
            retention=jobs["retention_in_seconds"],
            invocation_timeout=jobs["invocation_timeout_in_seconds"],
        ),
        limits=Limits(jobs["open_jobs"], jobs["answer_tokens_per_day"]),
        max_waiting=jobs["max_waiting"],
    )


def usage_table() -> str | None:
    """Return the name of the table that counts the usage of keys; None if the deployment names no keys."""
    return os.environ.get("USAGE_TABLE")


@cache
def cors_origins() -> frozenset[str]:
    """Return the origins of web pages that may call the API from a browser; empty = none may."""
    return frozenset(filter(None, os.environ.get("CORS_ORIGINS", "").split(",")))


def dashboard_of() -> str | None:
    """Return the deployment's name if it has a dashboard, which shows more metrics; otherwise None."""
    return os.environ.get("DASHBOARD_OF")


def takes_jobs() -> bool:
    """Whether the deployment has jobs."""
    return "JOB_TABLE" in os.environ


def sleeps() -> bool:
    """Whether the model of a real-time endpoint sleeps at zero copies and wakes on a call."""
    return "WAKES_PER_DAY" in os.environ


@dataclass(frozen=True)
class WakeSettings:
    """A model that sleeps. wakes_per_day: its budget for each day in UTC. estimate_in_seconds: of a start."""

    wakes_per_day: int
    estimate_in_seconds: int


@cache
def wake_settings() -> WakeSettings:
    """Read the wakes' settings from the environment. Raises KeyError or ValueError if they are missing."""
    return WakeSettings(int(os.environ["WAKES_PER_DAY"]), int(os.environ["START_ESTIMATE_IN_SECONDS"]))


@dataclass(frozen=True)
class MachineSettings:
    """The machines of `hosting.mode: ec2`. batch: how many jobs one machine takes at once."""

    count: int
    idle_in_seconds: float
    startup_timeout_in_seconds: int
    batch: int


@cache
def machine_settings() -> MachineSettings:
    """Read the machines' settings from the environment. Raises KeyError or ValueError if they are missing."""
    return MachineSettings(
        count=int(os.environ["MACHINES"]),
        idle_in_seconds=60 * float(os.environ["IDLE_MINUTES"]),
        startup_timeout_in_seconds=int(os.environ["STARTUP_TIMEOUT_IN_SECONDS"]),
        batch=int(os.environ["MAX_BATCH_SIZE"]),
    )
