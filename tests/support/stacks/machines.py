"""EC2 instances of small stacks, and the machines of the local cloud."""

import base64
from typing import Any

import requests

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.small_stacks import Resources, arn_of, resource, role, statement

IMAGE = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
AGENT = ["ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel", "ssmmessages:OpenControlChannel"]


def machine(
    script: str, *, statements: list[dict[str, Any]] | None = None, tags: dict[str, str] | None = None, **data: Any
) -> Resources:
    """An instance in the default VPC that runs the script, with its launch template, its role and its profile.

    data: members of LaunchTemplateData in place of those here.
    """
    user_data = base64.b64encode(f"#!/bin/bash\n{script}\n".encode()).decode()
    template = {
        "ImageId": IMAGE,
        "InstanceType": "c5.xlarge",
        "IamInstanceProfile": {"Arn": arn_of("Profile")},
        "InstanceInitiatedShutdownBehavior": "stop",
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        "NetworkInterfaces": [{"DeviceIndex": 0, "AssociatePublicIpAddress": True}],
        "UserData": user_data,
    } | data
    version = {"Fn::GetAtt": ["Template", "LatestVersionNumber"]}
    return {
        "Role": role([statement(AGENT), *(statements or [])], "ec2"),
        "Profile": resource("IAM::InstanceProfile", {"Roles": [{"Ref": "Role"}]}),
        "Template": resource("EC2::LaunchTemplate", {"LaunchTemplateData": template}),
        "Machine": resource(
            "EC2::Instance",
            {
                "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Template"}, "Version": version},
                "Tags": [{"Key": key, "Value": value} for key, value in (tags or {}).items()],
            },
        ),
    }


def machines(cloud: LocalCloud) -> dict[str, dict[str, Any]]:
    """The instances that are not terminated, by id: state, disk, the process of the machine and those of services."""
    found = requests.get(f"{cloud.url}/_slipway/machines", timeout=60).json()
    return {each["id"]: each for each in found}


def wait_for_state(cloud: LocalCloud, instance_id: str, state: str) -> None:
    def look() -> bool | None:
        found = machines(cloud)
        return True if (found[instance_id]["state"] if instance_id in found else "terminated") == state else None

    wait_for(look, f"{instance_id} {state}")


def order_fault(cloud: LocalCloud, fault: str, count: int = 1, **more: str) -> None:
    """A fault in the next starts of machines: no_capacity, boot_hangs, command_fails with a `command`."""
    request = {"fault": fault, "count": count, **more}
    requests.post(f"{cloud.url}/_slipway/machine-faults", json=request, timeout=60).raise_for_status()


def forget_faults(cloud: LocalCloud, fault: str = "") -> None:
    """All of them, or those of one kind."""
    requests.delete(f"{cloud.url}/_slipway/machine-faults", json={"fault": fault}, timeout=60).raise_for_status()
