"""What the parts of a service share: its name, and what its team passes in."""

from dataclasses import dataclass, field
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import IDependable

from .key_use import KeyUse


@dataclass(frozen=True)
class Network:
    """Subnets of a VPC.

    is_public: whether their way to the internet needs a public address.
    connected: what the way to AWS depends on; None = nothing in this stack.
    security_group_ids: of containers and machines; empty = each makes its own.
    function_group_ids: security groups of functions; empty = the functions stay outside the VPC.
    """

    vpc_id: str
    subnet_ids: list[str]
    is_public: bool
    connected: IDependable | None
    security_group_ids: list[str] = field(default_factory=list)
    function_group_ids: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, vpc: ec2.IVpc, subnets: ec2.SubnetSelection | None) -> "Network":
        """Return the chosen subnets of a VPC. None = private subnets with a route to the internet."""
        chosen = subnets or ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)
        found = vpc.select_subnets(
            availability_zones=chosen.availability_zones,
            one_per_az=chosen.one_per_az,
            subnet_filters=chosen.subnet_filters,
            subnet_group_name=chosen.subnet_group_name,
            subnets=chosen.subnets,
            subnet_type=chosen.subnet_type,
        )
        return cls(vpc.vpc_id, found.subnet_ids, found.has_public, found.internet_connectivity_established)


@dataclass(frozen=True)
class Surroundings:
    """What the parts of a service share.

    name: the name of the service in tags, metrics and events, and of its API; it may be a token.
    unique_name: the name, and a part that no other service of an account and region has.
    runbook_url: the page that alarms link to; None = ours.
    The other fields are objects of the team, which `LlmService` describes; None = the team passes none.
    """

    name: str
    unique_name: str
    runbook_url: str | None = None
    alarm_topic: sns.ITopic | None = None
    paging_topic: sns.ITopic | None = None
    data_key: kms.IKey | None = None
    log_key: kms.IKey | None = None
    log_bucket: s3.IBucket | None = None
    network: Network | None = None

    @property
    def table_encryption(self) -> dict[str, Any]:
        """The encryption of a table. Without a key of the team AWS owns the key, so that no read asks KMS."""
        if self.data_key is None:
            return {"encryption": dynamodb.TableEncryption.DEFAULT}
        return {"encryption": dynamodb.TableEncryption.CUSTOMER_MANAGED, "encryption_key": self.data_key}

    @property
    def bucket_encryption(self) -> dict[str, Any]:
        """The encryption of a bucket. A bucket key saves most calls of KMS."""
        if self.data_key is None:
            return {"encryption": s3.BucketEncryption.S3_MANAGED}
        return {"encryption": s3.BucketEncryption.KMS, "encryption_key": self.data_key, "bucket_key_enabled": True}

    @property
    def queue_encryption(self) -> dict[str, Any]:
        """The encryption of a queue."""
        if self.data_key is None:
            return {"encryption": sqs.QueueEncryption.SQS_MANAGED}
        return {"encryption": sqs.QueueEncryption.KMS, "encryption_master_key": self.data_key}

    def volume_key(self, own: str | None, *, takes_key: bool) -> str | None:
        """Return the ARN of the key of the model's volumes; None = AWS's own key.

        own: the deployment's key, which comes before the data key. takes_key: whether the volumes take one.
        """
        return own or (self.data_key.key_arn if self.data_key and takes_key else None)

    def grant_data_key(self, grantee: iam.IGrantable, use: KeyUse) -> None:
        """Let a principal use the data key."""
        if self.data_key:
            grantee.grant_principal.add_to_principal_policy(use.statement(self.data_key.key_arn))

    def metric(self, name: str, statistic: str) -> cloudwatch.Metric:
        """Return a metric that the functions write to their logs with `inference_api.shared.metrics`."""
        return cloudwatch.Metric(
            namespace="Slipway",
            metric_name=name,
            dimensions_map={"Deployment": self.name},
            statistic=statistic,
            period=cdk.Duration.minutes(5),
        )
