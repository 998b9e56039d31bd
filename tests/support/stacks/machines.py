"""EC2 instances in small stacks, the local cloud's list of machines, and faults of their starts."""

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
    """Return the resources of an instance in the default VPC that runs the script: launch template, role and profile.

    `data`: members of LaunchTemplateData that replace the default ones.
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
    """Return each instance that is not terminated, by id: state, disk, its process and those of its services."""
    found = requests.get(f"{cloud.url}/_slipway/machines", timeout=60).json()
    return {each["id"]: each for each in found}


def wait_for_state(cloud: LocalCloud, instance_id: str, state: str) -> None:
    def look() -> bool | None:
        found = machines(cloud)
        return True if (found[instance_id]["state"] if instance_id in found else "terminated") == state else None

    wait_for(look, f"{instance_id} {state}")


def order_fault(cloud: LocalCloud, fault: str, count: int = 1, **more: str) -> None:
    """Order a fault for the next starts of machines: no_capacity, boot_hangs, or command_fails with a `command`."""
    request = {"fault": fault, "count": count, **more}
    requests.post(f"{cloud.url}/_slipway/machine-faults", json=request, timeout=60).raise_for_status()


def forget_faults(cloud: LocalCloud, fault: str = "") -> None:
    """Withdraw all ordered faults, or those of one kind."""
    requests.delete(f"{cloud.url}/_slipway/machine-faults", json={"fault": fault}, timeout=60).raise_for_status()
