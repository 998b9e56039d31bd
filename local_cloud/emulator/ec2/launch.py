"""A launch: merges the parameters of RunInstances with those of a launch template, and checks them as EC2 does."""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.ec2.refusal import Ec2Error
from local_cloud.emulator.services import iam
from local_cloud.emulator.vpc import network

_ec2 = ministack.internals(
    "ministack.services.ec2",
    "_DEFAULT_SG_ID",
    "_DEFAULT_SUBNET_ID",
    "_launch_templates",
    "_security_groups",
    "_subnets",
)
_iam = ministack.internals("ministack.services.iam", "_lookup_instance_profile", "_roles")
_ssm = ministack.internals("ministack.services.ssm", "_PUBLIC_AMI_PARAMETERS", "resolve_parameter_value")

_LONGEST_USER_DATA = 16_384  # before base64
_IMAGE_GB = 8  # the size of Amazon Linux 2023's snapshot
_ARM_TYPE = re.compile(r"(a1|[a-z]+\d+[a-z]*g[a-z]*)\.")
_ARM_PARAMETER = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64"
_ARM_IMAGE = "ami-0c2023a1b2c3d4e50"


@dataclass(frozen=True)
class Launch:
    """The settings of an instance; `tags` are those for resource type instance, including EC2's own."""

    image_id: str
    architecture: str
    instance_type: str
    subnet_id: str
    group_ids: list[str]
    has_public_address: bool
    profile: dict[str, Any] | None
    role_arn: str | None
    user_data: bytes
    volume: dict[str, Any]
    metadata_options: dict[str, Any]
    shutdown_behavior: str
    tags: list[dict[str, str]]


def resolve(request: dict[str, Any]) -> Launch:
    """The launch for a RunInstances request, whose members override those of the launch template.

    Raises Ec2Error.
    """
    network.make_defaults()
    template, own_tags = _template(request.get("LaunchTemplate"))
    members = template | {name: value for name, value in request.items() if name != "LaunchTemplate"}
    image_id = _image(members.get("ImageId", ""))
    instance_type = members.get("InstanceType", "m1.small")
    architecture = "arm64" if image_id == _ARM_IMAGE else "x86_64"
    if architecture != ("arm64" if _ARM_TYPE.match(instance_type) else "x86_64"):
        raise Ec2Error(
            "InvalidParameterValue",
            f"The architecture of the instance type {instance_type} does not match that of the AMI {image_id}.",
        )
    subnet_id, groups, has_public_address = _place(members)
    profile = _profile(members.get("IamInstanceProfile"))
    return Launch(
        image_id=image_id,
        architecture=architecture,
        instance_type=instance_type,
        subnet_id=subnet_id,
        group_ids=groups,
        has_public_address=has_public_address,
        profile=profile,
        role_arn=_role_arn(profile),
        user_data=check_user_data(members.get("UserData", "")),
        volume=_volume(members.get("BlockDeviceMappings", [])),
        metadata_options=members.get("MetadataOptions", {}),
        shutdown_behavior=members.get("InstanceInitiatedShutdownBehavior", "stop"),
        tags=[
            *own_tags,
            *(
                tag
                for each in members.get("TagSpecifications", [])
                if each["ResourceType"] == "instance"
                for tag in each["Tags"]
            ),
        ],
    )


def _template(specification: dict[str, Any] | None) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The data of the launch template, and the tags that EC2 adds to instances launched by it."""
    if not specification:
        return {}, []
    template_id, name = specification.get("LaunchTemplateId"), specification.get("LaunchTemplateName")
    known = _ec2._launch_templates.values()
    found = next((each for each in known if template_id == each["LaunchTemplateId"]), None) or next(
        (each for each in known if name and name == each["LaunchTemplateName"]), None
    )
    if found is None:
        raise Ec2Error(
            "InvalidLaunchTemplateId.NotFound",
            f"The specified launch template, with template ID {template_id}, does not exist.",
        )
    wanted = str(specification.get("Version") or "$Default")
    numbers = {"$Default": found["DefaultVersionNumber"], "$Latest": found["LatestVersionNumber"]}
    for version in found["Versions"]:
        if str(version["VersionNumber"]) == str(numbers.get(wanted, wanted)):
            marks = {"id": found["LaunchTemplateId"], "version": str(version["VersionNumber"])}
            tags = [{"Key": f"aws:ec2launchtemplate:{name}", "Value": value} for name, value in marks.items()]
            return version["LaunchTemplateData"], tags
    raise Ec2Error(
        "InvalidLaunchTemplateId.VersionNotFound",
        f"Could not find the specified version {wanted} for the launch template with ID {template_id}.",
    )


def _image(image_id: str) -> str:
    if image_id.startswith("resolve:ssm:"):
        name = image_id.removeprefix("resolve:ssm:")
        value = _ssm.resolve_parameter_value(name)
        if not value:
            raise Ec2Error("InvalidParameterValue", f"The parameter {name} of the image can't be resolved.")
        return str(value)
    if not re.fullmatch(r"ami-[0-9a-f]{8,17}", image_id):
        code, words = ("InvalidAMIID.Malformed", f'Invalid id: "{image_id}"')
        raise Ec2Error(*(code, words) if image_id else ("MissingParameter", "The request must contain ImageId"))
    return image_id


def _place(members: dict[str, Any]) -> tuple[str, list[str], bool]:
    """The subnet, the security groups, and whether the instance gets a public address."""
    interfaces = members.get("NetworkInterfaces", [])
    for name, words in (("SubnetId", "subnet ID"), ("SecurityGroupIds", "security groups")):
        if interfaces and members.get(name):
            raise Ec2Error(
                "InvalidParameterCombination",
                f"Network interfaces and an instance-level {words} may not be specified on the same request",
            )
    (interface,) = interfaces or [{}]
    subnet_id = interface.get("SubnetId") or members.get("SubnetId") or _ec2._DEFAULT_SUBNET_ID
    if subnet_id not in _ec2._subnets:
        raise Ec2Error("InvalidSubnetID.NotFound", f"The subnet ID '{subnet_id}' does not exist")
    vpc = _ec2._subnets[subnet_id]["VpcId"]
    groups = interface.get("Groups") or members.get("SecurityGroupIds") or [_ec2._DEFAULT_SG_ID]
    for group in groups:
        if group not in _ec2._security_groups:
            raise Ec2Error("InvalidGroup.NotFound", f"The security group '{group}' does not exist")
        if _ec2._security_groups[group]["VpcId"] != vpc:
            words = f"Security group {group} and subnet {subnet_id} belong to different networks."
            raise Ec2Error("InvalidParameter", words)
    public = interface.get("AssociatePublicIpAddress")
    if public is None:
        public = network.subnet_assigns_public_address(subnet_id)
    return subnet_id, groups, str(public).lower() == "true"


def _profile(given: dict[str, Any] | None) -> dict[str, Any] | None:
    if not given:
        return None
    found: dict[str, Any] | None = _iam._lookup_instance_profile(name=given.get("Name", ""), arn=given.get("Arn", ""))
    if found is None:
        named = given.get("Name") or given.get("Arn")
        raise Ec2Error(
            "InvalidParameterValue",
            f"Value ({named}) for parameter iamInstanceProfile is invalid. Invalid IAM Instance Profile",
        )
    return found


def _role_arn(profile: dict[str, Any] | None) -> str | None:
    """The ARN of the instance's role, None if it has no role or the role does not trust EC2."""
    if not profile or not profile["Roles"]:
        return None
    arn = str(_iam._roles[profile["Roles"][0]]["Arn"])
    return arn if iam.role_trusts(arn, "ec2.amazonaws.com") else None


def check_user_data(given: str) -> bytes:
    """Decode the user data. Raises Ec2Error."""
    try:
        decoded = base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        raise Ec2Error("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.") from None
    if len(decoded) > _LONGEST_USER_DATA:
        raise Ec2Error("InvalidParameterValue", f"User data is limited to {_LONGEST_USER_DATA} bytes")
    return decoded


def _volume(mappings: list[dict[str, Any]]) -> dict[str, Any]:
    """The settings of the root volume."""
    volume: dict[str, Any] = next((each["Ebs"] for each in mappings if each["DeviceName"] == "/dev/xvda"), {})
    size = int(volume.get("VolumeSize", _IMAGE_GB))
    if size < _IMAGE_GB:
        raise Ec2Error(
            "InvalidBlockDeviceMapping",
            f"Volume of size {size}GB is smaller than snapshot of the image, expect size >= {_IMAGE_GB}GB",
        )
    return {
        "Size": size,
        "VolumeType": volume.get("VolumeType", "gp3"),
        "KmsKeyId": volume.get("KmsKeyId"),
        "Encrypted": str(volume.get("Encrypted", False)).lower() == "true",
        "DeleteOnTermination": str(volume.get("DeleteOnTermination", True)).lower() == "true",
    }


def install() -> None:
    _ssm._PUBLIC_AMI_PARAMETERS[_ARM_PARAMETER] = _ARM_IMAGE
