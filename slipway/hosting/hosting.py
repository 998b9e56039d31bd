"""What runs a deployed stack's model: the one place of the operator's verbs that chooses by the hosting mode."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from slipway.hosting.check import Check
from slipway.hosting.endpoint import DeployedEndpoint
from slipway.hosting.machines import DeployedMachines
from slipway.stack.deployed_stack import DeployedStack


class DeployedHosting(Protocol):
    """A SageMaker endpoint or EC2 machines.

    log_group: the log of what runs the model. log_parts: its parts, with which the names of its streams end.
    failure: a reason of its own, beside CloudFormation's; "" = none. may_sleep: whether a call may have to wait for
    a start. first_of_start: the first part of a start, before the model's log begins. running: instances that bill
    by the hour, by type. takes_calls: whether the API can get an answer, even a late one.
    """

    log_parts: tuple[str, ...]
    may_sleep: bool
    first_of_start: str

    @property
    def log_group(self) -> str: ...

    @property
    def failure(self) -> str: ...

    @property
    def running(self) -> Counter[str]: ...

    @property
    def takes_calls(self) -> bool: ...

    def checks(self) -> Iterator[Check]:
        """Whether what runs is what the stack asked for."""

    def still_billing(self) -> Check:
        """Whether anything of earlier stacks of the name bills by the hour."""

    def state(self) -> dict[str, Any]:
        """The members that it adds to `status --json`."""

    def cost(self, state: dict[str, Any]) -> str:
        """The cost of `state`, in words."""

    def lines(self, state: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Label and text of each line of `status`."""

    def backlog(self) -> dict[str, int]:
        """The number of jobs that wait outside the deployment's own queue."""


_BY_MODE: Mapping[str, Callable[[DeployedStack], DeployedHosting]] = {
    "realtime": DeployedEndpoint,
    "async": DeployedEndpoint,
    "ec2": DeployedMachines,
}


def hosting_of(stack: DeployedStack) -> DeployedHosting:
    """What runs the stack's model. Raises UnknownStackError."""
    return _BY_MODE[stack.label.mode](stack)
