"""The hosting of a deployed stack: the one place where the operator's verbs choose by the hosting mode."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from llm_hosting.installed_version import installed_version
from llm_hosting.stack_label import SHARED_ENDPOINT
from slipway.hosting.check import Check
from slipway.hosting.component import DeployedComponent
from slipway.hosting.endpoint import DeployedEndpoint
from slipway.hosting.machines import DeployedMachines
from slipway.hosting.meter import Meter, Metric
from slipway.hosting.shared_endpoint import DeployedOnSharedEndpoint, DeployedSharedEndpoint
from slipway.stack.deployed_stack import DeployedStack, UnknownStackError


class DeployedHosting(Protocol):
    """A SageMaker endpoint or EC2 machines that run a stack's model.

    log_group: the log group of the model's containers or machines. log_parts: the endings of its streams' names.
    failure: the reason that SageMaker tells for a failure; "" = none. may_sleep: whether a call may have to wait for a
    start. first_of_start: the name of a start's first part, before the model's log begins. running: the instances that
    bill by the hour, by type. takes_calls: whether the API can get an answer, even a late one.
    """

    log_parts: tuple[str, ...]
    first_of_start: str

    @property
    def may_sleep(self) -> bool: ...

    @property
    def log_group(self) -> str: ...

    @property
    def failure(self) -> str: ...

    @property
    def running(self) -> Counter[str]: ...

    @property
    def takes_calls(self) -> bool: ...

    @property
    def calls(self) -> Metric | None:
        """A metric with a sample for each request that kept the model awake; None = there is no model."""

    def calls_by_model(self) -> dict[str, Metric]:
        """Return such metrics of the model and of its adapters, or of the components on a shared endpoint."""

    def meters(self) -> list[Meter]:
        """Return the metrics that tell how long instances ran; empty = the deployment has none of its own."""

    def checks(self) -> Iterator[Check]:
        """Check that the hosting is as the stack describes it."""

    def still_billing(self) -> Check:
        """Check that nothing of an earlier stack of this name still bills by the hour."""

    def state(self) -> dict[str, Any]:
        """Return the members of `status --json` that describe the hosting."""

    def cost(self, state: dict[str, Any]) -> str:
        """Return the cost of `state` in words."""

    def lines(self, state: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield label and text of each line of `status` about the hosting."""

    def backlog(self) -> dict[str, int]:
        """Count the jobs that wait outside the deployment's own queue."""


def _endpoint_of(stack: DeployedStack) -> DeployedHosting:
    if stack.shares_endpoint:
        return DeployedOnSharedEndpoint(stack)
    return DeployedComponent(stack) if stack.component_name else DeployedEndpoint(stack)


_BY_MODE: Mapping[str, Callable[[DeployedStack], DeployedHosting]] = {
    "realtime": _endpoint_of,
    "async": DeployedEndpoint,
    "ec2": DeployedMachines,
    SHARED_ENDPOINT: DeployedSharedEndpoint,
}


def hosting_of(stack: DeployedStack) -> DeployedHosting:
    """Return the stack's hosting. Raises UnknownStackError, also for a mode that a newer version has added."""
    label = stack.label
    if label.mode not in _BY_MODE:
        made = f"{stack.name}: Slipway {label.version} made the stack with hosting.mode {label.mode!r}"
        raise UnknownStackError(f"{made}, which {installed_version()} does not know; install {label.version} or newer.")
    return _BY_MODE[label.mode](stack)
