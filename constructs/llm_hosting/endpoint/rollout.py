"""How an update moves requests to the new instances of an endpoint, and which alarms undo it."""

from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk.aws_sagemaker import CfnEndpoint, CfnInferenceComponent
from constructs import Construct

from ..deployment.settings.hosting import LONGEST_UPDATE_IN_SECONDS, Hosting

_PROVISION_TIMEOUT_IN_SECONDS = 1800  # if the deployment sets none


def deployment_config(hosting: Hosting, alarms: Sequence[cloudwatch.Alarm]) -> CfnEndpoint.DeploymentConfigProperty:
    """Return the rollout of `hosting`; each of the alarms undoes it."""
    return CfnEndpoint.DeploymentConfigProperty(
        blue_green_update_policy=None if hosting.rolling else _blue_green(hosting),
        rolling_update_policy=_rolling(hosting, hosting.rolling.batch) if hosting.rolling else None,
        auto_rollback_configuration=CfnEndpoint.AutoRollbackConfigProperty(
            alarms=[CfnEndpoint.AlarmProperty(alarm_name=alarm.alarm_name) for alarm in alarms]
        ),
    )


def component_deployment_config(
    hosting: Hosting, batch: int, alarms: Sequence[cloudwatch.Alarm]
) -> CfnInferenceComponent.InferenceComponentDeploymentConfigProperty:
    """Return the rollout of a component in batches of copies; each of the alarms undoes it."""
    size = CfnInferenceComponent.InferenceComponentCapacitySizeProperty(type="COPY_COUNT", value=batch)
    return CfnInferenceComponent.InferenceComponentDeploymentConfigProperty(
        rolling_update_policy=CfnInferenceComponent.InferenceComponentRollingUpdatePolicyProperty(
            maximum_batch_size=size,
            rollback_maximum_batch_size=size,  # as for an endpoint
            wait_interval_in_seconds=hosting.update_wait_in_seconds,
            maximum_execution_timeout_in_seconds=LONGEST_UPDATE_IN_SECONDS,
        ),
        auto_rollback_configuration=CfnInferenceComponent.AutoRollbackConfigurationProperty(
            alarms=[CfnInferenceComponent.AlarmProperty(alarm_name=alarm.alarm_name) for alarm in alarms]
        ),
    )


def watch_alarms(scope: Construct, role: iam.Role, alarms: Sequence[cloudwatch.Alarm]) -> iam.Policy:
    """Let a model's role read the alarms that undo an update, without which SageMaker refuses them.

    It is a policy of its own: the model waits for the first one, and the alarms come after the model.
    """
    statement = iam.PolicyStatement(
        actions=["cloudwatch:DescribeAlarms"], resources=[alarm.alarm_arn for alarm in alarms]
    )
    return iam.Policy(scope, "WatchAlarms", statements=[statement], roles=[role])


def _blue_green(hosting: Hosting) -> CfnEndpoint.BlueGreenUpdatePolicyProperty:
    canary = hosting.canary
    provision = hosting.provision_timeout_in_seconds or _PROVISION_TIMEOUT_IN_SECONDS
    start = hosting.download_timeout_in_seconds + hosting.startup_timeout_in_seconds
    first_watch = canary.minutes * 60 if canary else 0  # the API requires it for every type
    return CfnEndpoint.BlueGreenUpdatePolicyProperty(
        traffic_routing_configuration=CfnEndpoint.TrafficRoutingConfigProperty(
            type="CANARY" if canary else "ALL_AT_ONCE",
            canary_size=_size("CAPACITY_PERCENT", canary.share) if canary else None,
            wait_interval_in_seconds=first_watch,
        ),
        termination_wait_in_seconds=hosting.update_wait_in_seconds,
        # SageMaker takes 600 to 28,800.
        maximum_execution_timeout_in_seconds=provision + start + first_watch + hosting.update_wait_in_seconds,
    )


def _rolling(hosting: Hosting, batch: int) -> CfnEndpoint.RollingUpdatePolicyProperty:
    return CfnEndpoint.RollingUpdatePolicyProperty(
        maximum_batch_size=_size("INSTANCE_COUNT", batch),
        # SageMaker's default starts all old instances again at once, for which there may be no quota.
        rollback_maximum_batch_size=_size("INSTANCE_COUNT", batch),
        wait_interval_in_seconds=hosting.update_wait_in_seconds,
        # The longest, whatever the number of instances: a changed timeout would need a new configuration.
        maximum_execution_timeout_in_seconds=LONGEST_UPDATE_IN_SECONDS,
    )


def _size(kind: str, value: int) -> CfnEndpoint.CapacitySizeProperty:
    return CfnEndpoint.CapacitySizeProperty(type=kind, value=value)
