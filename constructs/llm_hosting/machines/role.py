"""The role of a machine of `hosting.mode: ec2`, and its instance profile."""

from aws_cdk import aws_iam as iam
from constructs import Construct

from ..acknowledgement import acknowledge
from ..deployment.settings.model import Model
from ..jobs.events import grant_announce
from ..log_group import LogGroup
from ..weights.staged_weights import reading_weights

# What a session needs (Systems Manager User Guide, "Minimal Session Manager permissions").
_SESSIONS = (
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
)
_SESSIONS_ANYWHERE = (
    "How an operator gets in, as no port is open. The actions know no narrower resource: they let the machine report "
    "itself and open the channels of sessions that others may start, no more."
)
_TRACES_ANYWHERE = " Its traces know none, either."


class MachineRole(iam.Role):
    """Lets a machine read weights and the Hub's token, write logs, announce ended jobs and take sessions.

    traces: whether it also sends traces; a machine has no daemon of X-Ray.

    It has no permission for EC2: a machine stops by powering itself off. The store and the queue grant the rest.
    """

    def __init__(self, scope: Construct, construct_id: str, *, model: Model, log_group: LogGroup, traces: bool) -> None:
        super().__init__(scope, construct_id, assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
        for statement in reading_weights(self, model):
            self.add_to_policy(statement)
        if model.hub_token_secret_arn and not model.weights:
            self.allow(model.hub_token_secret_arn, "secretsmanager:GetSecretValue")
        self.allow(log_group.log_group_arn, "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents")
        grant_announce(self, "Job Ended")
        self.allow("*", *_SESSIONS)
        if traces:
            self.allow("*", "xray:PutTraceSegments")
        reason = _SESSIONS_ANYWHERE + (_TRACES_ANYWHERE if traces else "")
        acknowledge(self, {"AwsSolutions-IAM5[Resource::*]": reason})
        self.profile = iam.CfnInstanceProfile(self, "Profile", roles=[self.role_name])

    def allow(self, resource: str, *actions: str) -> None:
        """Allow actions on one resource."""
        self.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=[resource]))
