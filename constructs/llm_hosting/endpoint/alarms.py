"""Alarms on the metrics of a SageMaker endpoint."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from ..alarm_group import AlarmGroup, percent
from ..dashboard.panel import Panel, Question, graph, metric, percentiles
from ..deployment.settings.operating import Alarms
from ..surroundings import Surroundings

_NAMESPACE = "AWS/SageMaker"
CALLS_OF_FUNCTIONS = ("Slipway", "ModelTimeouts")  # each call counts 1 or 0, by EndpointConfigName
# What a dashboard calls the failures of a real-time model.
FAILED_CALLS = {"InvocationModelErrors": "not answered with 2XX", "Invocation5XXErrors": "answered with 5XX"}
_NEARLY_ALL = 0.99
_LONGEST_CALL = 480 * 1_000_000  # microseconds: SageMaker ends a stream after 8 minutes


class AlarmSpec(NamedTuple):
    """An alarm that goes off when `breaching` of the last three minutes are above the threshold.

    means: what happened then, with `{seconds}` for a threshold in microseconds. rollback_threshold: above it the alarm
    also rolls an update back; None for a metric that callers can raise.
    """

    construct_id: str
    metric_name: str
    statistic: str
    threshold: float
    means: str
    breaching: int = 2
    rollback_threshold: float | None = None


class EndpointAlarms(AlarmGroup):
    """The alarms of an endpoint.

    dimensions: `EndpointName` and `VariantName`; of a component `InferenceComponentName` alone. With
    `EndpointConfigName` the alarms see only the instances of that configuration during an update.
    notifies: whether they notify the topic of the service.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        dimensions: dict[str, str],
        specs: Sequence[AlarmSpec],
        surroundings: Surroundings,
        notifies: bool = True,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            topic=surroundings.alarm_topic if notifies else None,
            runbook_url=surroundings.runbook_url,
        )
        for spec in specs:
            metric = cloudwatch.Metric(
                namespace=_NAMESPACE,
                metric_name=spec.metric_name,
                dimensions_map=dimensions,
                statistic=spec.statistic,
                period=Duration.minutes(1),
            )
            means = spec.means.format(seconds=f"{spec.threshold / 1_000_000:g}")
            self.add(spec.construct_id, metric, spec.threshold, periods=3, breaching=spec.breaching, means=means)

    def add_idle(
        self,
        of_calls: dict[str, str],
        of_instances: dict[str, str],
        hours: int,
        *,
        counted_by: tuple[str, str] = (_NAMESPACE, "ModelLatency"),
    ) -> cloudwatch.Alarm:
        """Add an alarm that goes off when instances have run for this many hours without a request.

        of_calls, of_instances: the dimensions of the metrics of requests, and of those of instances. counted_by:
        namespace and name of a metric with a value for each request.
        Real-time and asynchronous endpoints have both metrics. Without requests or instances a metric has no data.
        """
        count, hour = cloudwatch.Stats.SAMPLE_COUNT, Duration.hours(1)
        metrics = {
            "calls": (*counted_by, of_calls),
            "running": ("/aws/sagemaker/Endpoints", "CPUUtilization", of_instances),
        }
        idle = cloudwatch.MathExpression(
            expression="IF(running > 0 AND FILL(calls, 0) < 1, 1, 0)",
            period=hour,
            using_metrics={
                name: cloudwatch.Metric(
                    namespace=namespace, metric_name=metric, dimensions_map=dimensions, statistic=count, period=hour
                )
                for name, (namespace, metric, dimensions) in metrics.items()
            },
        )
        means = "instances ran and cost money, and nobody called the model"
        return self.add("Idle", idle, 0, periods=hours, breaching=hours, means=means)

    def add_model_failures(self, configuration: str, error_rate: float) -> None:
        """Add alarms on failed calls of one configuration, which undo its update.

        SageMaker's own shares of 4XX and 5XX include callers' mistakes, which LMI answers with 424 and 500. A timeout
        may be one, too: an update rolls back only if no call is answered in time for three minutes.
        """
        for name, most, breaching, failed in (
            ("ModelFailures", error_rate, 2, "failed in"),
            ("ModelTimeouts", _NEARLY_ALL, 3, "was too slow for"),
        ):
            means = f"the model {failed} more than {percent(most)} of its calls, which undoes an update"
            self.add(name, share_of_calls(name, configuration), most, periods=3, breaching=breaching, means=means)


def realtime_alarms(settings: Alarms, *, takes_jobs: bool) -> tuple[AlarmSpec, ...]:
    """Return a real-time endpoint's alarms: on the shares of 5XX answers and of all errors, and on the p99 of latency.

    Each invocation counts 1 or 0, so that the average is the share, without metric math. A job may take 60 s, so with
    jobs no latency rolls an update back. The alarm exists all the same, because a changed list of alarms alone would be
    an update of the endpoint, with new instances.
    """
    latency = settings.latency_in_seconds * 1_000_000  # microseconds
    average, p99 = cloudwatch.Stats.AVERAGE, cloudwatch.Stats.percentile(99)
    return (
        errors_of(settings),
        AlarmSpec(
            "Failures",
            "InvocationModelErrors",
            average,
            settings.failure_rate,
            f"more than {percent(settings.failure_rate)} of the model's answers were no 2XX",
        ),
        AlarmSpec(
            "Latency",
            "ModelLatency",
            p99,
            latency,
            "the slowest 1 % of the model's answers took more than {seconds} s",
            rollback_threshold=_LONGEST_CALL if takes_jobs else latency,
        ),
    )


def latency_panel(dimensions: dict[str, str], adapters: Mapping[str, dict[str, str]] | None = None) -> Panel:
    """Return the model's latency. adapters: the dimensions of each LoRA adapter that is a component, by its name."""
    of_adapters = [
        metric(_NAMESPACE, "ModelLatency", of_one, cloudwatch.Stats.percentile(90), label=f"{name}, p90")
        for name, of_one in (adapters or {}).items()
    ]
    return Panel(
        Question.FAST,
        "The model's latency is the time that the container takes for an invocation.",
        [
            graph("Model", *percentiles(model_latency(dimensions)), unit="microseconds"),
            *([graph("Adapters", *of_adapters, unit="microseconds")] if of_adapters else []),
        ],
    )


def error_panel(dimensions: dict[str, str], names: Mapping[str, str]) -> Panel:
    """Return the failed invocations. names: of SageMaker's metrics, with what a reader calls them."""
    failed = [metric(_NAMESPACE, name, dimensions, cloudwatch.Stats.SUM, label) for name, label in names.items()]
    return Panel(
        Question.UP,
        "Invocations fail by a caller's mistake, too, because LMI answers some of them with 424.",
        [graph("Failed invocations", *failed, unit="invocations")],
    )


def errors_of(settings: Alarms) -> AlarmSpec:
    """Return an endpoint's alarm on the share of 5XX answers."""
    means = f"more than {percent(settings.error_rate)} of the model's answers were 5XX"
    return AlarmSpec("Errors", "Invocation5XXErrors", cloudwatch.Stats.AVERAGE, settings.error_rate, means)


def share_of_calls(name: str, counter: str) -> cloudwatch.Metric:
    """Return the share of calls that failed or timed out, as the functions count them (`deployed_engine.count_call`).

    name: ModelFailures or ModelTimeouts. counter: the name of the configuration, or of the component on a shared
    endpoint.
    """
    return cloudwatch.Metric(
        namespace="Slipway",
        metric_name=name,
        dimensions_map={"EndpointConfigName": counter},
        statistic=cloudwatch.Stats.AVERAGE,
        period=Duration.minutes(1),
    )


def model_latency(dimensions: dict[str, str]) -> cloudwatch.Metric:
    """Return the time that a container takes for an invocation, in microseconds."""
    return cloudwatch.Metric(
        namespace=_NAMESPACE,
        metric_name="ModelLatency",
        dimensions_map=dimensions,
        statistic=cloudwatch.Stats.percentile(99),
        period=Duration.minutes(1),
    )
