"""Installs every service that is added to MiniStack or repaired in it."""

from local_cloud.emulator import apigateway, eventbridge, faults, lambda_
from local_cloud.emulator.alarms import composite
from local_cloud.emulator.application_autoscaling import templates as scaling_templates
from local_cloud.emulator.cloudformation import (
    change_sets,
    conditions,
    own_addresses,
    resource_types,
    stack_creation,
    template_addresses,
    template_summary,
)
from local_cloud.emulator.core import signatures
from local_cloud.emulator.ec2 import long_polls, remote_commands
from local_cloud.emulator.ec2 import operations as ec2_operations
from local_cloud.emulator.ec2 import templates as ec2_templates
from local_cloud.emulator.kms import background as kms_background
from local_cloud.emulator.kms import named_key
from local_cloud.emulator.kms import requests as kms_requests
from local_cloud.emulator.sagemaker import control_plane, detailed_metrics, gauges, runtime
from local_cloud.emulator.sagemaker import templates as hosting_templates
from local_cloud.emulator.sagemaker.requests import async_location
from local_cloud.emulator.services import (
    budgets,
    cloudwatch,
    cognito,
    dashboards,
    dynamodb,
    iam,
    logs,
    route53,
    s3,
    servicequotas,
    sns,
    sqs,
    used_permissions,
)
from local_cloud.emulator.stack_sets import auto_deployment, calls, instance_stack, organization
from local_cloud.emulator.stack_sets import templates as stack_set_templates
from local_cloud.emulator.vpc import functions as functions_in_vpcs
from local_cloud.emulator.vpc import network, reach
from local_cloud.emulator.xray import service as xray


def install(emulator_only: tuple[str, ...]) -> None:
    """Install all services; functions do not see the environment variables in `emulator_only`."""
    lambda_.install(emulator_only)
    for module in (
        iam,
        used_permissions,
        cognito,
        signatures,
        own_addresses,
        change_sets,
        template_addresses,
        template_summary,
        conditions,
        apigateway,
        logs,
        dynamodb,
        s3,
        sqs,
        sns,
        budgets,
        xray,
        kms_requests,
        kms_background,
        named_key,
        eventbridge,
        control_plane,
        runtime,
        detailed_metrics,
        async_location,
        gauges,  # metrics first: alarms and scaling policies that look at the same moment need them
        cloudwatch,
        dashboards,
        composite,
        hosting_templates,
        scaling_templates,
        ec2_operations,
        ec2_templates,
        remote_commands,
        long_polls,
        servicequotas,
        route53,
        organization,
        instance_stack,
        stack_set_templates,
        auto_deployment,
        calls,
        faults,
        network,
        functions_in_vpcs,
        reach,
        stack_creation,
    ):
        module.install()
    resource_types.demand_required_members()
