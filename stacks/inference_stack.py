"""One hosted model behind its API."""

import json
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from llm_hosting.deployment import Deployment
from llm_hosting.inference_api import InferenceApi
from llm_hosting.realtime_endpoint import RealtimeEndpoint
from llm_hosting.resolution import Resolution, resolve


class InferenceStack(cdk.Stack):
    """A SageMaker endpoint, the REST API in front of it, and the functions between them."""

    def __init__(
        self, scope: Construct, construct_id: str, *, deployment: Deployment, code: lambda_.Code, **kwargs: Any
    ) -> None:
        super().__init__(scope, construct_id, **kwargs)
        resolution = resolve(deployment.model, deployment.serving, deployment.hosting)
        endpoint = RealtimeEndpoint(
            self,
            "Endpoint",
            model=deployment.model,
            hosting=deployment.hosting,
            alarms=deployment.alarms,
            resolution=resolution,
            log_settings=deployment.logs,
        )
        api = InferenceApi(
            self,
            "Api",
            settings=deployment.api,
            log_settings=deployment.logs,
            code=code,
            environment=_environment(deployment, resolution, endpoint),
        )
        # Shorter than the gateway's 29 s, so that the function's own answer is the one the caller sees.
        generate = api.add_function("POST", "/generate", handler="generate", timeout=cdk.Duration.seconds(28))
        endpoint.grant_invoke(generate)
        describe = api.add_function("GET", "/endpoint", handler="describe_endpoint", timeout=cdk.Duration.seconds(10))
        endpoint.grant_describe(describe)

        cdk.CfnOutput(self, "ApiUrl", value=api.url)
        cdk.CfnOutput(self, "EndpointName", value=endpoint.name)
        cdk.CfnOutput(self, "EndpointLogGroup", value=endpoint.log_group.log_group_name)
        if api.api_key:
            cdk.CfnOutput(self, "ApiKeyId", value=api.api_key.key_id)


def _environment(deployment: Deployment, resolution: Resolution, endpoint: RealtimeEndpoint) -> dict[str, str]:
    """What `inference_api.settings` reads."""
    schema = {"bodies": resolution.bodies, "parameters": resolution.parameters}
    return {
        "ENDPOINT_NAME": endpoint.name,
        "ENDPOINT_URL": endpoint.url,
        "MODEL_ID": deployment.model.id,
        "ENGINE": deployment.serving.engine,
        "ENGINE_VERSION": resolution.version,
        "HOSTING_MODE": deployment.hosting.mode,
        "MAX_BODY_BYTES": str(deployment.api.max_body_in_kb * 1024),
        "REQUEST_SCHEMA": json.dumps(schema, separators=(",", ":")),
    }
