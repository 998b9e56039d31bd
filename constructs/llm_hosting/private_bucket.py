"""A bucket for texts of callers: private, encrypted, TLS only. It deletes what is old, and outlives the stack."""

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from .acknowledgement import acknowledge
from .surroundings import Surroundings

_KEPT = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE


class PrivateBucket(s3.Bucket):
    """expires_in_days: age at which each version of an object goes.

    no_access_log: for cdk-nag, why its accesses are not logged if the team passes no bucket for that.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        surroundings: Surroundings,
        expires_in_days: int,
        no_access_log: str,
        versioned: bool = False,
    ) -> None:
        age = cdk.Duration.days(expires_in_days)
        of_versions: dict[str, Any] = {"noncurrent_version_expiration": age} if versioned else {}
        super().__init__(
            scope,
            construct_id,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            **surroundings.bucket_encryption,
            enforce_ssl=True,
            versioned=versioned or None,
            lifecycle_rules=[
                s3.LifecycleRule(expiration=age, abort_incomplete_multipart_upload_after=age, **of_versions)
            ],
            # CloudFormation deletes empty buckets only, so destroying the stack would fail.
            removal_policy=_KEPT,
        )
        self.policy.apply_removal_policy(_KEPT)  # the rule that demands TLS must live as long as the bucket
        if surroundings.log_bucket:
            # An L1 property: the L2 would let the log bucket's policy refer to this bucket, and so make a circle.
            self.node.default_child.logging_configuration = s3.CfnBucket.LoggingConfigurationProperty(
                destination_bucket_name=surroundings.log_bucket.bucket_name, log_file_prefix=f"{surroundings.name}/"
            )
        else:
            acknowledge(self, {"AwsSolutions-S1": no_access_log})
