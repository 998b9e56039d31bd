"""Finds EC2 machines, and their disks, that outlive a stack."""

from collections.abc import Iterator
from typing import Any

from slipway.hosting.machine import loose_volumes, tagged_instances
from slipway.leftovers.retained_resource import RetainedResource


def retained_machines(deployment: str, ec2: Any) -> Iterator[RetainedResource]:
    """Yield the machines of a deployment that has no stack. Their disks are deleted with them."""
    for each in tagged_instances(deployment, ec2):
        yield _machine(each["InstanceId"], each["State"]["Name"], ec2)


def retained_disks(deployment: str, ec2: Any) -> Iterator[RetainedResource]:
    """Yield the deployment's disks that are not attached to any machine."""
    for each in loose_volumes(deployment, ec2):
        yield _disk(each["VolumeId"], each["Size"], ec2)


def _machine(instance_id: str, state: str, ec2: Any) -> RetainedResource:
    return RetainedResource(
        "machine: bills while it runs, its disk always",
        instance_id,
        state,
        lambda: ec2.terminate_instances(InstanceIds=[instance_id]),
        bills=True,
    )


def _disk(volume_id: str, size_in_gb: int, ec2: Any) -> RetainedResource:
    return RetainedResource(
        "disk without a machine",
        volume_id,
        f"{size_in_gb} GB",
        lambda: ec2.delete_volume(VolumeId=volume_id),
        bills=True,
    )
