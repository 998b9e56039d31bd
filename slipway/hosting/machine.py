"""One machine of `hosting.mode: ec2`, as EC2 and the job table show it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from inference_api.machines.row import MachineRow
from llm_hosting import DEPLOYMENT_TAG, MACHINE_TAG

AWAKE = ("pending", "running")
_EXIST = (*AWAKE, "stopping", "stopped")


@dataclass(frozen=True)
class DeployedMachine:
    """One machine of a deployment.

    described: the instance as EC2 shows it. row: its row in the job table; None = its worker has never started.
    volumes: its disks as EC2 shows them.
    """

    described: Mapping[str, Any]
    row: MachineRow | None = None
    volumes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def id(self) -> str:
        return str(self.described["InstanceId"])

    @property
    def number(self) -> int:
        """The machine's number in its deployment, counted from 0."""
        return int(self.tags[MACHINE_TAG])

    @property
    def type(self) -> str:
        return str(self.described["InstanceType"])

    @property
    def state(self) -> str:
        """The instance's state as EC2 names it, such as `running`."""
        return str(self.described["State"]["Name"])

    @property
    def tags(self) -> dict[str, str]:
        return {each["Key"]: each["Value"] for each in self.described.get("Tags", [])}

    @property
    def is_awake(self) -> bool:
        """Whether the machine bills by the hour."""
        return self.state in AWAKE

    @property
    def launched_at(self) -> float:
        """The time of the last start, in seconds since the epoch."""
        return float(self.described["LaunchTime"].timestamp())


def tagged_instances(deployment: str, ec2: Any) -> list[dict[str, Any]]:
    """Return the instances with the tags of the deployment's machines, without terminated ones."""
    filters = {
        f"tag:{DEPLOYMENT_TAG}": [deployment],
        "tag-key": [MACHINE_TAG],
        "instance-state-name": list(_EXIST),
    }
    pages = ec2.get_paginator("describe_instances").paginate(Filters=_listed(filters))
    return [each for page in pages for group in page["Reservations"] for each in group["Instances"]]


def volumes_of(instance_ids: list[str], ec2: Any) -> list[dict[str, Any]]:
    """Return the disks of these instances."""
    if not instance_ids:
        return []
    return _volumes({"attachment.instance-id": instance_ids}, ec2)


def loose_volumes(deployment: str, ec2: Any) -> list[dict[str, Any]]:
    """Return the disks of the deployment's machines that are attached to no instance."""
    return _volumes({f"tag:{DEPLOYMENT_TAG}": [deployment], "tag-key": [MACHINE_TAG], "status": ["available"]}, ec2)


def age(then: float, now: float) -> str:
    """Return the time since `then`, such as `12 s`; `0 s` if `then` is later because two clocks differ."""
    seconds = max(0, round(now - then))
    for unit, length in (("days", 172_800), ("h", 7_200), ("min", 120)):
        if seconds >= length:
            return f"{seconds // {'days': 86_400, 'h': 3_600, 'min': 60}[unit]} {unit}"
    return f"{seconds} s"


def moment(seconds: float) -> str:
    """Return the time in UTC, to the second. seconds: since the epoch."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _volumes(filters: dict[str, list[str]], ec2: Any) -> list[dict[str, Any]]:
    pages = ec2.get_paginator("describe_volumes").paginate(Filters=_listed(filters))
    return [each for page in pages for each in page["Volumes"]]


def _listed(filters: dict[str, list[str]]) -> list[dict[str, Any]]:
    return [{"Name": name, "Values": values} for name, values in filters.items()]
