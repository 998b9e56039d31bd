"""The endpoint of an endpoint file, which several deployments share; and how a deployment refers to it."""

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct

from ... import COMPONENT_LOGS, DEPLOYMENT_TAG, ENDPOINT_PREFIX
from ...acknowledgement import acknowledge, resource_in_findings
from ...alarm_group import AlarmGroup
from ...catalog.instances import instances
from ...deployment.settings.hosting import settings_of_instances
from ...deployment.settings.shared_endpoint import EndpointAlarms, Shared
from ...resolution.image import shared_host_image
from ..addresses import page_of
from ..execution_role import METRICS_OF_COMPONENTS, ExecutionRole
from ..replaced import outlive_replacement
from ..variant import VARIANT_NAME
from .empty_endpoint import EmptyEndpoint

_NEARLY_FULL = 90  # percent
_LOGS_OF_ALL = "Each model on the endpoint has a log group below this name, and the endpoint exists before all of them."


def imported_name(endpoint: str) -> str:
    """Return the name that the endpoint's stack exports. CloudFormation keeps an endpoint whose name is imported."""
    return str(cdk.Fn.import_value(_export(endpoint)))


def imported_role(scope: Construct, endpoint: str) -> iam.IRole:
    """Return the role that the endpoint's stack exports."""
    return iam.Role.from_role_name(scope, "EndpointRole", cdk.Fn.import_value(_export_of_role(endpoint)))


class SharedEndpointResources(Construct):
    """Role, configuration, endpoint and alarms of a shared endpoint, and the exports for its deployments.

    name: of the endpoint, which stays the same as long as the stack exists, because an export in use can't change.
    outputs: the stack's outputs.
    """

    def __init__(self, scope: Construct, construct_id: str, *, shared: Shared, unique_name: str) -> None:
        super().__init__(scope, construct_id)
        endpoint = shared.endpoint
        self.name = unique_name
        log_groups = logs.LogGroup.from_log_group_name(self, "LogGroups", f"{COMPONENT_LOGS}*")
        self.role = ExecutionRole(self, "Role", log_group=log_groups, namespaces=METRICS_OF_COMPONENTS)
        named = resource_in_findings(self, log_groups.log_group_arn)
        acknowledge(self.role, {f"AwsSolutions-IAM5[Resource::{named}]": _LOGS_OF_ALL})
        if endpoint.volume_kms_key_arn:
            self.role.allow_volume_key(endpoint.volume_kms_key_arn)
        made = EmptyEndpoint(
            self,
            name=self.name,
            hosting=settings_of_instances(endpoint),
            least=endpoint.instance_count.min,
            host_image=shared_host_image(endpoint, [instances()[endpoint.instance_type]]),
            role=self.role,
            volume_key=endpoint.volume_kms_key_arn,
            network=None,
        )
        outlive_replacement(made.configuration, shared.stack)
        cdk.Tags.of(made.endpoint).add(DEPLOYMENT_TAG, shared.stack)
        self._add_alarms(endpoint.alarms)
        cdk.CfnOutput(self, "ExportedRole", value=self.role.role_name, export_name=_export_of_role(shared.name))
        cdk.CfnOutput(self, "EndpointName", value=self.name, export_name=_export(shared.name))
        if endpoint.detailed_observability:
            cdk.CfnOutput(self, "EndpointPage", value=page_of(self.name))

    def _add_alarms(self, settings: EndpointAlarms) -> None:
        """Add alarms on what all models of an instance share beside accelerators."""
        topic = settings.topic_arn and sns.Topic.from_topic_arn(self, "AlarmTopic", settings.topic_arn)
        alarms = AlarmGroup(self, "Alarms", topic=topic or None, runbook_url=settings.runbook_url)
        for name in ("Memory", "Disk"):
            used = cloudwatch.Metric(
                namespace="/aws/sagemaker/Endpoints",
                metric_name=f"{name}Utilization",
                dimensions_map={"EndpointName": self.name, "VariantName": VARIANT_NAME},
                statistic=cloudwatch.Stats.MAXIMUM,
                period=cdk.Duration.minutes(1),
            )
            means = f"more than {_NEARLY_FULL} % of an instance's {name.lower()} was in use"
            alarms.add(name, used, _NEARLY_FULL, periods=3, breaching=3, means=means)


def _export(endpoint: str) -> str:
    return f"{ENDPOINT_PREFIX}{endpoint}"


def _export_of_role(endpoint: str) -> str:
    return f"{ENDPOINT_PREFIX}{endpoint}:role"
