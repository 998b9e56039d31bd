"""One machine of `hosting.mode: ec2`: launch template, instance, and the wait until the instance reports its set-up."""

import hashlib
import json
from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from .. import DEPLOYMENT_TAG, MACHINE_TAG
from ..acknowledgement import acknowledge
from ..deployment.model import Deployment
from ..resolution import Resolution
from .network import MachineNetwork
from .user_data import user_data

_ROOT_DEVICE = "/dev/xvda"  # the root device of Amazon Linux
_NO_DETAILED_MONITORING = "An alarm goes off when the machine's worker is unwell, which tells more than its CPU."
_MAY_BE_TERMINATED = (
    "A machine holds nothing that its stack could not make again, and protection would keep an update or a destroy "
    "from ending what bills."
)


class Machine(Construct):
    """A machine. `id` is the id of its EC2 instance.

    Only a changed content makes another launch template, and so replaces the instance. The wait condition gets a new id
    with it, because CloudFormation can't update a wait condition or use its handle twice.

    deployment: the name of the service. number: the machine's number, from 0.
    code: the `s3://` address of the zip that the machine unpacks.
    volume_key: the ARN of the key of its disk; None = AWS's own key.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: str,
        number: int,
        resolution: Resolution,
        code: str,
        environment: Mapping[str, str],
        network: MachineNetwork,
        profile: iam.CfnInstanceProfile,
        volume_key: str | None,
    ) -> None:
        super().__init__(scope, construct_id)
        settings, timeout = resolution.deployment, resolution.deployment.hosting.startup_timeout_in_seconds
        variables = {
            **environment,
            **_model_variables(settings),
            "AWS_REGION": cdk.Aws.REGION,
            "MACHINE_NUMBER": str(number),
        }

        def content(signal_url: str) -> ec2.CfnLaunchTemplate.LaunchTemplateDataProperty:
            script = user_data(
                code=code,
                variables=variables,
                number=number,
                renewal=settings.hosting.renewal,
                timeout=timeout,
                signal_url=signal_url,
            )
            return _launch_data(resolution, network, number, profile.attr_arn, volume_key, script)

        digest = self._digest(content(""))
        handle = cdk.CfnWaitConditionHandle(self, f"Handle{digest}")
        # Not another version of one template: CloudFormation has made versions of unchanged ones (aws-cdk#38069).
        template = ec2.CfnLaunchTemplate(self, f"Template{digest}", launch_template_data=content(handle.ref))
        self.instance = ec2.CfnInstance(
            self,
            "Instance",
            launch_template=ec2.CfnInstance.LaunchTemplateSpecificationProperty(
                launch_template_id=template.ref, version=template.attr_default_version_number
            ),
            propagate_tags_to_volume_on_creation=True,
        )
        for name, value in ((DEPLOYMENT_TAG, deployment), (MACHINE_TAG, str(number))):
            cdk.Tags.of(self.instance).add(name, value)
        acknowledge(
            self.instance, {"AwsSolutions-EC28": _NO_DETAILED_MONITORING, "AwsSolutions-EC29": _MAY_BE_TERMINATED}
        )
        wait = cdk.CfnWaitCondition(self, f"SetUp{digest}", count=1, handle=handle.ref, timeout=str(timeout))
        wait.node.add_dependency(self.instance)
        self.id = self.instance.ref

    def _digest(self, content: object) -> str:
        resolved = cdk.Stack.of(self).resolve(content)
        return hashlib.sha256(json.dumps(resolved, sort_keys=True).encode()).hexdigest()[:8]


def _model_variables(deployment: Deployment) -> dict[str, str]:
    """Return the variables of the model; empty for settings that the deployment leaves out."""
    model, serving = deployment.model, deployment.serving
    return {
        "MODEL_REVISION": deployment.revision or "",
        "MODEL_WEIGHTS": model.weights or "",
        "MAX_MODEL_LEN": str(serving.max_model_len or ""),
        "HUB_TOKEN_SECRET_ARN": "" if model.weights else model.hub_token_secret_arn or "",
    }


def _launch_data(
    resolution: Resolution, network: MachineNetwork, number: int, profile_arn: str, volume_key: str | None, script: str
) -> ec2.CfnLaunchTemplate.LaunchTemplateDataProperty:
    template, hosting = ec2.CfnLaunchTemplate, resolution.deployment.hosting
    return template.LaunchTemplateDataProperty(
        image_id=resolution.image,  # the image of the day of the launch stays until the machine is replaced
        instance_type=hosting.instance_types[0],
        iam_instance_profile=template.IamInstanceProfileProperty(arn=profile_arn),
        instance_initiated_shutdown_behavior="stop",
        metadata_options=template.MetadataOptionsProperty(
            http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
        ),
        block_device_mappings=[
            template.BlockDeviceMappingProperty(
                device_name=_ROOT_DEVICE,
                ebs=template.EbsProperty(
                    encrypted=True,
                    kms_key_id=volume_key,
                    volume_type="gp3",
                    volume_size=resolution.placements[0].disk_in_gb,
                    delete_on_termination=True,
                ),
            )
        ],
        network_interfaces=[
            template.NetworkInterfaceProperty(
                device_index=0,
                subnet_id=network.subnet_ids[number % len(network.subnet_ids)],
                groups=network.security_group_ids,
                associate_public_ip_address=network.has_public_addresses,
            )
        ],
        user_data=cdk.Fn.base64(script),
    )
