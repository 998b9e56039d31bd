"""Every service that is added to the emulator or repaired in it."""

from local_cloud.emulator import (
    api_gateway,
    application_autoscaling,
    buckets,
    cloudwatch_alarms,
    deliveries,
    event_sources,
    fault_injection,
    function_metrics,
    lambda_functions,
    log_groups,
    queue_metrics,
    queues,
    sagemaker_gauges,
    sagemaker_hosting,
    sagemaker_metrics,
    sagemaker_runtime,
    sagemaker_templates,
    scaling_evaluation,
    service_quotas,
    tables,
)


def install(emulator_only: tuple[str, ...]) -> None:
    """Install them all; functions do not see the environment variables named here."""
    lambda_functions.install(emulator_only)
    for module in (
        api_gateway,
        log_groups,
        tables,
        buckets,
        queues,
        queue_metrics,
        event_sources,
        fault_injection,  # around queues; deliveries around it, so that only what may be delivered is hit
        function_metrics,  # around it as well: an injected failure counts as one
        deliveries,
        cloudwatch_alarms,
        sagemaker_hosting,
        sagemaker_runtime,
        sagemaker_metrics,
        sagemaker_gauges,
        sagemaker_templates,
        application_autoscaling,
        scaling_evaluation,
        service_quotas,
    ):
        module.install()
