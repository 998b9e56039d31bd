"""How an update replaces the instances of an endpoint, or the copies of an inference component."""

import math
from dataclasses import dataclass

from llm_hosting.deployment.settings.hosting import batch_fits
from slipway.changes.template.resources import Resource, values_at
from slipway.changes.template.values import number

_MINUTE = 60


@dataclass(frozen=True)
class Rollout:
    """The rollout of an endpoint or a component.

    batch: instances or copies that start at a time; None = all. share: percent of the requests that moves first; None =
    all.
    watched: seconds for which the alarms watch each batch, or the whole update.
    longest: seconds after which SageMaker ends the update; None = its default.
    """

    batch: int | None
    share: int | None
    watched: int
    longest: int | None

    def takes(self, count: int) -> bool:
        """Whether SageMaker takes the batch for this number of instances."""
        return self.batch is None or batch_fits(self.batch, count)

    def minutes(self, instances: int, start_in_seconds: float | None) -> str:
        """Return the usual and the longest time of an update of this number of instances, in words."""
        batches = math.ceil(instances / self.batch) if self.batch else 1
        said = []
        if start_in_seconds is not None:
            said.append(f"about {_rounded(batches * (start_in_seconds + self.watched))} minutes")
            if self.watched:
                each = (
                    f"{batches} times {_rounded(self.watched)}" if batches > 1 else f"the last {_rounded(self.watched)}"
                )
                said[-1] += f", {each} of them under watch"
        if self.longest:
            said.append(f"at most {_rounded(self.longest)} minutes")
        return f"; {', '.join(said)}" if said else ""


def rollout_of(resource: Resource) -> Rollout:
    """Return the rollout of an endpoint or a component of a template."""

    def found(*path: str) -> int | None:
        return number(next(iter(values_at(resource.properties, ["DeploymentConfig", *path])), None))

    rolling, blue_green = "RollingUpdatePolicy", "BlueGreenUpdatePolicy"
    traffic = (blue_green, "TrafficRoutingConfiguration")
    watches = (
        (rolling, "WaitIntervalInSeconds"),
        (*traffic, "WaitIntervalInSeconds"),
        (blue_green, "TerminationWaitInSeconds"),
    )
    limit = "MaximumExecutionTimeoutInSeconds"
    return Rollout(
        batch=found(rolling, "MaximumBatchSize", "Value"),
        share=found(*traffic, "CanarySize", "Value"),
        watched=sum(found(*path) or 0 for path in watches),
        longest=found(rolling, limit) or found(blue_green, limit),
    )


def _rounded(seconds: float) -> int:
    return max(1, round(seconds / _MINUTE))
