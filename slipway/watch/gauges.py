"""The metrics of a service that its page in the terminal shows."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from llm_hosting.catalog.instances import instances
from slipway.cost.metrics import Question, answers
from slipway.hosting.hosting import DeployedHosting
from slipway.hosting.meter import Metric
from slipway.operations.dashboard import OUTPUT as DASHBOARD
from slipway.stack.deployed_stack import DeployedStack

PERIOD, WINDOW = timedelta(minutes=1), timedelta(minutes=15)
_USD_PER_METRIC = 0.01 / 1000  # of GetMetricData
_SUM, _MOST, _AVERAGE, _HALF, _SLOWEST = "Sum", "Maximum", "Average", "p50", "p99"
_IN_SECONDS = {"Latency": 1e-3, "ModelLatency": 1e-6}
_IN_PERCENT = {"GPU": "gpu_in_percent", "GPUMemory": "gpu_memory_in_percent"}


class Gauge(NamedTuple):
    """A metric by its name on the page; `factor` turns its values into the page's unit."""

    name: str
    metric: Metric
    statistic: str
    factor: float = 1


Readings = dict[str, list[float | None]]  # by gauge: a value for each minute, the oldest first; None = no data


def gauges_of(stack: DeployedStack, hosting: DeployedHosting) -> list[Gauge]:
    """Return the gauges of a stack, as far as it is deployed."""
    return [*_of_api(stack), *_of_model(stack, hosting), *_of_hardware(hosting), *_of_jobs(stack)]


def read(stack: DeployedStack, gauges: Sequence[Gauge]) -> Readings:
    """Read all gauges with one call. Raises boto3's errors."""
    ended = stack.now.replace(second=0, microsecond=0) + PERIOD
    begun = ended - WINDOW
    questions = [Question(each.metric, each.statistic, PERIOD) for each in gauges]
    found = answers(questions, begun, ended, stack.clients("cloudwatch")) if gauges else []
    minutes = [begun + number * PERIOD for number in range(WINDOW // PERIOD)]
    return {
        gauge.name: [None if (value := series.get(each)) is None else value * gauge.factor for each in minutes]
        for gauge, series in zip(gauges, found, strict=True)
    }


def _of_api(stack: DeployedStack) -> Iterator[Gauge]:
    if not (stages := stack.resources.get("AWS::ApiGateway::Stage")):
        return
    named = {"ApiName": stack.name, "Stage": stages[0]}

    def gauge(name: str, metric: str, statistic: str) -> Gauge:
        return Gauge(name, Metric("AWS/ApiGateway", metric, named), statistic, _IN_SECONDS.get(metric, 1))

    yield gauge("requests", "Count", "SampleCount")
    yield gauge("server_errors", "5XXError", _SUM)
    yield gauge("caller_errors", "4XXError", _SUM)
    yield gauge("gateway_p50_in_s", "Latency", _HALF)
    yield gauge("gateway_p99_in_s", "Latency", _SLOWEST)


def _of_model(stack: DeployedStack, hosting: DeployedHosting) -> Iterator[Gauge]:
    calls = hosting.calls
    if stack.api_url and calls and calls.name == "ModelLatency":
        yield Gauge("model_p50_in_s", calls, _HALF, _IN_SECONDS[calls.name])
        yield Gauge("model_p99_in_s", calls, _SLOWEST, _IN_SECONDS[calls.name])
        if not _is_asynchronous(stack):
            by = "Copy" if "InferenceComponentName" in calls.dimensions else "Model"
            concurrent = Metric(calls.namespace, f"ConcurrentRequestsPer{by}", calls.dimensions)
            yield Gauge("requests_at_once", concurrent, _MOST)
            yield from _of_streams(stack)


def _of_hardware(hosting: DeployedHosting) -> Iterator[Gauge]:
    for meter in hosting.meters():
        # SageMaker's values are sums over all accelerators of an instance.
        types = [instances()[name] for name in meter.types if name in instances()]
        accelerators = max((each.accelerator_count for each in types), default=0)
        if meter.metric.namespace == "/aws/sagemaker/Endpoints" and accelerators:
            for name in ("GPU", "GPUMemory"):
                metric = meter.metric._replace(name=f"{name}Utilization")
                yield Gauge(_IN_PERCENT[name], metric, _AVERAGE, 1 / accelerators)


def _of_streams(stack: DeployedStack) -> Iterator[Gauge]:
    """Yield those that the functions write only for a service with a dashboard."""
    if DASHBOARD in stack.outputs:
        named = {"Deployment": stack.name}
        yield Gauge("first_token_p50_in_s", Metric("Slipway", "FirstTokenSeconds", named), _HALF)
        yield Gauge("first_token_p99_in_s", Metric("Slipway", "FirstTokenSeconds", named), _SLOWEST)
        yield Gauge("tokens_per_second_p50", Metric("Slipway", "TokensPerSecond", named), _HALF)


def _of_jobs(stack: DeployedStack) -> Iterator[Gauge]:
    if "JobTable" not in stack.outputs:
        return
    named = {"Deployment": stack.name}

    def gauge(name: str, metric: str, statistic: str) -> Gauge:
        return Gauge(name, Metric("Slipway", metric, named), statistic)

    yield gauge("jobs_accepted", "JobsAccepted", _SUM)
    yield gauge("jobs_ended", "JobsEnded", _SUM)
    yield gauge("jobs_failed", "JobFailed", _SUM)
    yield gauge("job_p50_in_s", "JobSeconds", _HALF)
    if _is_asynchronous(stack):
        oldest = Metric("AWS/SageMaker", "ApproximateAgeOfOldestRequest", {"EndpointName": stack.endpoint_name})
    else:
        oldest = Metric("AWS/SQS", "ApproximateAgeOfOldestMessage", {"QueueName": stack.outputs["JobQueue"]})
    yield Gauge("oldest_job_in_s", oldest, _MOST)


def _is_asynchronous(stack: DeployedStack) -> bool:
    return "AsyncInferenceConfig" in (stack.endpoint or {})


def price_per_hour(gauges: int, interval_in_seconds: int) -> float:
    """Return the USD that CloudWatch takes for an hour of these questions."""
    return gauges * _USD_PER_METRIC * 3600 / interval_in_seconds
