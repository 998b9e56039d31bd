"""A build project that copies a model's weights from the Hub to S3 inside AWS, where disk and network are large."""

import json

import aws_cdk as cdk
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3_assets as assets
from constructs import Construct

from ..acknowledgement import acknowledge
from ..deployment.settings.model import Model
from ..deployment.settings.operating import Logs
from ..log_group import LogGroup

# 4 vCPU, 7 GB of memory, 128 GB of disk: files pass through the disk, a few at a time. (CodeBuild User Guide, 2026)
_COMPUTE_TYPE = "BUILD_GENERAL1_MEDIUM"
_IMAGE = "aws/codebuild/amazonlinux-x86_64-standard:5.0"
_PYTHON = "3.12"
_TIMEOUT_IN_MINUTES = 2160  # the longest that CodeBuild allows; the next build continues there


class StagingProject(Construct):
    """A CodeBuild project. Each build runs `python -m slipway stage`.

    It uses the L1 resource, because the L2 would let the role read the whole asset bucket and write any log and report.

    source: an archive with `slipway/`, `constructs/`, `requirements.txt` and the deployment's file.
    deployment: the name of the deployment's file in that archive, without `.yaml`. log_key: None = AWS's own.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: str,
        model: Model,
        source: assets.Asset,
        log_settings: Logs,
        log_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        assert model.weights
        self.log_group = LogGroup(self, "LogGroup", retention_in_days=log_settings.retention_in_days, key=log_key)
        self._role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "codebuild.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}}
            ),
        )
        self._allow_running(source)
        self._allow_staging(model.weights, model.weights_kms_key_arn)
        if model.hub_token_secret_arn:
            self._allow(["secretsmanager:GetSecretValue"], model.hub_token_secret_arn)
        project = codebuild.CfnProject(
            self,
            "Project",
            service_role=self._role.role_arn,
            source=codebuild.CfnProject.SourceProperty(
                type="S3",
                location=f"{source.s3_bucket_name}/{source.s3_object_key}",
                build_spec=json.dumps(_build_specification(deployment), indent=1),
            ),
            artifacts=codebuild.CfnProject.ArtifactsProperty(type="NO_ARTIFACTS"),
            environment=codebuild.CfnProject.EnvironmentProperty(
                type="LINUX_CONTAINER", compute_type=_COMPUTE_TYPE, image=_IMAGE
            ),
            # CodeBuild's default, named because cdk-nag reports a project without a key.
            encryption_key=f"arn:{cdk.Aws.PARTITION}:kms:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:alias/aws/s3",
            logs_config=codebuild.CfnProject.LogsConfigProperty(
                cloud_watch_logs=codebuild.CfnProject.CloudWatchLogsConfigProperty(
                    status="ENABLED", group_name=self.log_group.log_group_name
                )
            ),
            timeout_in_minutes=_TIMEOUT_IN_MINUTES,
            concurrent_build_limit=1,
        )
        project.node.add_dependency(self._role)  # with its policy, because the first build may start at once
        self.name = project.ref

    def _allow_running(self, source: assets.Asset) -> None:
        bucket_arn = f"arn:{cdk.Aws.PARTITION}:s3:::{source.s3_bucket_name}"
        self._allow(["s3:GetObject", "s3:GetObjectVersion"], f"{bucket_arn}/{source.s3_object_key}")
        self._allow(["s3:GetBucketAcl", "s3:GetBucketLocation"], bucket_arn)
        self.log_group.grant_write(self._role)

    def _allow_staging(self, weights: str, key_arn: str | None) -> None:
        """Grant the permissions that docs/weights.md lists: the prefix, and the manifest beside it."""
        bucket, _, prefix = weights.removeprefix("s3://").partition("/")
        bucket_arn = f"arn:{cdk.Aws.PARTITION}:s3:::{bucket}"
        manifest = f".slipway/{prefix}manifest.json"
        self._allow(["s3:GetBucketLocation"], bucket_arn)
        self._allow(["s3:ListBucket"], bucket_arn, {"StringLike": {"s3:prefix": [f"{prefix}*", manifest]}})
        self._allow(["s3:GetObject", "s3:PutObject"], f"{bucket_arn}/{manifest}")
        self._allow(["s3:GetObject", "s3:ListMultipartUploadParts", "s3:PutObject"], f"{bucket_arn}/{prefix}*")
        finding = f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::{bucket}/{prefix}*]"
        reason = "The files of a model are named by its repository on the Hub; they all lie below this prefix."
        acknowledge(self._role, {finding: reason})
        if key_arn:
            self._allow(["kms:Decrypt", "kms:GenerateDataKey"], key_arn)

    def _allow(self, actions: list[str], resource: str, conditions: dict[str, object] | None = None) -> None:
        self._role.add_to_policy(iam.PolicyStatement(actions=actions, resources=[resource], conditions=conditions))


def _build_specification(deployment: str) -> dict[str, object]:
    """Return the build specification as JSON, which CodeBuild reads as YAML."""
    install = "python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt"
    return {
        "version": 0.2,
        "phases": {
            "install": {"runtime-versions": {"python": _PYTHON}, "commands": [install]},
            "build": {"commands": [f"python -m slipway stage {deployment}"]},
        },
    }
