"""SageMaker's data capture: the bucket into which an endpoint writes prompts and answers, and the setting for it."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from .. import DEPLOYMENT_TAG
from ..acknowledgement import acknowledge
from ..deployment.settings.hosting import DataCapture
from ..key_use import KEY_OF_SAGEMAKER
from ..private_bucket import PrivateBucket
from ..surroundings import Surroundings

_FOLDER = "capture"
_MODES = {"both": ("Input", "Output"), "input": ("Input",), "output": ("Output",)}
_NO_ACCESS_LOG = (
    "Only SageMaker writes to it, and the account's own CloudTrail can tell who reads it; an access log would need "
    "another bucket that outlives the stack."
)
_ANY_NAME = "SageMaker names the files by endpoint, variant and hour."


class DataCaptureBucket(Construct):
    """A private bucket for captured invocations, which outlives the stack. Its rules delete what is old.

    outputs: the stack's outputs. configuration: that of an EndpointConfig.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, settings: DataCapture, surroundings: Surroundings, role: iam.Role
    ) -> None:
        super().__init__(scope, construct_id)
        bucket = PrivateBucket(
            self,
            "Bucket",
            surroundings=surroundings,
            expires_in_days=settings.retention_in_days,
            no_access_log=_NO_ACCESS_LOG,
        )
        cdk.Tags.of(bucket).add(DEPLOYMENT_TAG, surroundings.name)
        policy = iam.Policy(self, "Write", roles=[role])
        files = bucket.arn_for_objects(f"{_FOLDER}/*")
        policy.add_statements(iam.PolicyStatement(actions=["s3:PutObject"], resources=[files]))
        named = cdk.Stack.of(self).get_logical_id(bucket.node.default_child)
        acknowledge(policy, {f"AwsSolutions-IAM5[Resource::<{named}.Arn>/{_FOLDER}/*]": _ANY_NAME})
        surroundings.grant_data_key(role, KEY_OF_SAGEMAKER)
        self.outputs = {"CaptureBucket": bucket.bucket_name}
        self.configuration = sagemaker.CfnEndpointConfig.DataCaptureConfigProperty(
            enable_capture=True,
            initial_sampling_percentage=settings.percent,
            destination_s3_uri=f"s3://{bucket.bucket_name}/{_FOLDER}",
            kms_key_id=surroundings.data_key and surroundings.data_key.key_arn,
            capture_options=[
                sagemaker.CfnEndpointConfig.CaptureOptionProperty(capture_mode=mode)
                for mode in _MODES[settings.content]
            ],
            # Other types are captured in base64.
            capture_content_type_header=sagemaker.CfnEndpointConfig.CaptureContentTypeHeaderProperty(
                json_content_types=["application/json"]
            ),
        )
