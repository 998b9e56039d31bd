"""The deployment file as one typed, frozen model. `settings/` has its sections, and is the only place of defaults."""

from collections.abc import Mapping
from typing import Self

from pydantic import Field, PrivateAttr

from .lock import ModelLock
from .settings.api import Api
from .settings.hosting import Hosting
from .settings.jobs import Jobs
from .settings.model import Model
from .settings.operating import Alarms, Logs, Operations, Preflight
from .settings.section import CountRange, Region, Section
from .settings.security import Security
from .settings.serving import Serving
from .settings.shared_endpoint import Shared

REALTIME_TIMEOUT_IN_SECONDS = 60  # SageMaker's own limit on a call of a real-time endpoint


# A new account may run 10 functions at once (`doctor` checks it); most of them must stay free for callers.
_MOST_WORKERS_BY_DEFAULT = 4


FREE_TEXTS = ("environment", "owner", "silenced")  # settings that hold any text, themselves or in the keys below


class Deployment(Section):
    """One hosted model and its API: one file `deployments/<name>.yaml`, one stack of that name."""

    region: Region | None = Field(None, description="AWS region; null = a template that works in every region.")
    model: Model
    serving: Serving = Serving()
    hosting: Hosting
    security: Security = Security()
    api: Api = Api()
    jobs: Jobs = Jobs()
    alarms: Alarms = Alarms()
    operations: Operations = Operations()
    logs: Logs = Logs()
    preflight: Preflight = Preflight()

    _lock: ModelLock | None = PrivateAttr(None)
    _shared: Shared | None = PrivateAttr(None)
    _neighbours: Mapping[str, "Deployment"] = PrivateAttr(default_factory=dict)

    @property
    def lock(self) -> ModelLock | None:
        """The model's own facts, from the lock file; None = there is no lock file."""
        return self._lock

    def with_lock(self, lock: ModelLock) -> Self:
        """Return the same deployment with the facts of a lock file."""
        locked = self.model_copy()
        locked._lock = lock
        return locked

    @property
    def shared(self) -> Shared | None:
        """The shared endpoint of `hosting.endpoint`; None = an endpoint of its own."""
        return self._shared

    @property
    def neighbours(self) -> Mapping[str, "Deployment"]:
        """The other deployments on the shared endpoint, by the names of their stacks."""
        return self._neighbours

    def on(self, shared: Shared | None, neighbours: Mapping[str, "Deployment"] | None = None) -> Self:
        """Return the same deployment on a shared endpoint, beside others."""
        placed = self.model_copy()
        placed._shared, placed._neighbours = shared, neighbours or {}
        return placed

    @property
    def instance_count(self) -> CountRange:
        """The number of instances that the model runs on, those of a shared endpoint too."""
        return self._shared.endpoint.instance_count if self._shared else self.hosting.instance_count

    @property
    def least_instances(self) -> int:
        """The number of instances that always run: none of an endpoint whose only model sleeps."""
        return 0 if self.hosting.sleeps and not self._shared else self.instance_count.min

    @property
    def is_scaled(self) -> bool:
        """Whether Application Auto Scaling decides on a count: of instances, or of copies of a component."""
        hosting = self.hosting
        count = hosting.copies if hosting.endpoint else hosting.instance_count
        return hosting.sleeps or count.is_scaled

    @property
    def has_adapter_components(self) -> bool:
        """Whether SageMaker loads the adapters into the running container, each as a component beside the model's."""
        return bool(self.model.adapters) and self.serving.engine == "lmi-vllm"

    @property
    def revision(self) -> str | None:
        """The model's revision on the Hub: the lock's commit, otherwise `model.revision`; None = the newest."""
        return (self.lock.commit if self.lock else None) or self.model.revision

    @property
    def uses_components(self) -> bool:
        """Whether the model is an inference component of its endpoint."""
        return bool(self.why_components)

    @property
    def why_components(self) -> str:
        """The settings for which the model must be an inference component, in words; empty = it is none."""
        asked = {
            "hosting.idle": self.hosting.sleeps,
            "model.adapters": self.has_adapter_components,
            "hosting.endpoint": self.hosting.endpoint is not None,
        }
        return " and ".join(name for name, is_asked in asked.items() if is_asked)

    @property
    def writes_access_log(self) -> bool:
        """Whether API Gateway writes a line for each request."""
        return self.api.access_logs and self.logs.requests != "none"

    @property
    def traces(self) -> bool:
        """Whether requests and jobs are traced in AWS X-Ray."""
        return self.operations.tracing or self.api.tracing

    @property
    def function_names(self) -> set[str]:
        """The names of the deployment's functions."""
        jobs, hosting = self.jobs.enabled, self.hosting
        made = {
            "authorize": self.api.auth == "api-key",
            "authorize_token": self.api.auth == "jwt",
            "every_minute": jobs,
            "generate": True,
            "poll_job": jobs,
            "record_result": jobs and hosting.queues_in_sagemaker,
            "route": True,
            "run_job": jobs and hosting.answers_at_once,
            "serve": self.api.playground,
        }
        return {name for name, is_made in made.items() if is_made}

    @property
    def invocation_timeout_in_seconds(self) -> int:
        """Time that the model has for one attempt of a job."""
        if self.hosting.answers_at_once:
            return REALTIME_TIMEOUT_IN_SECONDS
        return self.jobs.invocation_timeout_in_seconds

    @property
    def answer_limit_in_seconds(self) -> int:
        """Time that POST /generate gives a real-time endpoint."""
        return min(self.api.longest_wait_in_seconds, REALTIME_TIMEOUT_IN_SECONDS)

    @property
    def most_workers(self) -> int:
        """Number of functions that run jobs, or record their results, at once; an event source needs at least 2."""
        if self.hosting.queues_in_sagemaker:
            return _MOST_WORKERS_BY_DEFAULT
        return self.jobs.max_concurrency or max(2, min(self.model_places, _MOST_WORKERS_BY_DEFAULT))

    @property
    def model_places(self) -> int:
        """Number of requests that the model takes at once, on all instances together."""
        count = self.hosting.copies if self.hosting.endpoint else self.hosting.instance_count
        return count.max * self.hosting.scaling.concurrent_requests_per_instance
