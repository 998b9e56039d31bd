"""The resources of deployments/qwen3-4b.yaml as a hand-written CDK app: the reference of the synth benchmark."""

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

LAMBDA_SRC = Path(__file__).parents[2] / "lambda_src"
REPOSITORY = "djl-inference"
IMAGE_ACCOUNT = "763104351884"
GATEWAY_RESPONSES = {
    "MISSING_AUTHENTICATION_TOKEN": (403, "no_such_route_or_not_signed", "No such route, or not signed."),
    "INVALID_SIGNATURE": (403, "invalid_signature", "The signature does not match."),
    "EXPIRED_TOKEN": (403, "expired_token", "The temporary credentials have expired."),
    "ACCESS_DENIED": (403, "access_denied", "The caller may not use this route."),
    "INVALID_API_KEY": (403, "invalid_api_key", "Send a valid key in the header x-api-key."),
    "UNAUTHORIZED": (401, "invalid_api_key", "Send a valid key."),
    "THROTTLED": (429, "throttled", "Too many requests at once."),
    "QUOTA_EXCEEDED": (429, "quota_exceeded", "The quota of this key is used up."),
    "REQUEST_TOO_LARGE": (413, "body_too_large", "The body is over 10 MB."),
    "INTEGRATION_TIMEOUT": (504, "gateway_timeout", "No answer within 29 seconds."),
    "DEFAULT_4XX": (400, "bad_request", "The request can't be understood."),
    "DEFAULT_5XX": (503, "service_unavailable", "The service can't take the request."),
    "INTEGRATION_FAILURE": (503, "service_unavailable", "The service can't take the request."),
    "API_CONFIGURATION_ERROR": (503, "service_unavailable", "The service can't take the request."),
}
LOGGED = ("requestId", "requestTimeEpoch", "status", "httpMethod", "resourcePath", "responseLength", "responseLatency")
REQUEST_SCHEMA = {
    "bodies": ["inputs", "messages", "prompt"],
    "parameters": {"temperature": {"minimum": 0}},
    "model_aliases": [],
}


class PlainStack(cdk.Stack):
    """A SageMaker endpoint behind two routes, with literal settings."""

    def __init__(self, scope: Construct, construct_id: str, **kwargs: Any) -> None:
        super().__init__(scope, construct_id, **kwargs)
        guid = cdk.Fn.select(2, cdk.Fn.split("/", self.stack_id))
        self.endpoint_name = f"{self.stack_name}-{cdk.Fn.select(0, cdk.Fn.split('-', guid))}"
        self.endpoint_arn = f"arn:{self.partition}:sagemaker:{self.region}:{self.account}:endpoint/{self.endpoint_name}"
        self.endpoint_logs = logs.LogGroup(
            self,
            "EndpointLogs",
            log_group_name=f"/aws/sagemaker/Endpoints/{self.endpoint_name}",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=cdk.RemovalPolicy.RETAIN,
        )
        role = self.create_role()
        self.configuration = configuration = self.create_configuration(self.create_model(role))
        dimensions = {"EndpointName": self.endpoint_name, "VariantName": "AllTraffic"}
        self.create_alarms("", dimensions)
        self.create_idle_alarm(dimensions)
        new_fleet = {**dimensions, "EndpointConfigName": configuration.attr_endpoint_config_name}
        self.create_endpoint(role, configuration, self.create_alarms("Rollback", new_fleet))
        api = self.create_api()
        generate = self.add_route(api, "POST", "generate", "generate", 28, "sagemaker:InvokeEndpoint")
        describe = self.add_route(api, "GET", "endpoint", "describe_endpoint", 10, "sagemaker:DescribeEndpoint")
        self.create_api_alarms(api, [generate, describe])
        cdk.CfnOutput(self, "ApiUrl", value=api.url)
        cdk.CfnOutput(self, "EndpointName", value=self.endpoint_name)
        cdk.CfnOutput(self, "EndpointLogGroup", value=self.endpoint_logs.log_group_name)

    def create_role(self) -> iam.Role:
        source = f"arn:{self.partition}:sagemaker:{self.region}:{self.account}:*"
        principal = iam.ServicePrincipal("sagemaker.amazonaws.com", conditions={"ArnLike": {"aws:SourceArn": source}})
        role = iam.Role(self, "Role", assumed_by=principal)
        pull = [
            iam.PolicyStatement(
                actions=["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
                resources=[f"arn:{self.partition}:ecr:{self.region}:{IMAGE_ACCOUNT}:repository/{REPOSITORY}"],
            ),
            iam.PolicyStatement(actions=["ecr:GetAuthorizationToken"], resources=["*"]),
        ]
        iam.Policy(role, "Pull", statements=pull, roles=[role])
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                resources=[self.endpoint_logs.log_group_arn],
            )
        )
        return role

    def create_model(self, role: iam.Role) -> sagemaker.CfnModel:
        registry = f"{IMAGE_ACCOUNT}.dkr.ecr.{self.region}.{self.url_suffix}"
        model = sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=role.role_arn,
            enable_network_isolation=False,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=f"{registry}/{REPOSITORY}:0.36.0-lmi28.0.0-cu130",
                environment={
                    "HF_MODEL_ID": "Qwen/Qwen3-4B",
                    "TENSOR_PARALLEL_DEGREE": "1",
                    "OPTION_MAX_MODEL_LEN": "8192",
                    "SERVING_FAIL_FAST": "true",
                },
            ),
        )
        model.node.add_dependency(role)
        return model

    def create_alarms(self, prefix: str, dimensions: dict[str, str]) -> list[cloudwatch.Alarm]:
        alarms = []
        for name, statistic, threshold in (
            ("Invocation5XXErrors", cloudwatch.Stats.AVERAGE, 0.05),
            ("InvocationModelErrors", cloudwatch.Stats.AVERAGE, 0.5),
            ("ModelLatency", cloudwatch.Stats.percentile(99), 25_000_000),
        ):
            metric = cloudwatch.Metric(
                namespace="AWS/SageMaker",
                metric_name=name,
                dimensions_map=dimensions,
                statistic=statistic,
                period=cdk.Duration.minutes(1),
            )
            alarms.append(self.create_alarm(prefix + name, metric, threshold))
        return alarms

    def create_alarm(
        self,
        construct_id: str,
        metric: cloudwatch.IMetric,
        threshold: float,
        evaluation_periods: int = 3,
        datapoints_to_alarm: int = 2,
    ) -> cloudwatch.Alarm:
        return cloudwatch.Alarm(
            self,
            construct_id,
            metric=metric,
            threshold=threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=evaluation_periods,
            datapoints_to_alarm=datapoints_to_alarm,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )

    def create_idle_alarm(self, dimensions: dict[str, str]) -> None:
        metrics = {
            "calls": ("AWS/SageMaker", "ModelLatency"),
            "running": ("/aws/sagemaker/Endpoints", "CPUUtilization"),
        }
        count, hour = cloudwatch.Stats.SAMPLE_COUNT, cdk.Duration.hours(1)
        idle = cloudwatch.MathExpression(
            expression="IF(running > 0 AND FILL(calls, 0) < 1, 1, 0)",
            period=hour,
            using_metrics={
                name: cloudwatch.Metric(
                    namespace=namespace, metric_name=metric, dimensions_map=dimensions, statistic=count, period=hour
                )
                for name, (namespace, metric) in metrics.items()
            },
        )
        self.create_alarm("Idle", idle, 0, evaluation_periods=24, datapoints_to_alarm=24)

    def create_configuration(self, model: sagemaker.CfnModel) -> sagemaker.CfnEndpointConfig:
        return sagemaker.CfnEndpointConfig(
            self,
            "EndpointConfig",
            metrics_config=sagemaker.CfnEndpointConfig.MetricsConfigProperty(enable_detailed_observability=True),
            production_variants=[
                sagemaker.CfnEndpointConfig.ProductionVariantProperty(
                    variant_name="AllTraffic",
                    model_name=model.attr_model_name,
                    instance_type="ml.g6.2xlarge",
                    initial_instance_count=1,
                    initial_variant_weight=1,
                    model_data_download_timeout_in_seconds=900,
                    container_startup_health_check_timeout_in_seconds=900,
                    inference_ami_version="al2023-ami-sagemaker-inference-gpu-4-1",
                    routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(
                        routing_strategy="LEAST_OUTSTANDING_REQUESTS"
                    ),
                )
            ],
        )

    def create_endpoint(
        self, role: iam.Role, configuration: sagemaker.CfnEndpointConfig, alarms: list[cloudwatch.Alarm]
    ) -> None:
        endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=self.endpoint_name,
            endpoint_config_name=configuration.attr_endpoint_config_name,
            deployment_config=sagemaker.CfnEndpoint.DeploymentConfigProperty(
                blue_green_update_policy=sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty(
                    traffic_routing_configuration=sagemaker.CfnEndpoint.TrafficRoutingConfigProperty(
                        type="ALL_AT_ONCE", wait_interval_in_seconds=0
                    ),
                    termination_wait_in_seconds=300,
                    maximum_execution_timeout_in_seconds=3900,
                ),
                auto_rollback_configuration=sagemaker.CfnEndpoint.AutoRollbackConfigProperty(
                    alarms=[sagemaker.CfnEndpoint.AlarmProperty(alarm_name=alarm.alarm_name) for alarm in alarms]
                ),
            ),
        )
        statement = iam.PolicyStatement(
            actions=["cloudwatch:DescribeAlarms"], resources=[alarm.alarm_arn for alarm in alarms]
        )
        policy = iam.Policy(self, "WatchAlarms", statements=[statement], roles=[role])
        endpoint.node.add_dependency(self.endpoint_logs, policy)

    def create_api(self) -> apigateway.RestApi:
        access_logs = self.create_log_group("AccessLogs")
        api = apigateway.RestApi(
            self,
            "Api",
            rest_api_name=self.stack_name,
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            cloud_watch_role=False,
            deploy_options=apigateway.StageOptions(
                stage_name="v1",
                throttling_rate_limit=20,
                throttling_burst_limit=40,
                tracing_enabled=False,
                access_log_destination=apigateway.LogGroupLogDestination(access_logs),
                access_log_format=apigateway.AccessLogFormat.custom(
                    json.dumps({name: f"$context.{name}" for name in LOGGED})
                ),
            ),
        )
        for kind, (status, code, message) in GATEWAY_RESPONSES.items():
            api.add_gateway_response(
                kind,
                type=apigateway.ResponseType.of(kind),
                status_code=str(status),
                response_headers={"x-request-id": "context.requestId"},
                templates={"application/json": json.dumps({"error": {"code": code, "message": message}})},
            )
        return api

    def create_log_group(self, construct_id: str) -> logs.LogGroup:
        return logs.LogGroup(
            self, construct_id, retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
        )

    def add_route(
        self, api: apigateway.RestApi, method: str, path: str, handler: str, timeout_in_seconds: int, action: str
    ) -> lambda_.Function:
        log_group = self.create_log_group(f"{path}Logs")
        role = iam.Role(self, f"{path}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log_group.grant_write(role)
        role.add_to_policy(iam.PolicyStatement(actions=[action], resources=[self.endpoint_arn]))
        function = lambda_.Function(
            self,
            f"{path}Function",
            runtime=lambda_.Runtime.PYTHON_3_14,
            architecture=lambda_.Architecture.ARM_64,
            memory_size=512,
            handler=f"inference_api.handlers.{handler}.handler",
            code=lambda_.Code.from_asset(str(LAMBDA_SRC), exclude=["**/__pycache__", "*.md"]),
            timeout=cdk.Duration.seconds(timeout_in_seconds),
            environment={
                "ENDPOINT_CONFIGURATION": self.configuration.attr_endpoint_config_name,
                "ENDPOINT_NAME": self.endpoint_name,
                "ENDPOINT_URL": f"https://runtime.sagemaker.{self.region}.{self.url_suffix}"
                f"/endpoints/{self.endpoint_name}/invocations",
                "MODEL_ID": "Qwen/Qwen3-4B",
                "ENGINE": "lmi-vllm",
                "ENGINE_VERSION": "0.36.0-lmi28",
                "HOSTING_MODE": "realtime",
                "MAX_BODY_BYTES": "131072",
                "REQUEST_SCHEMA": json.dumps(REQUEST_SCHEMA),
            },
            role=role,
            log_group=log_group,
        )
        api.root.add_resource(path).add_method(
            method,
            apigateway.LambdaIntegration(function, timeout=cdk.Duration.seconds(29), allow_test_invoke=False),
            authorization_type=apigateway.AuthorizationType.IAM,
        )
        return function

    def create_api_alarms(self, api: apigateway.RestApi, functions: list[lambda_.Function]) -> None:
        minute = cdk.Duration.minutes(1)
        throttles = {f"m{number}": each.metric_throttles(period=minute) for number, each in enumerate(functions)}
        total = f"SUM([{', '.join(f'FILL({name}, 0)' for name in throttles)}])"
        for name, metric, threshold in (
            ("ServerErrors", api.metric_server_error(period=minute, statistic=cloudwatch.Stats.AVERAGE), 0.05),
            ("Throttles", cloudwatch.MathExpression(expression=total, using_metrics=throttles, period=minute), 0),
        ):
            self.create_alarm(name, metric, threshold)


app = cdk.App(builtin_cloud_formation_validation=False)
PlainStack(app, "plain")
app.synth()
