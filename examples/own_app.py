"""A team's own CDK app: two services in one stack, in a VPC of its own, with a dashboard and a caller.

Run it in a project, which `slipway init` makes; its paths are relative to that folder:

    npx cdk deploy -c deployment=slipway-account-settings       # once in each account and region
    npx cdk deploy --app "python examples/own_app.py"
    slipway status services-chat                                # <stack>-<id>
"""

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from slipway import LlmService


class Services(cdk.Stack):
    """A model that answers at once, and one on a machine that sleeps between jobs."""

    def __init__(self, scope: Construct, construct_id: str, **kwargs: Any) -> None:
        super().__init__(scope, construct_id, **kwargs)
        vpc = ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=1)
        on_call = sns.Topic(self, "OnCall", enforce_ssl=True)
        chat = LlmService(self, "Chat", deployment="deployments/qwen3-4b.yaml", vpc=vpc, alarm_topic=on_call)
        batch = LlmService(self, "Batch", deployment="deployments/gpt2-ec2.yaml", vpc=vpc, alarm_topic=on_call)

        application = iam.Role(self, "Application", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
        chat.grant_call(application)
        batch.grant_call(application)

        dashboard = cloudwatch.Dashboard(self, "Dashboard")
        for service in (chat, batch):
            dashboard.add_widgets(
                cloudwatch.GraphWidget(title=f"{service.node.id}: requests", left=[service.metric_requests()]),
                cloudwatch.GraphWidget(title=f"{service.node.id}: jobs", left=[service.metric_waiting_jobs()]),
            )


def main() -> None:
    """Synthesize the stack."""
    app = cdk.App()
    Services(app, "services")
    app.synth()


if __name__ == "__main__":
    main()
