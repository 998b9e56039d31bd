"""What a team already has: the objects that it passes to a service."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from constructs import Construct

from ..deployment.model import Deployment
from ..deployment.settings.security import Security
from ..network.service_network import ServiceNetwork
from ..surroundings import Network, Surroundings
from .keys import for_logs, for_notifications, make_data_key, make_log_key, named_key
from .name import unique_name

# For each argument an attribute that such an object has, and how a team gets one.
_KINDS = {
    "vpc": ("select_subnets", 'ec2.Vpc.from_lookup(self, "Vpc", vpc_id=...)'),
    "subnets": ("subnet_type", "ec2.SubnetSelection(...)"),
    "data_key": ("key_arn", 'kms.Key.from_key_arn(self, "Key", "arn:...")'),
    "log_key": ("key_arn", 'kms.Key.from_key_arn(self, "Key", "arn:...")'),
    "log_bucket": ("bucket_arn", 's3.Bucket.from_bucket_name(self, "Logs", "...")'),
    "alarm_topic": ("topic_arn", 'sns.Topic.from_topic_arn(self, "Topic", "arn:...")'),
    "paging_topic": ("topic_arn", 'sns.Topic.from_topic_arn(self, "Topic", "arn:...")'),
    "permissions_boundary": ("managed_policy_arn", 'iam.ManagedPolicy.from_managed_policy_name(self, "Limit", "...")'),
    "domain": ("domain_name_alias_domain_name", "apigateway.DomainName.from_domain_name_attributes(...)"),
    "base_path": ("strip", "a text"),
}
_OF_ONE_REGION = ("vpc", "data_key", "log_key", "log_bucket", "alarm_topic", "paging_topic")


@dataclass(frozen=True)
class TeamResources:
    """Objects of a team; `LlmService` describes them. None = the team passes none."""

    vpc: ec2.IVpc | None = None
    subnets: ec2.SubnetSelection | None = None
    data_key: kms.IKey | None = None
    log_key: kms.IKey | None = None
    log_bucket: s3.IBucket | None = None
    alarm_topic: sns.ITopic | None = None
    paging_topic: sns.ITopic | None = None
    permissions_boundary: iam.IManagedPolicy | None = None
    domain: apigateway.IDomainName | None = None
    base_path: str | None = None

    def problems(self, service: Construct, deployment: Deployment) -> list[str]:
        """Return what is wrong with an object, or contradicts the deployment or another object, as sentences."""
        if wrong := list(self._of_another_kind()):
            return wrong
        security = deployment.security
        twice = {
            "vpc: the deployment has security.vpc, too": self.vpc and security.vpc,
            "alarm_topic: the deployment has alarms.topic_arn, too": self.alarm_topic and deployment.alarms.topic_arn,
            "paging_topic: the deployment has alarms.paging_topic_arn, too": (
                self.paging_topic and deployment.alarms.paging_topic_arn
            ),
            "data_key: the deployment has security.kms_key_arn, too": self.data_key and security.kms_key_arn,
            "log_key: the deployment has security.log_kms_key_arn, too": self.log_key and security.log_kms_key_arn,
            "data_key: the deployment has security.customer_keys, too": self.data_key and security.customer_keys,
            "log_key: the deployment has security.customer_keys, too": self.log_key and security.customer_keys,
            "domain: the deployment has api.domain, too": self.domain and deployment.api.domain,
            "permissions_boundary: the deployment has security.permissions_boundary_arn, too": (
                self.permissions_boundary and deployment.security.permissions_boundary_arn
            ),
        }
        region, named = cdk.Stack.of(service).region, deployment.region
        moved = named and not cdk.Token.is_unresolved(region) and region != named
        return [
            *([f"region: {named} is not the stack's {region}; remove it, or move the stack."] if moved else []),
            *(f"{problem}; remove one of the two." for problem, found in twice.items() if found),
            *(
                ["vpc: the containers run in the network of the shared endpoint; remove it."]
                if self.vpc and deployment.hosting.endpoint
                else []
            ),
            *(
                [
                    "operations.monthly_budget_in_usd: tells nobody without a topic; set alarms.topic_arn, or pass "
                    "alarm_topic."
                ]
                if deployment.operations.monthly_budget_in_usd and not (self.alarm_topic or deployment.alarms.topic_arn)
                else []
            ),
            *self._elsewhere(region),
            *self._aliases(),
            *self._unreachable(deployment),
            *(["subnets: are those of a VPC; pass vpc, too."] if self.subnets and not self.vpc else []),
            *(
                ["base_path: is a path of a domain; pass domain, too, or set api.domain."]
                if self.base_path and not (self.domain or deployment.api.domain)
                else []
            ),
            *(
                ["domain: is a public domain, which can't lead to a private API; remove it, or api.private."]
                if self.domain and deployment.api.private
                else []
            ),
            *(
                ["log_bucket: without jobs there is no bucket to log; remove it."]
                if self.log_bucket and not deployment.jobs.enabled
                else []
            ),
            *(
                [f"base_path: {self.base_path!r} begins or ends with a slash; write it without."]
                if self.base_path and self.base_path.strip("/") != self.base_path
                else []
            ),
        ]

    def _of_another_kind(self) -> Iterator[str]:
        for each in fields(self):
            (attribute, example), given = _KINDS[each.name], getattr(self, each.name)
            if given is not None and not hasattr(given, attribute):
                yield f"{each.name}: {given!r} is another kind of object; pass {example}."

    def _elsewhere(self, region: str) -> Iterator[str]:
        for name in _OF_ONE_REGION:
            given = getattr(self, name)
            there = given.env.region if given else region
            if there != region and not cdk.Token.is_unresolved(there) and not cdk.Token.is_unresolved(region):
                yield f"{name}: is in {there}, but the stack is in {region}; pass one of the stack's region."

    def _aliases(self) -> Iterator[str]:
        for name in ("data_key", "log_key"):
            if hasattr(getattr(self, name), "alias_name"):
                yield (
                    f"{name}: is an alias, which IAM does not take for its key; "
                    'pass the key, such as kms.Key.from_lookup(self, "Key", alias_name="alias/...").'
                )

    def _unreachable(self, deployment: Deployment) -> Iterator[str]:
        if self.vpc is None:
            return
        try:
            network = Network.of(self.vpc, self.subnets)
        except RuntimeError as error:  # of the CDK: an error's name, then which subnets there are
            yield f"vpc: {str(error).splitlines()[0].partition(': ')[2].rstrip('.')}; pass subnets."
            return
        if network.is_public and not deployment.hosting.runs_on_machines and not deployment.model.weights:
            yield (
                "subnets: some are public, and SageMaker gives containers no public address, so they can't load "
                "the model from the Hub; pass private subnets with a route to the internet, or set model.weights."
            )

    def surroundings(self, service: Construct, name: str, deployment: Deployment) -> Surroundings:
        """Return what the parts of a service share. Lets the services of AWS use the keys and the log bucket."""
        alarms = deployment.alarms
        surroundings = Surroundings(
            name,
            unique_name(service, name),
            runbook_url=alarms.runbook_url,
            alarm_topic=self.alarm_topic or _topic(service, "AlarmTopic", alarms.topic_arn),
            paging_topic=self.paging_topic or _topic(service, "PagingTopic", alarms.paging_topic_arn),
            data_key=self._data_key(service, name, deployment),
            log_key=self._log_key(service, name, deployment.security),
            log_bucket=self.log_bucket,
            network=self._network(service, deployment),
        )
        if self.log_bucket:
            self.log_bucket.add_to_resource_policy(_for_access_logs(self.log_bucket))
        return surroundings

    def _data_key(self, service: Construct, name: str, deployment: Deployment) -> kms.IKey | None:
        notifies = deployment.hosting.queues_in_sagemaker
        if deployment.security.customer_keys:
            return make_data_key(service, name, notifies_queues=notifies)
        if self.data_key and notifies:
            self.data_key.add_to_resource_policy(for_notifications())
        return named_key(service, "DataKey", self.data_key or deployment.security.kms_key_arn)

    def _log_key(self, service: Construct, name: str, security: Security) -> kms.IKey | None:
        if security.customer_keys:
            return make_log_key(service, name)
        if self.log_key:
            self.log_key.add_to_resource_policy(for_logs())
        return named_key(service, "LogKey", self.log_key or security.log_kms_key_arn)

    def _network(self, service: Construct, deployment: Deployment) -> Network | None:
        if vpc := deployment.security.vpc:
            return ServiceNetwork(service, "Network", deployment=deployment, vpc=vpc).network
        return Network.of(self.vpc, self.subnets) if self.vpc else None

    def map_domain(self, service: Construct, api: apigateway.RestApi, own: apigateway.IDomainName | None) -> str | None:
        """Serve the API at a domain, and return the URL there; None = there is no domain.

        own: the domain of the deployment itself.
        """
        domain = self.domain or own
        if domain is None:
            return None
        apigateway.BasePathMapping(
            service,
            "DomainPath",
            domain_name=domain,
            rest_api=api,
            base_path=self.base_path,
            stage=api.deployment_stage,
        )
        return f"https://{domain.domain_name}/{f'{self.base_path}/' if self.base_path else ''}"


def _topic(service: Construct, construct_id: str, arn: str | None) -> sns.ITopic | None:
    return sns.Topic.from_topic_arn(service, construct_id, arn) if arn else None


def _for_access_logs(bucket: s3.IBucket) -> iam.PolicyStatement:
    """Return the permission of S3 to write the access logs of the account's buckets."""
    return iam.PolicyStatement(
        principals=[iam.ServicePrincipal("logging.s3.amazonaws.com")],
        actions=["s3:PutObject"],
        resources=[bucket.arn_for_objects("*")],
        conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}},
    )
