"""One hosted model behind its API."""

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from llm_hosting import DESCRIPTION_PREFIX
from llm_hosting.api.alarms import ApiAlarms
from llm_hosting.api.function_environment import function_environment, openai_environment
from llm_hosting.api.handler_function import Handlers
from llm_hosting.api.inference_api import InferenceApi
from llm_hosting.api.key_usage import KeyUsageTable
from llm_hosting.api.playground import Playground
from llm_hosting.api.routes import routes_of
from llm_hosting.hosting.hosting_modes import HOSTING_MODES
from llm_hosting.jobs.functions import JobFunctions
from llm_hosting.jobs.store import JobStore
from llm_hosting.resolution import Resolution
from llm_hosting.sources import Sources
from llm_hosting.stack_label import StackLabel


class InferenceStack(cdk.Stack):
    """A hosted model, the REST API in front of it, jobs, and the functions between them.

    sources: the folders of the functions and of the code beside the model.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        resolution: Resolution,
        sources: Sources,
        **kwargs: Any,
    ) -> None:
        deployment = resolution.deployment
        served = f"{deployment.model.id} on {deployment.serving.engine}"
        super().__init__(scope, construct_id, description=f"{DESCRIPTION_PREFIX}{served}", **kwargs)
        self.template_options.metadata = StackLabel(deployment.model.id, deployment.hosting.mode).as_metadata()
        usage = KeyUsageTable(self, "KeyUsage") if deployment.api.keys else None
        store = JobStore(self, "JobStore", settings=deployment.jobs, usage=usage) if deployment.jobs.enabled else None
        hosting = HOSTING_MODES[deployment.hosting.mode](
            self,
            "Default",  # adds nothing to logical ids
            resolution=resolution,
            sources=sources,
            store=store,
        )
        handlers = Handlers(
            code=lambda_.Code.from_asset(str(sources.functions), exclude=["**/__pycache__", "*.md"]),
            environment=function_environment(resolution, hosting.environment, store.environment if store else None)
            | openai_environment(resolution)
            | (usage.environment if usage else {}),
            settings=deployment.api,
            log_settings=deployment.logs,
        )
        openai = bool(resolution.openai_routes)
        api = InferenceApi(
            self,
            "Api",
            settings=deployment.api,
            log_settings=deployment.logs,
            handlers=handlers,
            routes=routes_of(takes_jobs=deployment.jobs.enabled, openai=openai),
        )
        generate = api.add_function(handler=hosting.generate_handler, construct_id="Generate", streams=True)
        hosting.grant_generate(generate)
        if usage:
            usage.grant_count(generate)
        short = api.add_function(handler="route")
        hosting.grant_describe(short)
        functions = {"generate": generate, "short": short}
        if deployment.api.playground:
            Playground(self, "Playground", api=api, auth=deployment.api.auth, handlers=handlers)

        outputs = {"ApiUrl": api.url, **hosting.outputs, **(usage.outputs if usage else {})}
        if api.api_key:
            outputs["ApiKeyId"] = api.api_key.key_id
        if store:
            jobs = JobFunctions(
                self,
                "Jobs",
                settings=deployment.jobs,
                alarms=deployment.alarms,
                handlers=handlers,
                store=store,
                hosting=hosting,
            )
            jobs.grant_routes(short)
            functions["poll_job"] = jobs.add_poll(api)
            if openai:
                jobs.add_batches(short)
            outputs |= store.outputs | hosting.queue.outputs
        api.add_routes(functions)
        ApiAlarms(
            self,
            "ApiAlarms",
            settings=deployment.alarms,
            server_errors=api.metric_server_errors(),
            functions=[each for each in self.node.find_all() if isinstance(each, lambda_.Function)],
        )
        hosting.create_endpoint_last()
        for name, value in outputs.items():
            cdk.CfnOutput(self, name, value=value)
