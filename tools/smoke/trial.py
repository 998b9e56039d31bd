"""Deploys, updates, destroys and purges the deployments, and proves that nothing is left."""

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from botocore.exceptions import ClientError

from slipway.hosting.component import is_changing
from slipway.leftovers.purge import purge
from slipway.leftovers.search import find
from slipway.shared.aws_clients import Clients
from slipway.stack.deployed_stack import DeployedStack, UnknownStackError, find_stack

ROOT = Path(__file__).parents[2]
REALTIME, ASYNC, ZERO = "slipway-smoke", "slipway-smoke-async", "slipway-smoke-zero"
NAMES = (REALTIME, ASYNC, ZERO)
_ATTEMPTS_TO_DESTROY = 3
_HOUR_IN_SECONDS = 3600
_BUSY = ("Creating", "Updating", "SystemUpdating", "RollingBack", "Deleting")
_DESCRIBED_BY = {
    "EndpointName": "describe_endpoint",
    "EndpointConfigName": "describe_endpoint_config",
    "ModelName": "describe_model",
    "InferenceComponentName": "describe_inference_component",
}
T = TypeVar("T")


class TimeIsUpError(Exception):
    """The time of the test is over; everything is destroyed next."""


@dataclass
class Trial:
    """The deployments in one region.

    folder: for its own files. ends_at: on the monotonic clock. look_interval: seconds between two looks at AWS. seen:
    resources of SageMaker that the deployments have used, as pairs such as ("ModelName", name).
    """

    clients: Clients
    region: str
    folder: Path
    ends_at: float
    look_interval: float
    seen: set[tuple[str, str]] = field(default_factory=set)

    def stack(self, name: str) -> DeployedStack:
        """The stack in its current state. Raises UnknownStackError."""
        return find_stack(name, self.clients)

    def deploy(self, *names: str, turn: int = 0) -> int:
        """Run `cdk deploy`; returns its exit status. turn: a new number makes an update with new instances."""
        options = ("--concurrency", str(len(NAMES)), "--require-approval", "never")
        try:
            return self._cdk(
                "deploy", *options, names=names, turn=turn, seconds=self.seconds_left(2 * _HOUR_IN_SECONDS)
            )
        except subprocess.TimeoutExpired:
            raise TimeIsUpError from None
        finally:
            self._note(names)

    def destroy(self) -> None:
        """Destroy all stacks, however long it takes, and repeat while SageMaker is busy."""
        for _ in range(_ATTEMPTS_TO_DESTROY):
            for name in self.there():
                self._wait_until_idle(name)
            if left := self.there():
                self._note(left)
                self._cdk("destroy", "--force", names=left)
        for name in NAMES:
            if name not in self.there():
                purge(name, self.clients, ask=None)

    def there(self) -> list[str]:
        """The names of the stacks that exist."""
        return [name for name in NAMES if self._exists(name)]

    def left(self) -> list[str]:
        """The resources that still exist: those that the deployments used, and those with the stacks' tag."""
        found = [f"stack {name}" for name in self.there()]
        for member, name in sorted(self.seen):
            try:
                getattr(self.clients("sagemaker"), _DESCRIBED_BY[member])(**{member: name})
            except ClientError as error:
                if "Could not find" not in str(error):
                    raise
            else:
                found.append(f"{member} {name}")
        tagged = (each for name in NAMES for each in find(name, self.clients)[0])
        return [*found, *(f"{each.kind} {each.name}" for each in tagged)]

    def seconds_left(self, most: int = _HOUR_IN_SECONDS) -> int:
        """Seconds until the time is over, between 1 and `most`."""
        return max(1, min(most, int(self.ends_at - time.monotonic())))

    def wait(self, look: Callable[[], T | None], seconds: float) -> T | None:
        """The first value of look() that is not None; None after so many seconds. Raises TimeIsUpError."""
        end = time.monotonic() + seconds
        while (value := look()) is None and time.monotonic() < end:
            if time.monotonic() > self.ends_at:
                raise TimeIsUpError
            time.sleep(self.look_interval)
        return value

    def settled(self, name: str) -> dict[str, Any]:
        """The endpoint of a stack, once no operation on it is in progress."""

        def look() -> dict[str, Any] | None:
            endpoint = self.stack(name).endpoint
            return None if is_busy(endpoint) else endpoint

        return self.wait(look, _HOUR_IN_SECONDS) or {}

    def _exists(self, name: str) -> bool:
        """Whether the stack exists, even if Slipway does not recognize it: it must not pass for deleted."""
        try:
            self.clients("cloudformation").describe_stacks(StackName=name)
        except ClientError as error:
            if "does not exist" not in str(error):
                raise
            return False
        return True

    def _note(self, names: Iterable[str]) -> None:
        for name in names:
            with contextlib.suppress(UnknownStackError):
                stack = self.stack(name)
                if component := stack.component:
                    self.seen |= {("InferenceComponentName", component["InferenceComponentName"])}
                    self.seen |= {("ModelName", component["Specification"]["ModelName"])}
                if endpoint := stack.endpoint:
                    # Names are read from descriptions, because ARNs hold them in lower case.
                    config = self.clients("sagemaker").describe_endpoint_config(
                        EndpointConfigName=endpoint["EndpointConfigName"]
                    )
                    self.seen |= {(member, endpoint[member]) for member in ("EndpointName", "EndpointConfigName")}
                    variants = config["ProductionVariants"]
                    self.seen |= {("ModelName", each["ModelName"]) for each in variants if "ModelName" in each}

    def _wait_until_idle(self, name: str) -> None:
        """Wait while SageMaker would refuse to delete the endpoint or its component."""
        with contextlib.suppress(UnknownStackError):
            while is_busy((stack := self.stack(name)).endpoint) or is_changing(stack.component):
                time.sleep(self.look_interval)

    def _cdk(self, *command: str, names: Sequence[str], turn: int = 0, seconds: float | None = None) -> int:
        """Run the CDK; its output goes to the terminal, because a deploy takes a quarter of an hour."""
        files = ",".join(str(self._file(name, turn)) for name in names)
        output = str(self.folder / "cdk.out")
        arguments = ["cdk", *command, "--all", "--output", output, "--progress", "events", "-c", f"deployment={files}"]
        environment = os.environ | {"AWS_REGION": self.region}
        return subprocess.run(
            arguments, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, timeout=seconds
        ).returncode

    def _file(self, name: str, turn: int) -> Path:
        """Write the deployment's file, with a variable that the container ignores."""
        content = yaml.safe_load((ROOT / "tools" / "smoke" / "deployments" / f"{name}.yaml").read_text())
        content["serving"]["environment"] = {"SLIPWAY_SMOKE": str(turn)}
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(content))
        return path


def is_busy(endpoint: dict[str, Any] | None) -> bool:
    """Whether SageMaker would refuse to change or delete the endpoint."""
    return endpoint is not None and endpoint["EndpointStatus"] in _BUSY
