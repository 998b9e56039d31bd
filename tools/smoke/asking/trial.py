"""Everything that a question works with: its stack, updates of it, waiting, and a place for evidence."""

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import yaml

from slipway.hosting.component import is_changing
from slipway.operations.last_failure import last_failure
from slipway.shared.aws_clients import Clients
from slipway.stack.deployed_stack import DeployedStack, UnknownStackError, described_stack, find_stack
from tools.smoke.asking.cdk import cdk_deploy
from tools.smoke.asking.place import Place
from tools.smoke.asking.record import Record
from tools.smoke.asking.stacks import MADE, SmokeStack
from tools.smoke.asking.stop import Stop

_HOUR_IN_SECONDS = 3600
_BUSY = ("Creating", "Updating", "SystemUpdating", "RollingBack", "Deleting")
_MOST_EVIDENCE = 30
T = TypeVar("T")


@dataclass
class Trial:
    """One question at work. ends_at: of the whole run, on the monotonic clock."""

    place: Place
    record: Record
    stop: Stop
    ends_at: float
    own: SmokeStack | None
    evidence: list[str] = field(default_factory=list)
    is_deployed: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.clients: Clients = self.place.clients(self.saw)

    @property
    def region(self) -> str:
        return self.place.region

    @property
    def is_local(self) -> bool:
        return self.place.is_local

    @property
    def look_interval(self) -> float:
        return self.place.look_interval

    @property
    def folder(self) -> Path:
        """For files of the question."""
        return self.record.work

    def saw(self, text: str) -> None:
        """Add a line to the evidence, with the time."""
        self.evidence.append(f"{datetime.now(UTC):%H:%M:%S} {' '.join(text.split())[:500]}")
        del self.evidence[:-_MOST_EVIDENCE]

    def made(self, kind: str) -> str:
        """A name for a resource beside the stacks, by which the run removes it if the question does not."""
        return f"{MADE}{kind}-{uuid.uuid4().hex[:8]}"

    def stack(self, name: str | None = None) -> DeployedStack:
        """The question's stack, or another one, in its current state. Raises UnknownStackError."""
        return find_stack(name or self._own.name, self.clients)

    def deploy(self, *, edit: Callable[[dict[str, Any]], None] | None = None) -> int:
        """Create or update the stack; return the CDK's exit status. edit: changes the deployment file's content.

        Each deploy differs from the last one, so an update starts new instances.
        """
        content = yaml.safe_load(self._own.file.read_text())
        _renew(content, self.record.next_turn(self._own.name))
        if edit:
            edit(content)
        started, log = time.monotonic(), self.record.folder / f"{self._own.name}.log"
        try:
            status = cdk_deploy(self._own, content, self.place, self.record.work, log, self.stop)
        finally:
            self.record.note(hosting_resources(self._own.name, self.clients))
        self.saw(f"cdk deploy: exit status {status} after {time.monotonic() - started:.0f} s")
        if status:
            for line in log.read_text(errors="replace").splitlines()[-5:]:
                self.saw(line)
        return status

    def update(self, edit: Callable[[dict[str, Any]], None] | None = None) -> int:
        """The same for a stack that exists."""
        status = self.deploy(edit=edit)
        self.saw(f"{self._own.name} is {self.stack().status}")
        return status

    def sleep(self, seconds: float) -> None:
        """Wait. Raises StoppedError when the run ends."""
        self.stop.sleep(seconds)

    def wait(self, look: Callable[[], T | None], seconds: float) -> T | None:
        """The first value of look() that is not None; None after so many seconds. Raises StoppedError."""
        end = time.monotonic() + seconds
        while (value := look()) is None and time.monotonic() < end:
            self.sleep(self.look_interval)
        return value

    def seconds_left(self, most: int = _HOUR_IN_SECONDS) -> int:
        """Seconds until the time is over, between 1 and `most`."""
        return max(1, min(most, int(self.ends_at - time.monotonic())))

    def settled(self) -> dict[str, Any]:
        """The endpoint of the stack, once no operation on it is in progress."""

        def look() -> dict[str, Any] | None:
            endpoint = self.stack().endpoint
            return None if is_busy(endpoint) else endpoint

        return self.wait(look, _HOUR_IN_SECONDS) or {}

    @property
    def _own(self) -> SmokeStack:
        assert self.own, "this question names no stack"
        return self.own


def why(trial: Trial) -> str:
    """A colon and the reason of the stack's last failure; empty if nothing failed."""
    exists = trial.own and described_stack(trial.own.name, trial.clients)
    failure = last_failure(trial.stack()) if exists else None
    return f": {failure.reason}" if failure else ""


def _renew(content: dict[str, Any], turn: int) -> None:
    """Make the deployment differ from the last one in nothing that matters."""
    if content["hosting"].get("mode") == "ec2":
        content["hosting"]["renewal"] = turn
    else:
        variables = content["serving"].get("environment", {})
        content["serving"]["environment"] = variables | {"SLIPWAY_SMOKE": str(turn)}


def is_busy(endpoint: dict[str, Any] | None) -> bool:
    """Whether SageMaker would refuse to change or delete the endpoint."""
    return endpoint is not None and endpoint["EndpointStatus"] in _BUSY


def is_hosting_busy(stack: DeployedStack) -> bool:
    """The same for the endpoint and the component of a stack."""
    return is_busy(stack.endpoint) or is_changing(stack.component)


def hosting_resources(name: str, clients: Clients) -> set[tuple[str, str]]:
    """What SageMaker runs for a stack, as pairs such as ("ModelName", name); empty without a stack or an endpoint."""
    try:
        stack, found = find_stack(name, clients), set[tuple[str, str]]()
        if component := stack.component:
            found |= {("InferenceComponentName", component["InferenceComponentName"])}
            found |= {("ModelName", component["Specification"]["ModelName"])}
        endpoint = stack.endpoint
    except UnknownStackError:
        return set()
    if endpoint and "EndpointConfigName" in endpoint:
        # Names are read from descriptions, because ARNs hold them in lower case.
        config = clients("sagemaker").describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
        found |= {(member, endpoint[member]) for member in ("EndpointName", "EndpointConfigName")}
        found |= {("ModelName", each["ModelName"]) for each in config["ProductionVariants"] if "ModelName" in each}
    return found
