"""Every service that is added to the emulator or repaired in it."""

from local_cloud.emulator import (
    api_gateway,
    application_autoscaling,
    cloudwatch_alarms,
    lambda_functions,
    log_groups,
    sagemaker_hosting,
    sagemaker_metrics,
    sagemaker_runtime,
    sagemaker_templates,
)


def install(emulator_only: tuple[str, ...]) -> None:
    """Install them all; functions do not see the environment variables named here."""
    lambda_functions.install(emulator_only)
    for module in (
        api_gateway,
        log_groups,
        cloudwatch_alarms,
        sagemaker_hosting,
        sagemaker_runtime,
        sagemaker_metrics,
        sagemaker_templates,
        application_autoscaling,
    ):
        module.install()
