"""A team's own app, which a release keeps: a stack with a service of every mode, and all that a team may pass to it."""

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns

from slipway import LlmService

CERTIFICATE = "arn:aws:acm:us-east-1:111122223333:certificate/1"


def fill(app: cdk.App, deployments: Path) -> None:
    """Add the stacks. deployments: the folder with the files of the services."""
    team = cdk.Stack(app, "team")
    vpc = ec2.Vpc(team, "Vpc", max_azs=2, restrict_default_security_group=False)
    key = kms.Key(team, "Key", enable_key_rotation=True)
    domain = apigateway.DomainName(
        team,
        "Domain",
        domain_name="llm.example.com",
        certificate=acm.Certificate.from_certificate_arn(team, "Certificate", CERTIFICATE),
    )
    log_bucket = s3.Bucket(team, "Logs", enforce_ssl=True)
    alarm_topic = sns.Topic(team, "Topic", enforce_ssl=True)
    services = cdk.Stack(app, "services")
    for construct_id, name in (("Chat", "qwen3-4b"), ("Later", "qwen3-4b-async"), ("Batch", "gpt2-ec2")):
        LlmService(
            services,
            construct_id,
            deployment=deployments / f"{name}.yaml",
            vpc=vpc,
            subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS),
            data_key=key,
            log_key=key,
            log_bucket=log_bucket,
            alarm_topic=alarm_topic,
            permissions_boundary=iam.ManagedPolicy.from_managed_policy_name(
                services, f"{construct_id}Boundary", "team-boundary"
            ),
            domain=domain,
            base_path=construct_id.lower(),
        )
