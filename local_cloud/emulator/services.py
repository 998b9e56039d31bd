"""Every service that is added to MiniStack or repaired in it."""

from local_cloud.emulator import (
    apigateway,
    application_autoscaling,
    cloudwatch_alarms,
    dynamodb,
    events,
    faults,
    iam,
    lambda_,
    logs,
    s3,
    sagemaker_gauges,
    sagemaker_hosting,
    sagemaker_metrics,
    sagemaker_runtime,
    sagemaker_templates,
    scaling_evaluation,
    servicequotas,
    sns,
    sqs,
)


def install(emulator_only: tuple[str, ...]) -> None:
    """Install them all; functions do not see the environment variables named here."""
    lambda_.install(emulator_only)
    for module in (
        iam,
        apigateway,
        logs,
        dynamodb,
        s3,
        sqs,
        sns,
        events,
        cloudwatch_alarms,
        sagemaker_hosting,
        sagemaker_runtime,
        sagemaker_metrics,
        sagemaker_gauges,
        sagemaker_templates,
        application_autoscaling,
        scaling_evaluation,
        servicequotas,
        faults,
    ):
        module.install()
