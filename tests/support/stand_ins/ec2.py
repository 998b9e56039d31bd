"""A stand-in for EC2 and Systems Manager: the calls and filters that the operator's verbs use."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

LAUNCHED = datetime(2026, 11, 22, 12, tzinfo=UTC)


def instance(id_: str, *, deployment: str = "chat", number: int = 0, state: str = "running", **more: Any) -> Any:
    """Return an instance as its stack's launch template makes it."""
    tags = {
        "slipway:deployment": deployment,
        "slipway:machine": str(number),
        "aws:ec2launchtemplate:id": "lt-1",
        "aws:ec2launchtemplate:version": "3",
    }
    made = {
        "InstanceId": id_,
        "InstanceType": "c5.xlarge",
        "State": {"Name": state},
        "LaunchTime": LAUNCHED,
        "MetadataOptions": {"HttpTokens": "required"},
        "SecurityGroups": [{"GroupId": "sg-1"}],
        "Tags": [{"Key": key, "Value": value} for key, value in (tags | more.pop("tags", {})).items()],
    }
    return made | more


def volume(id_: str, *, of: str | None, deployment: str = "chat", encrypted: bool = True) -> Any:
    """Return a volume. `of`: the instance to which it is attached; None if that instance is gone."""
    tags = {"slipway:deployment": deployment, "slipway:machine": "0"}
    return {
        "VolumeId": id_,
        "Size": 17,
        "Encrypted": encrypted,
        "State": "in-use" if of else "available",
        "Attachments": [{"InstanceId": of}] if of else [],
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
    }


class StandInEc2:
    """EC2 and Systems Manager of one account.

    `inbound`: inbound rules of the security group sg-1.
    `online`: ids of instances whose Systems Manager agent is online.
    """

    def __init__(self, *instances: Any, volumes: list[Any] | None = None) -> None:
        self.instances, self.volumes = list(instances), volumes or []
        self.inbound: list[Any] = []
        self.online: list[str] = []

    def get_paginator(self, operation: str) -> Any:
        return SimpleNamespace(paginate=lambda **request: [getattr(self, operation)(**request)])

    def describe_instances(self, Filters: Any) -> Any:
        found = [each for each in self.instances if _matches(each, Filters)]
        return {"Reservations": [{"Instances": [each]} for each in found]}

    def describe_volumes(self, Filters: Any) -> Any:
        return {"Volumes": [each for each in self.volumes if _matches(each, Filters)]}

    def describe_security_groups(self, GroupIds: list[str]) -> Any:
        assert GroupIds == ["sg-1"]
        return {"SecurityGroups": [{"GroupId": "sg-1", "IpPermissions": self.inbound}]}

    def describe_launch_template_versions(self, LaunchTemplateId: str, Versions: list[str]) -> Any:
        assert (LaunchTemplateId, Versions) == ("lt-1", ["$Default"])
        return {"LaunchTemplateVersions": [{"VersionNumber": 3, "LaunchTemplateData": {"InstanceType": "c5.xlarge"}}]}

    def describe_instance_information(self, Filters: Any) -> Any:
        (wanted,) = Filters
        found = [each for each in wanted["Values"] if each in self.online]
        return {"InstanceInformationList": [{"InstanceId": each, "PingStatus": "Online"} for each in found]}

    def terminate_instances(self, InstanceIds: list[str]) -> None:
        for each in self.instances:
            if each["InstanceId"] in InstanceIds:
                each["State"] = {"Name": "shutting-down"}

    def delete_volume(self, VolumeId: str) -> None:
        (found,) = (each for each in self.volumes if each["VolumeId"] == VolumeId)
        assert not found["Attachments"], "EC2 refuses that"
        self.volumes.remove(found)


def _matches(described: Any, filters: list[Any]) -> bool:
    tags = {tag["Key"]: tag["Value"] for tag in described["Tags"]}
    values = {
        "instance-state-name": lambda: [described["State"]["Name"]],
        "status": lambda: [described["State"]],
        "attachment.instance-id": lambda: [each["InstanceId"] for each in described["Attachments"]],
        "tag-key": lambda: list(tags),
    }

    def has(name: str) -> list[str]:
        return [tags.get(name.removeprefix("tag:"), "")] if name.startswith("tag:") else values[name]()

    return all(set(has(each["Name"])) & set(each["Values"]) for each in filters)
