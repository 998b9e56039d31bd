"""One hosted model behind its API."""

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from llm_hosting.async_endpoint import AsyncEndpoint
from llm_hosting.deployment import Deployment
from llm_hosting.handler_function import Handlers
from llm_hosting.inference_api import InferenceApi
from llm_hosting.job_queue import JobQueue
from llm_hosting.job_store import JobStore
from llm_hosting.realtime_endpoint import RealtimeEndpoint
from llm_hosting.resolution import Resolution
from stacks.job_functions import RECORD_TIMEOUT, WORK_TIMEOUT, JobFunctions


class InferenceStack(cdk.Stack):
    """A SageMaker endpoint, the REST API in front of it, jobs, and the functions between them.

    code: of the functions; handlers: the folder with own handlers of models.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: Deployment,
        resolution: Resolution,
        code: lambda_.Code,
        handlers: Path,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, construct_id, **kwargs)
        store = JobStore(self, "JobStore", settings=deployment.jobs) if deployment.jobs.enabled else None
        endpoint = _endpoint(self, resolution, handlers, store)
        queue = _queue(self, deployment) if store else None
        functions = Handlers(
            code=code,
            environment=_environment(resolution, endpoint) | _job_environment(deployment, store, queue),
            settings=deployment.api,
            log_settings=deployment.logs,
        )
        api = InferenceApi(
            self,
            "Api",
            settings=deployment.api,
            log_settings=deployment.logs,
            handlers=functions,
            takes_jobs=deployment.jobs.enabled,
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
        if store and queue:
            jobs = JobFunctions(
                self, "Jobs", deployment=deployment, handlers=functions, store=store, queue=queue, endpoint=endpoint
            )
            jobs.add_routes(api)
            if deployment.hosting.mode == "async":
                store.grant_submit(generate)
            cdk.CfnOutput(self, "JobTable", value=store.table_name)
            cdk.CfnOutput(self, "JobBucket", value=store.bucket_name)
            cdk.CfnOutput(self, "JobQueue", value=queue.name)
            cdk.CfnOutput(self, "JobDeadLetters", value=queue.dead_letters_name)


def _endpoint(
    scope: Construct, resolution: Resolution, handlers: Path, store: JobStore | None
) -> AsyncEndpoint | RealtimeEndpoint:
    deployment = resolution.deployment
    settings: dict[str, Any] = {
        "model": deployment.model,
        "hosting": deployment.hosting,
        "alarms": deployment.alarms,
        "resolution": resolution,
        "log_settings": deployment.logs,
        "handler": handlers / deployment.serving.handler if deployment.serving.handler else None,
    }
    if deployment.hosting.mode == "realtime":
        return RealtimeEndpoint(scope, "Endpoint", **settings)
    assert store, "preflight refuses an asynchronous endpoint without jobs"
    return AsyncEndpoint(scope, "Endpoint", store=store, **settings)


def _queue(scope: Construct, deployment: Deployment) -> JobQueue:
    if deployment.hosting.mode == "realtime":
        return JobQueue(scope, "WorkQueue", timeout=WORK_TIMEOUT)
    return JobQueue(scope, "ResultQueue", timeout=RECORD_TIMEOUT)


def _environment(resolution: Resolution, endpoint: AsyncEndpoint | RealtimeEndpoint) -> dict[str, str]:
    """What `inference_api.settings` reads in every function."""
    deployment = resolution.deployment
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


def _job_environment(deployment: Deployment, store: JobStore | None, queue: JobQueue | None) -> dict[str, str]:
    """What it reads beside that where jobs are taken."""
    if not (store and queue):
        return {}
    jobs = deployment.jobs
    settings = {
        "retention_in_seconds": jobs.retention_in_hours * 3600,
        "deadline_in_seconds": jobs.deadline_in_seconds,
        "invocation_timeout_in_seconds": deployment.invocation_timeout_in_seconds,
        "max_waiting": jobs.max_waiting,
        "open_jobs": jobs.limits.open_jobs,
        "answer_tokens_per_day": jobs.limits.answer_tokens_per_day,
    }
    return {
        "DEPLOYMENT_NAME": cdk.Aws.STACK_NAME,
        "JOB_TABLE": store.table_name,
        "JOB_BUCKET": store.bucket_name,
        "JOB_QUEUE_URL": queue.url if deployment.hosting.mode == "realtime" else "",
        "JOB_SETTINGS": json.dumps(settings, separators=(",", ":")),
    }
