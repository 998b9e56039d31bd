"""What the dashboard of an account shows: all services. It searches for them, so new ones appear by themselves."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from llm_hosting.api.inference_api import STAGE
from llm_hosting.dashboard.panel import Panel, Question, graph
from llm_hosting.endpoint.variant import VARIANT_NAME

_API = f'{{AWS/ApiGateway,ApiName,Stage}} Stage="{STAGE}"'
_ENDPOINT = f'EndpointName,VariantName}} VariantName="{VARIANT_NAME}"'
_MODEL, _INSTANCES = f"{{AWS/SageMaker,{_ENDPOINT}", f"{{/aws/sagemaker/Endpoints,{_ENDPOINT}"
_COMPONENT, _SERVICE = "{AWS/SageMaker,InferenceComponentName}", "{Slipway,Deployment}"
_FIVE_MINUTES, _HOUR = 300, 3600
_BY_API, _BY_ENDPOINT, _BY_COMPONENT, _BY_SERVICE = (
    f"${{PROP('Dim.{each}')}}" for each in ("ApiName", "EndpointName", "InferenceComponentName", "Deployment")
)


def account_panels(regions: Sequence[str]) -> list[Panel]:
    """Return the panels of all services in some regions of the account."""

    def search(title: str, unit: str, *searches: tuple[str, str, str, str]) -> cloudwatch.GraphWidget:
        """Return a line for each series that is found. searches: each a label, a schema, a metric and a statistic."""
        found = [
            cloudwatch.MathExpression(
                expression=_searched(schema, metric, statistic),
                label=f"{label} ${{PROP('Region')}}" if len(regions) > 1 else label,
                search_region=region,
                using_metrics={},
            )
            for label, schema, metric, statistic in searches
            for region in regions
        ]
        return graph(title, *found, unit=unit)

    alarms = f"https://{cdk.Aws.REGION}.console.aws.amazon.com/cloudwatch/home?region={cdk.Aws.REGION}#alarmsV2:"
    return [
        Panel(
            Question.UP,
            f"Other APIs with a stage {STAGE}, endpoints with a variant {VARIANT_NAME} and all inference components "
            "are shown, too; "
            f"[the alarms of the region]({alarms}) say more, and each service has a dashboard if it asks for one.",
            [
                search("Requests", "requests", (_BY_API, _API, "Count", "SampleCount")),
                search("Share answered with 5XX", "share", (_BY_API, _API, "5XXError", "Average")),
                search("Share answered with 4XX", "share", (_BY_API, _API, "4XXError", "Average")),
            ],
        ),
        Panel(
            Question.FAST,
            "Nine of ten requests are faster than these lines; the time to the first token is that of services with a "
            "dashboard of their own.",
            [
                search("Gateway, p90", "milliseconds", (_BY_API, _API, "Latency", "p90")),
                search(
                    "Model, p90",
                    "microseconds",
                    (_BY_ENDPOINT, _MODEL, "ModelLatency", "p90"),
                    (_BY_COMPONENT, _COMPONENT, "ModelLatency", "p90"),
                ),
                search("Time to first token, p90", "seconds", (_BY_SERVICE, _SERVICE, "FirstTokenSeconds", "p90")),
            ],
        ),
        Panel(
            Question.FULL,
            "A model is full if its busiest copy has as many requests as scaling aims at, and runs no more instances.",
            [
                search(
                    "Requests on the busiest copy",
                    "requests",
                    (_BY_ENDPOINT, _MODEL, "ConcurrentRequestsPerModel", "Maximum"),
                    (_BY_COMPONENT, _COMPONENT, "ConcurrentRequestsPerCopy", "Maximum"),
                ),
                search("GPU", "%", (_BY_ENDPOINT, _INSTANCES, "GPUUtilization", "Average")),
            ],
        ),
        Panel(
            Question.JOBS,
            "Jobs that the sweeper ends have lost their worker or missed their deadline.",
            [
                search("Jobs accepted", "jobs", (_BY_SERVICE, _SERVICE, "JobsAccepted", "Sum")),
                search("Jobs failed or expired", "jobs", (_BY_SERVICE, _SERVICE, "JobFailed", "Sum")),
                search("Jobs ended by the sweeper", "jobs", (_BY_SERVICE, _SERVICE, "JobsEndedBySweeper", "Sum")),
            ],
        ),
        Panel(
            Question.COST,
            "Instances bill by the hour, with and without requests; machines and tokens are those of services with a "
            "dashboard of their own, and `slipway list` has prices.",
            [
                search(
                    "Instances and machines",
                    "in each hour",
                    (_BY_ENDPOINT, _INSTANCES, "CPUUtilization", "SampleCount"),
                    (_BY_SERVICE, _SERVICE, "MachinesAwake", "Sum"),
                ),
                search("Tokens of prompts", "tokens", (_BY_SERVICE, _SERVICE, "TokensIn", "Sum")),
                search("Tokens of answers", "tokens", (_BY_SERVICE, _SERVICE, "TokensOut", "Sum")),
            ],
        ),
    ]


def _searched(schema: str, metric: str, statistic: str) -> str:
    """Return the search. What is counted once a minute becomes its number, as an average of each hour."""
    if metric in ("CPUUtilization", "MachinesAwake"):
        return f"""SEARCH('{schema} MetricName="{metric}"', '{statistic}', {_HOUR}) / 60"""
    return f"""SEARCH('{schema} MetricName="{metric}"', '{statistic}', {_FIVE_MINUTES})"""
