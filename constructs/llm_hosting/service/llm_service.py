"""`LlmService`: the front door of the library."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ..api.alarms import ApiAlarms
from ..api.domain import Domain
from ..api.function_environment import function_environment, openai_environment
from ..api.handler_function import Handlers
from ..api.inference_api import InferenceApi
from ..api.key_usage import KeyUsageTable
from ..api.playground import Playground
from ..api.routes import routes_of
from ..deployment.file import DeploymentError, long_adapter_names
from ..deployment.model import Deployment
from ..deployment.paths import find
from ..hosting.hosting_modes import HOSTING_MODES
from ..jobs.functions import JobFunctions
from ..jobs.hosting_mode import HostingMode
from ..jobs.store import JobStore
from ..preflight.validation import accept, load
from ..project import project_folder, project_in_use, use_project
from ..resolution import Resolution
from ..resolution.description import describe
from ..sources import Sources, handler_names
from ..stack_label import StackLabel
from ..surroundings import Surroundings
from .budget import MonthlyBudget
from .dashboard import ServiceDashboard
from .feature_flags import warn_of_untested_flags
from .governance import govern
from .name import add_outputs, demand_free_name, service_name
from .outage import Outage
from .team_resources import TeamResources


class LlmService(Construct):
    """A hosted model, the REST API in front of it, jobs, and the functions between them.

        LlmService(self, "Chat", deployment="deployments/chat.yaml")

    A stack may hold several. The name of a service is that of its stack and its id, in lower case: `services-chat` for
    `Chat` in the stack `Services`. Everything that exists once in an account has that name in its own.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: str | Path | Deployment | Resolution,
        vpc: ec2.IVpc | None = None,
        subnets: ec2.SubnetSelection | None = None,
        data_key: kms.IKey | None = None,
        log_key: kms.IKey | None = None,
        log_bucket: s3.IBucket | None = None,
        alarm_topic: sns.ITopic | None = None,
        paging_topic: sns.ITopic | None = None,
        permissions_boundary: iam.IManagedPolicy | None = None,
        domain: apigateway.IDomainName | None = None,
        base_path: str | None = None,
    ) -> None:
        """Create the resources of a deployment.

        construct_id: the id "Default" adds nothing to names, logical ids and outputs, for a stack with one service.
        deployment: the path of a deployment file, relative to the current folder; or a typed Deployment; or the
        Resolution of a deployment that was judged before. Rows, rules and handlers are those of the project around the
        file, or around the current folder if the file is in no project: the nearest folder with cdk.json and
        deployments/.

        What a team already has, each None by default:

        vpc: the network of the endpoint's containers, or of the machines (mode ec2). Default: SageMaker's own network,
        or a VPC that the service makes for its machines.
        subnets: some subnets of `vpc`. Default: the private ones with a route to the internet. They must reach AWS and,
        unless `model.weights` is set, the Hub by TCP 443. In public subnets machines get public addresses, and
        containers get none.
        data_key: encrypts the job table and bucket, queues, topics, the table of key usage, the functions' variables,
        and the model's volumes unless `hosting.volume_kms_key_arn` is set or the instance has a disk of its own.
        log_key: encrypts all log groups. A key that another app made must let CloudWatch Logs use it.
        log_bucket: gets the access logs of the job bucket, below the service's name. A bucket that another app made
        must let `logging.s3.amazonaws.com` write to it.
        alarm_topic: is told when an alarm starts and ends, instead of `alarms.topic_arn`.
        paging_topic: is told when callers get no answers, instead of `alarms.paging_topic_arn`.
        permissions_boundary: of every role, instead of `security.permissions_boundary_arn`.
        domain, base_path: the API is also served at `https://<domain>/<base_path>/`. Services that share a domain need
        different paths. Default of base_path: the root. `api.domain` of the deployment makes a domain instead.

        Raises UnknownDeploymentError if there is no such file. Raises DeploymentError, which names every problem, if
        the deployment is refused or contradicts an argument. Raises ProjectError for a wrong row or rule of the
        project. Other findings are printed on standard error.
        """
        super().__init__(scope, construct_id)
        name = service_name(self)
        if isinstance(deployment, Resolution):
            project, resolution = project_in_use() or project_folder(), deployment
        else:
            project = project_folder() if isinstance(deployment, Deployment) else project_folder(str(deployment))
            resolution = self._judged(deployment, name, project)
        sources = Sources.of(project)
        settings = resolution.deployment
        demand_free_name(self, name)
        warn_of_untested_flags(self)
        team = TeamResources(
            vpc=vpc,
            subnets=subnets,
            data_key=data_key,
            log_key=log_key,
            log_bucket=log_bucket,
            alarm_topic=alarm_topic,
            paging_topic=paging_topic,
            permissions_boundary=permissions_boundary,
            domain=domain,
            base_path=base_path,
        )
        if problems := team.problems(self, settings):
            raise DeploymentError(self.node.path, problems)
        self._surroundings = surroundings = team.surroundings(self, name, settings)
        usage = KeyUsageTable(self, "KeyUsage", surroundings=surroundings) if settings.api.counts_usage else None
        self._store = (
            JobStore(self, "JobStore", settings=settings.jobs, surroundings=surroundings, usage=usage)
            if settings.jobs.enabled
            else None
        )
        self._hosting = HOSTING_MODES[settings.hosting.mode](
            self,
            "Default",
            resolution=resolution,
            sources=sources,
            surroundings=surroundings,
            store=self._store,
        )
        handlers = self._handlers(resolution, sources, surroundings, usage)
        self._api = InferenceApi(
            self,
            "Api",
            settings=settings.api,
            log_settings=settings.logs,
            handlers=handlers,
            routes=routes_of(takes_jobs=settings.jobs.enabled, openai=resolution.openai_routes),
        )
        jobs = self._add_functions(resolution, handlers, usage)
        self._functions = {
            _snake_case(each.node.scope.node.id): each
            for each in self.node.find_all()
            if isinstance(each, lambda_.Function)
        }
        for name, calls in settings.api.reserved_concurrency.items():
            self._functions[name].node.default_child.reserved_concurrent_executions = calls
        told = ApiAlarms(
            self,
            "ApiAlarms",
            settings=settings.alarms,
            surroundings=surroundings,
            server_errors=self.metric_server_errors(),
            functions=list(self._functions.values()),
        )
        self._alarms = {**told.alarms, **(jobs.alarms if jobs else {}), **self._hosting.alarms}
        self._outage = None
        if surroundings.paging_topic:
            self._outage = Outage(
                self,
                "Outage",
                deployment=settings,
                surroundings=surroundings,
                hosting=self._hosting,
                server_errors=self.metric_server_errors(),
                topic=surroundings.paging_topic,
            )
        domain = Domain(self, "Domain", settings=settings.api.domain) if settings.api.domain else None
        mapped = team.map_domain(self, self.api, domain and domain.name)
        own = self._api.urls
        # A domain of the team may belong to several services, so their outputs keep the API's own URL.
        urls = own | ({"ApiUrl": mapped, **domain.outputs} if domain and mapped else {})
        self._url = mapped or own["ApiUrl"]
        if (usd := settings.operations.monthly_budget_in_usd) and surroundings.alarm_topic:
            MonthlyBudget(self, "MonthlyBudget", usd=usd, name=surroundings.name, topic=surroundings.alarm_topic)
        self._dashboard = None
        if settings.operations.dashboard:
            self._dashboard = ServiceDashboard(
                self,
                "ServiceDashboard",
                deployment=settings,
                surroundings=surroundings,
                outage=self._outage,
                alarms=self._alarms,
                functions=self._functions,
                hosting=self._hosting,
                panels=[*self._api.panels(), *self._hosting.panels(), *(jobs.panels() if jobs else [])],
            )
        self._hosting.create_endpoint_last(self)
        govern(self, settings.security, permissions_boundary)
        label = StackLabel(settings.model.id, settings.hosting.mode)
        add_outputs(self, name, label, settings.serving.engine, urls | self._outputs(usage))

    @property
    def name(self) -> str:
        """The name of the service, in tags, metrics and events: a text, which may be a token."""
        return self._surroundings.name

    @property
    def api(self) -> apigateway.RestApi:
        """The `RestApi`. Its only stage is `api.deployment_stage`."""
        return self._api.rest_api

    @property
    def url(self) -> str:
        """The URL of the API, with a slash at its end; the base URL of OpenAI clients. With a domain, the URL there."""
        return self._url

    @property
    def functions(self) -> Mapping[str, lambda_.Function]:
        """The Lambda functions, each a `Function`, by name.

        Always `generate`, which calls the model, and `route`, which answers the short routes. With jobs `poll_job` and
        `every_minute`; then also `run_job` (mode realtime) or `record_result` (mode async). With `api.auth: api-key`
        `authorize`, with `jwt` `authorize_token`. With `api.playground` `serve`.
        """
        return self._functions

    @property
    def endpoint_name(self) -> str | None:
        """The name of the SageMaker endpoint; None with mode ec2."""
        return self._hosting.endpoint_name

    @property
    def model_role(self) -> iam.Role:
        """The `Role` of the endpoint's containers, or of the machines with mode ec2."""
        return self._hosting.model_role

    @property
    def table(self) -> dynamodb.Table | None:
        """The `Table` of jobs; None without jobs."""
        return self._store and self._store.table

    @property
    def bucket(self) -> s3.Bucket | None:
        """The `Bucket` with the inputs and results of jobs; None without jobs."""
        return self._store and self._store.bucket

    @property
    def queue(self) -> sqs.Queue | None:
        """The `Queue` of jobs that wait (modes realtime and ec2) or of results (mode async); None without jobs."""
        return self._hosting.queue.queue if self._store else None

    @property
    def log_groups(self) -> Mapping[str, logs.ILogGroup]:
        """The log groups, each an `ILogGroup`, by name.

        Those of `functions`, `model`, and `access` unless `api.access_logs` is off.
        """
        access = self._api.access_log_group
        return {
            **{name: function.log_group for name, function in self._functions.items()},
            "model": self._hosting.model_log_group,
            **({"access": access} if access else {}),
        }

    @property
    def alarms(self) -> Mapping[str, cloudwatch.Alarm]:
        """The alarms that notify, each an `Alarm`, by name.

        Always `ServerErrors` and `Throttles`. With jobs `Waiting`, `Failed`, `DeadLetters`, `EndedBySweeper`,
        `EveryMinute`, and with batches `Stuck`. With an endpoint `Errors`, `Failures`, `Idle` unless it is off; with
        mode realtime also `Latency`. With mode async `Results`, `ExpiredRequests`, `RequestDownloadFailures`,
        `ResponseUploadFailures`, `NotificationFailures`. With mode ec2 `Machines` and `MachineStarts`.
        """
        return self._alarms

    @property
    def dashboard(self) -> cloudwatch.Dashboard | None:
        """The `Dashboard` of the service; None without `operations.dashboard`. `add_widgets` adds rows of your own."""
        return self._dashboard and self._dashboard.dashboard

    def grant_call(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a principal call every route of the API, with requests that it signs.

        The permission ends in `/*/*`. cdk-nag asks you to acknowledge that if the principal is in another stack.
        Raises ValueError unless `api.auth` is `iam`: callers of other APIs need a key, a token, or nothing.
        """
        return self._api.grant_call(grantee)

    def metric_requests(self, **options: Any) -> cloudwatch.Metric:
        """Return the number of requests in each minute. options: those of a CDK metric, such as `period`."""
        return self._of_stage("metric_count", cloudwatch.Stats.SAMPLE_COUNT, options)

    def metric_client_errors(self, **options: Any) -> cloudwatch.Metric:
        """Return the share of requests, 0 to 1, that were answered with 4XX."""
        return self._of_stage("metric_client_error", cloudwatch.Stats.AVERAGE, options)

    def metric_server_errors(self, **options: Any) -> cloudwatch.Metric:
        """Return the share of requests, 0 to 1, that were answered with 5XX."""
        return self._of_stage("metric_server_error", cloudwatch.Stats.AVERAGE, options)

    def metric_latency(self, **options: Any) -> cloudwatch.Metric:
        """Return the time to the end of an answer in milliseconds, as the 99th percentile of each minute."""
        return self._of_stage("metric_latency", cloudwatch.Stats.percentile(99), options)

    def metric_model_latency(self, **options: Any) -> cloudwatch.Metric:
        """Return the time that the model takes in microseconds, as the 99th percentile of each minute.

        Raises ValueError with mode ec2, whose machines report no latency.
        """
        metric = self._hosting.metric_model_latency()
        if metric is None:
            raise ValueError(f"{self.node.path}: hosting.mode: ec2 has no metric of the model's latency.")
        return _with(metric, options)

    def metric_waiting_jobs(self, **options: Any) -> cloudwatch.Metric:
        """Return the number of jobs that wait; with mode async also those that the model works on.

        Raises ValueError without jobs.
        """
        return _with(self._taking_jobs().metric_waiting_jobs(), options)

    def metric_oldest_job(self, **options: Any) -> cloudwatch.Metric:
        """Return the seconds that the oldest job has waited. Raises ValueError without jobs."""
        return _with(self._taking_jobs().metric_oldest_job(), options)

    def metric_failed_jobs(self, **options: Any) -> cloudwatch.Metric:
        """Return the share, 0 to 1, of ended jobs that failed or expired. Raises ValueError without jobs."""
        self._taking_jobs()
        return _with(self._surroundings.metric("JobFailed", cloudwatch.Stats.AVERAGE), options)

    def _of_stage(self, metric: str, statistic: str, options: Mapping[str, Any]) -> cloudwatch.Metric:
        usual = {"statistic": statistic, "period": cdk.Duration.minutes(1)}
        return getattr(self.api.deployment_stage, metric)(**{**usual, **options})

    def _taking_jobs(self) -> HostingMode:
        if self._store is None:
            raise ValueError(f"{self.node.path} takes no jobs: its deployment has jobs.enabled: false.")
        return self._hosting

    def _judged(self, deployment: str | Path | Deployment, name: str, project: Path) -> Resolution:
        if not isinstance(deployment, str | Path | Deployment):
            problem = (
                f"deployment: {deployment!r} is no deployment; pass a file's path, or Deployment.model_validate(...)."
            )
            raise DeploymentError(self.node.path, [problem])
        region = cdk.Stack.of(self).region
        use_project(project)
        handlers = handler_names(project)
        given = None if cdk.Token.is_unresolved(region) else region
        if isinstance(deployment, Deployment):
            somewhere = deployment.model_copy(update={"region": deployment.region or given})
            resolution, findings = accept(somewhere, self.node.path, handlers)
        else:
            path = find(str(deployment), project / "deployments")
            resolution, findings = load(path, handlers, given)
        spoken = cdk.Stack.of(self).stack_name if cdk.Token.is_unresolved(name) else name
        # The file's name, by which it was judged, may be shorter than the service's.
        if too_long := list(long_adapter_names(resolution.deployment, spoken)):
            raise DeploymentError(spoken, [f"{each.place}: {each.message}" for each in too_long])
        print(*describe(spoken, resolution, findings), sep="\n", file=sys.stderr)
        return resolution

    def _handlers(
        self, resolution: Resolution, sources: Sources, surroundings: Surroundings, usage: KeyUsageTable | None
    ) -> Handlers:
        of_jobs = self._store.environment if self._store else None
        return Handlers(
            code=lambda_.Code.from_asset(str(sources.functions), exclude=["**/__pycache__", "*.md"]),
            environment=function_environment(surroundings.name, resolution, self._hosting.environment, of_jobs)
            | openai_environment(resolution)
            | (usage.environment if usage else {}),
            settings=resolution.deployment.api,
            log_settings=resolution.deployment.logs,
            surroundings=surroundings,
            traces=resolution.deployment.traces,
        )

    def _add_functions(
        self, resolution: Resolution, handlers: Handlers, usage: KeyUsageTable | None
    ) -> JobFunctions | None:
        settings, api = resolution.deployment, self._api
        generate = api.add_function(handler=self._hosting.generate_handler, construct_id="Generate", streams=True)
        self._hosting.grant_generate(generate)
        if usage:
            usage.grant_count(generate)
        short = api.add_function(handler="route")
        self._hosting.grant_describe(short)
        functions = {"generate": generate, "short": short}
        if settings.api.playground:
            Playground(self, "Playground", api=api, auth=settings.api.auth, handlers=handlers)
        jobs = None
        if self._store:
            jobs = JobFunctions(
                self,
                "Jobs",
                settings=settings.jobs,
                alarms=settings.alarms,
                handlers=handlers,
                store=self._store,
                hosting=self._hosting,
            )
            jobs.grant_routes(short)
            functions["poll_job"] = jobs.add_poll(api)
            if resolution.openai_routes:
                jobs.add_batches(short)
        api.add_routes(functions)
        return jobs

    def _outputs(self, usage: KeyUsageTable | None) -> dict[str, str]:
        outputs = {**self._api.outputs, **self._hosting.outputs, **(usage.outputs if usage else {})}
        if self._dashboard:
            outputs["Dashboard"] = self._dashboard.name
        if self._store:
            outputs |= self._store.outputs | self._hosting.queue.outputs
        return outputs


def _with(metric: cloudwatch.Metric, options: Mapping[str, Any]) -> cloudwatch.Metric:
    return metric.with_(**options) if options else metric


def _snake_case(construct_id: str) -> str:
    return re.sub("(?<!^)(?=[A-Z])", "_", construct_id).lower()
