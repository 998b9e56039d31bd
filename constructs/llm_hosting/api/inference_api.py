"""The REST API in front of a model: routes, authorization, throttles, access logs, the gateway's own answers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ..acknowledgement import acknowledge
from ..dashboard.panel import Panel, Question, graph, math, of, percentiles, query
from ..deployment.settings.api import Api
from ..deployment.settings.operating import Logs
from ..log_group import LogGroup
from .callers import policy_of, set_endpoint, urls_of
from .cors import add_preflight, headers_of_gateway
from .gateway_responses import UNKNOWN_ROUTE, GatewayResponse, gateway_responses
from .handler_function import TRACING_IS_OFF, HandlerFunction, Handlers
from .keys import ApiKeys
from .routes import Route
from .tokens import TokenAuthorizer
from .web_acl import WebAcl, associate

STAGE = "v1"
_PERMISSION = "FromApi"  # one permission of a function for all its routes

# TLS 1.3, and TLS 1.2 with forward secrecy for OpenSSL before 1.1.1 or Java before 11. The default allows TLS 1.0.
SECURITY_POLICY = "SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09"

# API Gateway allows a streamed answer 15 minutes without a raised quota. The function ends first, with an error.
# inference_api/shared/time_budget.py says how much of it a route may use.
STREAM_TIMEOUT = cdk.Duration.seconds(870)
STREAM_FUNCTION_TIMEOUT = cdk.Duration.seconds(860)

# The fields of an access log line and their names in $context. None holds a prompt.
_LOGGED = {
    "requestId": "requestId",
    "requestTime": "requestTimeEpoch",
    "status": "status",
    "httpMethod": "httpMethod",
    "resourcePath": "resourcePath",
    "responseLength": "responseLength",
    "responseLatency": "responseLatency",
    "integrationLatency": "integrationLatency",
    # AWS, "Set up a Lambda proxy integration with payload response streaming in API Gateway".
    "transferMode": "integration.responseTransferMode",
    "timeToHeaders": "integration.timeToAllHeaders",
    "timeToFirstContent": "integration.timeToFirstContent",
    "sourceIp": "identity.sourceIp",
    "caller": "identity.caller",
    "apiKeyId": "identity.apiKeyId",
    "error": "error.responseType",
}
_OWN_VALIDATION = (
    "The function checks every body and says which field to change; a validator of the gateway could only say that the "
    "body is invalid."
)
_NO_WEB_ACL = (
    "A web ACL costs a fixed fee and sees only the first 16 kB of a prompt; the stage throttles callers, and "
    "api.waf or api.waf_acl_arn puts an ACL in front of the stage."
)
_NO_EXECUTION_LOGS = (
    "Execution logs hold parts of prompts, in a log group that no template owns and that never expires."
)
_REACHES_NOTHING = (
    "A fixed 404 for paths that are no route: no function and no data stand behind it, and with an authorizer a "
    "misspelt path would look like a wrong key."
)
_EVERY_ROUTE = "A caller of the API may call all its routes; each shows a caller only what belongs to that caller."
_NO_QUEUE = "Called synchronously by API Gateway only: a failure goes back to the caller."
_NO_USER_POOL = {
    "iam": "Callers sign with AWS credentials (AWS_IAM); a user pool would add a second identity store.",
    "api-key": "The deployment asks for api.auth: api-key, for callers without AWS credentials.",
    "jwt": "The deployment asks for api.auth: jwt: a function of ours checks tokens of any issuer, a user pool's, too.",
    "none": "The deployment asks for api.auth: none in so many words; synth warns that the API is public.",
}

_NAMED_BY = {
    "apiKeyId": "The access log names the ids of keys; `slipway keys` has their names.",
    "caller": "The access log names principals of IAM by their ids.",
}


class InferenceApi(Construct):
    """A REST API, regional or private.

    rest_api: the API itself. access_log_group: None = the deployment has no access logs.

    routes: the routes that `add_routes` adds.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Api,
        log_settings: Logs,
        handlers: Handlers,
        routes: Sequence[Route],
    ) -> None:
        super().__init__(scope, construct_id)
        self._settings, self._log_settings, self._handlers = settings, log_settings, handlers
        self._routes = routes
        self._writes_access_log = settings.access_logs and log_settings.requests != "none"
        self._streaming: list[lambda_.Function] = []
        # Of API Gateway's own answers, beside those of each kind.
        traced = {"x-trace-id": "context.xrayTraceId"} if handlers.traces else {}
        self._more_headers = traced | (headers_of_gateway(settings.cors, *traced) if settings.cors else {})
        self.access_log_group: LogGroup | None = None
        takes_files = any(each.id == "createFile" for each in routes)
        self.rest_api = apigateway.RestApi(
            self,
            "RestApi",
            rest_api_name=handlers.surroundings.name,
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            cloud_watch_role=False,  # an account and region has only one, in the stack slipway-account-settings
            deploy_options=self._stage_options(),
            # The authorizer returns the key that the usage plans look up, so that a key may come in either header.
            api_key_source_type=apigateway.ApiKeySourceType.AUTHORIZER if settings.auth == "api-key" else None,
            binary_media_types=["multipart/form-data"] if takes_files else None,
        )
        self.rest_api.node.default_child.security_policy = SECURITY_POLICY  # the L2 construct has no such property
        set_endpoint(self.rest_api.node.default_child, settings)
        self.rest_api.node.try_remove_child("Endpoint")  # the CDK adds an output that repeats ApiUrl
        responses = gateway_responses(settings, routes)
        for response in responses:
            self.rest_api.add_gateway_response(
                response.kind.title().replace("_", ""),
                type=apigateway.ResponseType.of(response.kind),
                status_code=response.status and str(response.status),
                response_headers=response.headers | self._more_headers,
                templates={"application/json": response.template},
            )
        self._keys: ApiKeys | None = None
        if settings.auth == "api-key":
            self._keys = ApiKeys(self, "Keys", api=self.rest_api, settings=settings, handlers=handlers)
        self._tokens: TokenAuthorizer | None = None
        if settings.jwt:
            self._tokens = TokenAuthorizer(self, "Tokens", api=self.rest_api, settings=settings.jwt, handlers=handlers)
        if settings.auth != "iam":
            (unknown,) = (each for each in responses if each.kind == UNKNOWN_ROUTE)
            self._answer_unknown_routes(unknown)
        if acl := self._web_acl(takes_files=takes_files):
            associate(self, "WebAclAssociation", stage=self.rest_api.deployment_stage, acl_arn=acl)
        self._acknowledge(has_web_acl=acl is not None)

    def _web_acl(self, *, takes_files: bool) -> str | None:
        """Return the ARN of the web ACL, the stack's own or the account's; None = there is none."""
        if self._settings.waf:
            return WebAcl(self, "WebAcl", settings=self._settings, takes_files=takes_files).arn
        return self._settings.waf_acl_arn

    @property
    def urls(self) -> dict[str, str]:
        """The API's own URLs by output, each with a slash at its end; `ApiUrl` comes first."""
        return urls_of(self.rest_api, self._settings)

    @property
    def outputs(self) -> dict[str, str]:
        """The stack's outputs beside the URLs: the key of operators, or what callers need for a token."""
        if self._keys:
            return {"ApiKeyId": self._keys.own.key_id}
        return self._tokens.outputs if self._tokens else {}

    def grant_call(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a principal call every route. Raises ValueError unless callers sign their requests."""
        auth = self._settings.auth
        if auth != "iam":
            advice = {
                "api-key": "give its callers a key",
                "jwt": "its callers need a token of its issuer",
                "none": "everybody may call it",
            }[auth]
            raise ValueError(f"{self.node.path}: no grant lets callers in with api.auth: {auth}; {advice}.")
        stack = cdk.Stack.of(self)
        if isinstance(grantee.grant_principal, Construct):
            region, account = (
                f"<AWS::{pseudo}>" if cdk.Token.is_unresolved(value) else value
                for pseudo, value in (("Region", stack.region), ("AccountId", stack.account))
            )
            api = f"<{stack.get_logical_id(self.rest_api.node.default_child)}>"
            resource = f"arn:<AWS::Partition>:execute-api:{region}:{account}:{api}/{STAGE}/*/*"
            acknowledge(grantee.grant_principal, {f"AwsSolutions-IAM5[Resource::{resource}]": _EVERY_ROUTE})
        place = f"arn:{cdk.Aws.PARTITION}:execute-api:{stack.region}:{stack.account}"
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["execute-api:Invoke"],
            resource_arns=[f"{place}:{self.rest_api.rest_api_id}/{STAGE}/*/*"],
        )

    def panels(self) -> list[Panel]:
        """Return what a dashboard shows of the API."""
        stage, total = self.rest_api.deployment_stage, cloudwatch.Stats.SUM
        refused, failed = stage.metric_client_error(statistic=total), stage.metric_server_error(statistic=total)
        parts = {
            "all": stage.metric_count(statistic=cloudwatch.Stats.SAMPLE_COUNT),
            "refused": refused,
            "failed": failed,
        }
        return [
            Panel(
                Question.UP,
                "4XX are mistakes and limits of callers, 5XX are failures of the service.",
                [
                    graph(
                        "Requests",
                        math("2XX", "all - refused - failed", **parts),
                        of(refused, total, "4XX"),
                        of(failed, total, "5XX"),
                        unit="requests",
                        stacked=True,
                    )
                ],
            ),
            Panel(
                Question.FAST,
                "The gateway's latency is the whole time of a request, up to the last byte of a stream.",
                [graph("Gateway", *percentiles(stage.metric_latency()), unit="milliseconds")],
            ),
            *self._who(),
        ]

    def _who(self) -> Iterator[Panel]:
        """Yield the requests of each caller that the access log names: by key, or by principal of IAM."""
        named = {"api-key": "apiKeyId", "iam": "caller"}.get(self._settings.auth)
        if named and self.access_log_group:
            by_caller = query(
                "Requests",
                [self.access_log_group.log_group_name],
                f"stats count(*) as requests by {named}, status",
                "sort requests desc",
                "limit 20",
            )
            yield Panel(Question.WHO, _NAMED_BY[named], [by_caller])

    def add_function(
        self,
        *,
        handler: str,
        memory_in_mb: int | None = None,
        construct_id: str | None = None,
        streams: bool = False,
    ) -> lambda_.Function:
        """Add a function for a module of `inference_api.handlers`.

        construct_id: None = made from the module's name.
        streams: whether the answer is passed on while it is written. The module must then end with
        `streaming_runtime.serve`, and the timeout is that of streams.
        """
        longest = cdk.Duration.seconds(self._settings.function_timeout_in_seconds)
        function = HandlerFunction(
            self,
            construct_id or handler.title().replace("_", ""),
            handler=handler,
            timeout=STREAM_FUNCTION_TIMEOUT if streams else longest,
            failures=_NO_QUEUE,
            handlers=self._handlers,
            memory_in_mb=memory_in_mb,
            streams=streams,
        ).function
        if streams:
            self._streaming.append(function)
        return function

    def add_routes(self, functions: Mapping[str, lambda_.Function]) -> None:
        """Add all routes of the API, after those of `add_open_route`, and the policy over them.

        functions: the functions by their names in the table of routes.
        """
        for each in self._routes:
            route = self.rest_api.root.resource_for_path(each.path).add_method(
                each.method,
                self._integration(functions[each.function]),
                **self._authorization(takes_bearer=each.openai),
            )
            self._acknowledge_auth(route)
        if self._settings.cors:
            for path in dict.fromkeys(each.path for each in self._routes):
                methods = [each.method for each in self._routes if each.path == path]
                add_preflight(self.rest_api.root.resource_for_path(path), methods, self._settings)
        self.rest_api.node.default_child.policy = policy_of(self.rest_api, self._settings, STAGE)

    def add_open_route(self, path: str, function: lambda_.Function, *, reason: str) -> None:
        """Add a GET route without authorization. reason: why that is safe, for cdk-nag."""
        open_ = {"authorization_type": apigateway.AuthorizationType.NONE, "api_key_required": False}
        route = self.rest_api.root.resource_for_path(path).add_method("GET", self._integration(function), **open_)
        acknowledge(route, dict.fromkeys(("AwsSolutions-COG4", "AwsSolutions-APIG4"), reason))

    def _answer_unknown_routes(self, answer: GatewayResponse) -> None:
        """Answer every unknown path and method with a fixed 404.

        API Gateway would take a key in `Authorization` for a malformed signature.
        """
        named = answer.headers | self._more_headers
        headers = {f"method.response.header.{name}": value for name, value in named.items()}
        status = str(answer.status)
        integration = apigateway.MockIntegration(
            passthrough_behavior=apigateway.PassthroughBehavior.NEVER,  # other types: UNSUPPORTED_MEDIA_TYPE
            request_templates={"application/json": json.dumps({"statusCode": answer.status})},
            integration_responses=[
                apigateway.IntegrationResponse(
                    status_code=status,
                    response_parameters=headers,
                    response_templates={"application/json": answer.template},
                )
            ],
        )
        declared = apigateway.MethodResponse(status_code=status, response_parameters=dict.fromkeys(headers, False))
        root = self.rest_api.root
        for resource in (root, root.add_resource("{unknown+}")):  # the catch-all route does not match the root itself
            method = resource.add_method(
                "ANY",
                integration,
                authorization_type=apigateway.AuthorizationType.NONE,
                api_key_required=False,
                method_responses=[declared],
            )
            acknowledge(method, dict.fromkeys(("AwsSolutions-COG4", "AwsSolutions-APIG4"), _REACHES_NOTHING))

    def _authorization(self, *, takes_bearer: bool) -> dict[str, Any]:
        if self._keys:
            authorizer = self._keys.as_bearer if takes_bearer else self._keys.in_own_header
            return {"authorizer": authorizer, "api_key_required": True}
        if self._tokens:
            return {"authorizer": self._tokens.authorizer, "api_key_required": False}
        kinds = {"iam": apigateway.AuthorizationType.IAM, "none": apigateway.AuthorizationType.NONE}
        return {"authorization_type": kinds[self._settings.auth], "api_key_required": False}

    def _integration(self, function: lambda_.Function) -> apigateway.AwsIntegration:
        """Return a Lambda integration without a permission. The CDK's own would add one for each route."""
        arn, streams = function.function_arn, function in self._streaming
        if function.node.try_find_child(_PERMISSION) is None:
            function.add_permission(
                _PERMISSION,
                principal=iam.ServicePrincipal("apigateway.amazonaws.com"),
                source_arn=self.rest_api.arn_for_execute_api("*", "/*", STAGE),
            )
        if streams:
            options = apigateway.IntegrationOptions(
                timeout=STREAM_TIMEOUT, response_transfer_mode=apigateway.ResponseTransferMode.STREAM
            )
            path = f"2021-11-15/functions/{arn}/response-streaming-invocations"
        else:
            timeout = cdk.Duration.seconds(self._settings.timeout_in_seconds)
            options, path = apigateway.IntegrationOptions(timeout=timeout), f"2015-03-31/functions/{arn}/invocations"
        return apigateway.AwsIntegration(service="lambda", proxy=True, path=path, options=options)

    def _stage_options(self) -> apigateway.StageOptions:
        destination = log_format = None
        if self._writes_access_log:
            key, days = self._handlers.surroundings.log_key, self._log_settings.retention_in_days
            self.access_log_group = LogGroup(self, "AccessLogs", retention_in_days=days, key=key)
            destination = apigateway.LogGroupLogDestination(self.access_log_group)
            logged = _LOGGED | ({"trace": "xrayTraceId"} if self._handlers.traces else {})
            fields = {name: f"$context.{variable}" for name, variable in logged.items()}
            log_format = apigateway.AccessLogFormat.custom(json.dumps(fields))
        return apigateway.StageOptions(
            stage_name=STAGE,
            throttling_rate_limit=self._settings.throttle.rate,
            throttling_burst_limit=self._settings.throttle.burst,
            tracing_enabled=self._handlers.traces,
            access_log_destination=destination,
            access_log_format=log_format,
        )

    def _acknowledge(self, *, has_web_acl: bool) -> None:
        acknowledge(self.rest_api, {"AwsSolutions-APIG2": _OWN_VALIDATION})
        reasons = {} if has_web_acl else {"AwsSolutions-APIG3": _NO_WEB_ACL}
        reasons["AwsSolutions-APIG6"] = _NO_EXECUTION_LOGS
        if not self._writes_access_log:
            findings = ("AwsSolutions-APIG1", "Serverless-APIGWAccessLogging", "Serverless-APIGWStructuredLogging")
            reasons |= dict.fromkeys(findings, "api.access_logs or logs.requests switches it off here.")
        if not self._handlers.traces:
            reasons["Serverless-APIGWXrayEnabled"] = TRACING_IS_OFF
        acknowledge(self.rest_api.deployment_stage, reasons)

    def _acknowledge_auth(self, method: apigateway.Method) -> None:
        auth = self._settings.auth
        findings = ("AwsSolutions-COG4", "AwsSolutions-APIG4") if auth == "none" else ("AwsSolutions-COG4",)
        acknowledge(method, dict.fromkeys(findings, _NO_USER_POOL[auth]))
