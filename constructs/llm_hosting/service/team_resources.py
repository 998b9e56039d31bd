"""What a team already has: the objects that it passes to a service."""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from constructs import Construct

from ..deployment.model import Deployment
from ..surroundings import KEY_ACTIONS, Network, Surroundings
from .name import unique_name


@dataclass(frozen=True)
class TeamResources:
    """Objects of a team; `LlmService` describes them. None = the team passes none."""

    vpc: ec2.IVpc | None = None
    subnets: ec2.SubnetSelection | None = None
    data_key: kms.IKey | None = None
    log_key: kms.IKey | None = None
    log_bucket: s3.IBucket | None = None
    alarm_topic: sns.ITopic | None = None
    permissions_boundary: iam.IManagedPolicy | None = None
    domain: apigateway.IDomainName | None = None
    base_path: str | None = None

    def problems(self, service: Construct, deployment: Deployment) -> list[str]:
        """Return what contradicts the deployment, or itself, as sentences."""
        twice = {
            "vpc: the deployment has security.vpc, too": self.vpc and deployment.security.vpc,
            "alarm_topic: the deployment has alarms.topic_arn, too": self.alarm_topic and deployment.alarms.topic_arn,
        }
        region, named = cdk.Stack.of(service).region, deployment.region
        moved = named and not cdk.Token.is_unresolved(region) and region != named
        return [
            *([f"region: {named} is not the stack's {region}; remove it, or move the stack."] if moved else []),
            *(f"{problem}; remove one of the two." for problem, found in twice.items() if found),
            *(["subnets: are those of a VPC; pass vpc, too."] if self.subnets and not self.vpc else []),
            *(["base_path: is a path of a domain; pass domain, too."] if self.base_path and not self.domain else []),
            *(
                ["log_bucket: without jobs there is no bucket to log; remove it."]
                if self.log_bucket and not deployment.jobs.enabled
                else []
            ),
        ]

    def surroundings(self, service: Construct, name: str, deployment: Deployment) -> Surroundings:
        """Return what the parts of a service share. Lets the services of AWS use the keys and the log bucket.

        The parts get a key by its ARN. The key's own policy must not name their resources: they refer to the key, and
        references both ways are a circle that CloudFormation refuses.
        """
        topic = deployment.alarms.topic_arn
        surroundings = Surroundings(
            name,
            unique_name(service, name),
            alarm_topic=self.alarm_topic or (topic and sns.Topic.from_topic_arn(service, "AlarmTopic", topic)) or None,
            data_key=self.data_key and kms.Key.from_key_arn(service, "DataKey", self.data_key.key_arn),
            log_key=self.log_key and kms.Key.from_key_arn(service, "LogKey", self.log_key.key_arn),
            log_bucket=self.log_bucket,
            network=Network.of(self.vpc, self.subnets) if self.vpc else None,
        )
        if self.data_key and deployment.hosting.queues_in_sagemaker:
            self.data_key.add_to_resource_policy(_for_notifications())
        if self.log_key:
            self.log_key.add_to_resource_policy(_for_logs())
        if self.log_bucket:
            self.log_bucket.add_to_resource_policy(_for_access_logs(self.log_bucket))
        if self.permissions_boundary:
            iam.PermissionsBoundary.of(service).apply(self.permissions_boundary)
        return surroundings

    def map_domain(self, service: Construct, api: apigateway.RestApi) -> str | None:
        """Serve the API at the domain, and return the URL there; None = there is no domain."""
        if self.domain is None:
            return None
        apigateway.BasePathMapping(
            service,
            "DomainPath",
            domain_name=self.domain,
            rest_api=api,
            base_path=self.base_path,
            stage=api.deployment_stage,
        )
        return f"https://{self.domain.domain_name}/{f'{self.base_path}/' if self.base_path else ''}"


def _for_notifications() -> iam.PolicyStatement:
    """Return the permission of SNS to put messages into an encrypted queue."""
    topics = f"arn:{cdk.Aws.PARTITION}:sns:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:*"
    return iam.PolicyStatement(
        principals=[iam.ServicePrincipal("sns.amazonaws.com")],
        actions=["kms:Decrypt", "kms:GenerateDataKey"],
        resources=["*"],
        conditions={"ArnLike": {"aws:SourceArn": topics}},
    )


def _for_logs() -> iam.PolicyStatement:
    """Return the permission of CloudWatch Logs to encrypt the account's log groups."""
    groups = f"arn:{cdk.Aws.PARTITION}:logs:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:log-group:*"
    return iam.PolicyStatement(
        principals=[iam.ServicePrincipal(f"logs.{cdk.Aws.REGION}.{cdk.Aws.URL_SUFFIX}")],
        actions=list(KEY_ACTIONS),
        resources=["*"],
        conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
    )


def _for_access_logs(bucket: s3.IBucket) -> iam.PolicyStatement:
    """Return the permission of S3 to write the access logs of the account's buckets."""
    return iam.PolicyStatement(
        principals=[iam.ServicePrincipal("logging.s3.amazonaws.com")],
        actions=["s3:PutObject"],
        resources=[bucket.arn_for_objects("*")],
        conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}},
    )
