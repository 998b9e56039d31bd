"""One handler of `inference_api` as a Lambda function with a role and a log group of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .. import DEPLOYMENT_TAG
from ..acknowledgement import acknowledge
from ..deployment.settings.api import Api
from ..deployment.settings.operating import Logs
from ..key_use import READ_VARIABLES
from ..log_group import LogGroup
from ..surroundings import Surroundings
from .function_network import connect

RUNTIME = lambda_.Runtime.PYTHON_3_14
ARCHITECTURES = {"arm64": lambda_.Architecture.ARM_64, "x86_64": lambda_.Architecture.X86_64}

TRACING_IS_OFF = "operations.tracing is off in this deployment; X-Ray bills each trace."
_TRACING_ANYWHERE = "xray:PutTraceSegments and xray:PutTelemetryRecords know no narrower resource."


@dataclass(frozen=True)
class Handlers:
    """What all functions of a deployment share: code, environment, settings, logs, surroundings.

    traces: whether X-Ray traces the functions and the API before them. package: the Python package of the handlers,
    with a dot after it.
    """

    code: lambda_.Code
    environment: dict[str, str]
    settings: Api
    log_settings: Logs
    surroundings: Surroundings
    traces: bool
    package: str = "inference_api.handlers."


class HandlerFunction(Construct):
    """A Lambda function that runs one handler. Constructs grant `function` access to their resources.

    handler: a module in the package of the handlers.
    failures: the reason for cdk-nag why the function needs no dead-letter queue.
    memory_in_mb: None = `api.memory_in_mb`.
    calls_itself: whether the function writes into its own queue. By default Lambda stops such a loop after 16 turns.
    streams: whether the function answers as a stream, which only a streaming integration can read. Such a function has
    another id, so that a stage calls the old function until the stage is deployed again.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        handler: str,
        timeout: cdk.Duration,
        failures: str,
        handlers: Handlers,
        memory_in_mb: int | None = None,
        calls_itself: bool = False,
        streams: bool = False,
        layers: Sequence[lambda_.ILayerVersion] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        settings = handlers.settings
        # Kept after a failed deploy, because it holds the reason. `purge` finds it by its tag.
        log_group = LogGroup(
            self,
            "LogGroup",
            retention_in_days=handlers.log_settings.retention_in_days,
            key=handlers.surroundings.log_key,
            removal_policy=cdk.RemovalPolicy.RETAIN,
        )
        cdk.Tags.of(log_group).add(DEPLOYMENT_TAG, handlers.surroundings.name)
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        # AWSLambdaBasicExecutionRole would let it write to every log group of the account.
        log_group.grant_write(role)
        self.function = lambda_.Function(
            self,
            "StreamingFunction" if streams else "Function",
            runtime=RUNTIME,
            architecture=ARCHITECTURES[settings.architecture],
            memory_size=memory_in_mb or settings.memory_in_mb,
            handler=f"{handlers.package}{handler}.handler",
            code=handlers.code,
            layers=list(layers) or None,
            timeout=timeout,
            environment=handlers.environment,
            environment_encryption=handlers.surroundings.data_key,
            role=role,
            log_group=log_group,
            recursive_loop=lambda_.RecursiveLoop.ALLOW if calls_itself else None,
            # Our loop replaces the runtime's own, so the runtime may change only with a deploy.
            runtime_management_mode=lambda_.RuntimeManagementMode.FUNCTION_UPDATE if streams else None,
            tracing=lambda_.Tracing.ACTIVE if handlers.traces else lambda_.Tracing.DISABLED,
        )
        handlers.surroundings.grant_data_key(role, READ_VARIABLES)
        if network := handlers.surroundings.network:
            connect(self.function, role, network)
        untraced = {} if handlers.traces else {"Serverless-LambdaTracing": TRACING_IS_OFF}
        acknowledge(self.function, {"Serverless-LambdaDLQ": failures, **untraced})
        if handlers.traces:
            acknowledge(role, {"AwsSolutions-IAM5[Resource::*]": _TRACING_ANYWHERE})
