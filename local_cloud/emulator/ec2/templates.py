"""EC2 instances in CloudFormation templates, and wait conditions, whose timeout follows the cloud's clock."""

from types import SimpleNamespace
from typing import Any

from local_cloud.emulator.cloudformation.resource_types import (
    Provisioned,
    extend_resource_type,
    register_resource_type,
    tag_with_stack,
)
from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.ec2 import launch, operations

_ec2 = ministack.internals("ministack.services.ec2", "_tags")
_wait_conditions = ministack.internals("ministack.services.cloudformation.wait_conditions", "time")

_REPLACED_BY = (
    "AvailabilityZone",
    "BlockDeviceMappings",
    "ImageId",
    "InstanceType",
    "KeyName",
    "LaunchTemplate",
    "NetworkInterfaces",
    "PrivateIpAddress",
    "SecurityGroupIds",
    "SubnetId",
    "UserData",
)


# Properties that CloudFormation does not send to RunInstances.
_OWN = ("PropagateTagsToVolumeOnCreation", "Tags")


class InstanceFailedError(Exception):
    """An instance that does not reach the state running."""


def _create_instance(logical_id: str, properties: dict[str, Any], stack: str) -> Provisioned:
    request = {name: properties[name] for name in properties if name not in _OWN}
    tags = [{"Key": str(tag["Key"]), "Value": str(tag["Value"])} for tag in properties.get("Tags") or []]
    (made,) = operations.run(request)
    _ec2._tags[made.id] = [*_ec2._tags.get(made.id, []), *tags]
    if properties.get("PropagateTagsToVolumeOnCreation"):
        _ec2._tags[made.volume_id] = tags
    return made.id, _attributes(made.id)


def _attributes(instance_id: str) -> dict[str, Any]:
    record = operations.find(instance_id).record
    return {
        "AvailabilityZone": record["Placement"]["AvailabilityZone"],
        "InstanceId": instance_id,
        "PrivateIp": record["PrivateIpAddress"],
        "PublicIp": record["PublicIpAddress"],
        "VpcId": record["VpcId"],
    }


def _stabilize_instance(instance_id: str) -> None:
    """Wait until the instance runs, as CloudFormation does; wait conditions cover what it does then."""
    state = operations.find(instance_id).wait_until("running", "stopped", "terminated")
    if state == "terminated":
        raise InstanceFailedError(f"Instance {instance_id} failed to stabilize. Current state: terminated.")


def _update_instance(instance_id: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> Provisioned:
    tags = [{"Key": str(tag["Key"]), "Value": str(tag["Value"])} for tag in new.get("Tags") or []]
    _ec2._tags[instance_id] = [*operations.find(instance_id).launch.tags, *tags]
    return instance_id, _attributes(instance_id)


def _delete_instance(instance_id: str, properties: dict[str, Any]) -> None:
    if instance_id in operations.instances:
        instance = operations.instances[instance_id]
        instance.terminate()
        instance.wait_until("terminated")


def _check_template(properties: dict[str, Any]) -> None:
    """Check a launch template as CreateLaunchTemplate does: it demands base64 user data, the launch checks the rest."""
    launch.check_user_data(properties["LaunchTemplateData"].get("UserData", ""))


def install() -> None:
    _wait_conditions.time = SimpleNamespace(monotonic=clock.now)
    register_resource_type(
        "AWS::EC2::Instance",
        create=_create_instance,
        stabilize=_stabilize_instance,
        update=_update_instance,
        delete=_delete_instance,
        replaced_by=_REPLACED_BY,
    )
    tag_with_stack("AWS::EC2::Instance")
    extend_resource_type("AWS::EC2::LaunchTemplate", check=_check_template)
