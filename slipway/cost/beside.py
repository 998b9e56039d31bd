"""What bills beside the instances: the API, functions, logs, objects, tables and disks."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from llm_hosting.catalog.prices import service_prices
from slipway.cost.lines import Line
from slipway.cost.metrics import Question, Series
from slipway.cost.months import MonthUntilNow
from slipway.hosting.meter import Metric
from slipway.stack.deployed_stack import DeployedStack

# What no line counts: each is small beside an instance, or no metric tells it.
LEFT_OUT = (
    "instances until their first metric",
    "volumes of endpoints, public addresses of machines",
    "requests to DynamoDB, S3, SQS, SNS and KMS",
    "stored logs and backups of tables",
    "alarms, metrics, dashboards and traces",
    "keys, VPC endpoints, NAT gateways, web ACLs, data transfer",
    "free tiers, discounts, savings plans, taxes",
)
_GB, _MILLION, _MS_OF_SECOND, _MB_OF_GB = 1e9, 1e6, 1000, 1024


class Part(NamedTuple):
    """Questions to CloudWatch, and a function that makes lines of their answers."""

    questions: Sequence[Question]
    lines: Callable[[Sequence[Series]], list[Line]]


def parts_of(stack: DeployedStack, time: MonthUntilNow, disks_in_gb: int) -> Iterator[Part]:
    """Yield a part for each kind of resource that the stack has."""
    prices, ids = service_prices(stack.region), stack.resources
    if stages := ids.get("AWS::ApiGateway::Stage"):
        metric = Metric("AWS/ApiGateway", "Count", {"ApiName": stack.name, "Stage": stages[0]})
        price = prices.api_usd_per_million_requests
        yield _summed([metric], "Sum", Line("API", None, "million requests", price, prices.as_of), _MILLION)
    if stack.functions:
        yield _functions(stack)
    if groups := ids.get("AWS::Logs::LogGroup"):
        metrics = [Metric("AWS/Logs", "IncomingBytes", {"LogGroupName": name}) for name in groups]
        yield _summed(metrics, "Sum", Line("logs written", None, "GB", prices.log_usd_per_gb, prices.as_of), _GB)
    if buckets := ids.get("AWS::S3::Bucket"):
        metrics = [
            Metric("AWS/S3", "BucketSizeBytes", {"BucketName": name, "StorageType": "StandardStorage"})
            for name in buckets
        ]
        line = Line("objects", None, "GB months", prices.object_usd_per_gb_and_month, prices.as_of)
        yield _summed(metrics, "Average", line, _GB * time.days)  # a value a day
    share = time.share_since(stack.created)
    if tables := ids.get("AWS::DynamoDB::Table"):
        held = sum(_bytes_of_table(name, stack) for name in tables) / _GB * share
        yield _known(Line("tables", held, "GB months", prices.table_usd_per_gb_and_month, prices.as_of))
    if disks_in_gb:
        price = prices.volume_usd_per_gb_and_month
        yield _known(Line("disks", disks_in_gb * share, "GB months", price, prices.as_of))


def _functions(stack: DeployedStack) -> Part:
    """Return the calls of all functions, and their time by memory. They share one architecture."""
    prices, functions = service_prices(stack.region), stack.functions
    is_arm = functions[0].get("Architectures") == ["arm64"]
    per_gb_second = prices.arm_function_usd_per_gb_second if is_arm else prices.function_usd_per_gb_second

    def lines(answers: Sequence[Series]) -> list[Line]:
        calls, times = ([sum(each.values()) for each in answers[first::2]] for first in (0, 1))
        memory = [each["MemorySize"] / _MB_OF_GB for each in functions]
        seconds = sum(gb * ms / _MS_OF_SECOND for gb, ms in zip(memory, times, strict=True))
        price = prices.function_usd_per_million_calls
        return [
            Line("function calls", sum(calls) / _MILLION, "million calls", price, prices.as_of),
            Line("function time", seconds, "GB seconds", per_gb_second, prices.as_of),
        ]

    metrics = [
        Metric("AWS/Lambda", name, {"FunctionName": each["FunctionName"]})
        for each in functions
        for name in ("Invocations", "Duration")
    ]
    return Part([Question(each, "Sum") for each in metrics], lines)


def _summed(metrics: Sequence[Metric], statistic: str, line: Line, unit: float) -> Part:
    """Return a part whose line has the sum of all values, divided by `unit`."""

    def lines(answers: Sequence[Series]) -> list[Line]:
        return [line._replace(amount=sum(sum(each.values()) for each in answers) / unit)]

    return Part([Question(each, statistic) for each in metrics], lines)


def _known(line: Line) -> Part:
    return Part([], lambda answers: [line])


def _bytes_of_table(name: str, stack: DeployedStack) -> int:
    """Return the size of a table, which DynamoDB counts every six hours or so."""
    return int(stack.clients("dynamodb").describe_table(TableName=name)["Table"]["TableSizeBytes"])
