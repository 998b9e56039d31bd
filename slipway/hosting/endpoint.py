"""Reads a SageMaker endpoint for verify, status, logs and list."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from llm_hosting import ENDPOINT_LOGS
from llm_hosting.catalog.instances import instances
from slipway.account.endpoint_quota import instances_of, is_endpoint_of
from slipway.hosting.check import NOT_DEPLOYED, Check
from slipway.hosting.meter import Meter, Metric
from slipway.stack.deployed_stack import DeployedStack

_NAMESPACE = "AWS/SageMaker"


class DeployedEndpoint:
    """The endpoint of a stack with `hosting.mode: realtime` or `async`. at_zero: what `verify` says of no instances."""

    log_parts: tuple[str, ...] = ()
    first_of_start = "capacity and image, and weights that are staged"
    at_zero = "no instance has run this configuration yet; a job below may start one"

    def __init__(self, stack: DeployedStack) -> None:
        self._stack = stack

    @property
    def may_sleep(self) -> bool:
        return False

    @property
    def log_group(self) -> str:
        return f"{ENDPOINT_LOGS}{self._stack.endpoint_name}"

    @property
    def failure(self) -> str:
        return self._endpoint_failure

    @property
    def _endpoint_failure(self) -> str:
        return str((self._stack.endpoint or {}).get("FailureReason") or "")

    @property
    def running(self) -> Counter[str]:
        endpoint = self._stack.endpoint
        return instances_of(endpoint, self._stack.clients("sagemaker")) if endpoint else Counter()

    @property
    def takes_calls(self) -> bool:
        return self._stack.endpoint is not None and self._service().good

    @property
    def is_scaling(self) -> bool:
        """Whether instances may start or end now although all is well."""
        return False

    @property
    def calls(self) -> Metric | None:
        return Metric(_NAMESPACE, "ModelLatency", self._dimensions) if self._variant else None

    def calls_by_model(self) -> dict[str, Metric]:
        return {self._stack.label.model: self.calls} if self.calls else {}

    def meters(self) -> list[Meter]:
        """Return the meter of the endpoint. Each instance reports its CPU once a minute, also while nobody calls."""
        if self._variant is None:
            return []
        types = tuple(each["InstanceType"] for each in self._variant.get("InstancePools", [self._variant]))
        pools = {
            name: Metric(_NAMESPACE, "ConcurrentRequestsPerModel", {**self._dimensions, "InstanceType": name})
            for name in types
        }
        metric = Metric("/aws/sagemaker/Endpoints", "CPUUtilization", self._dimensions)
        return [Meter(metric, types, samples_per_hour=60, by_type=pools if len(types) > 1 else {})]

    @property
    def _dimensions(self) -> dict[str, str]:
        assert self._variant
        return {"EndpointName": self._stack.endpoint_name, "VariantName": self._variant["VariantName"]}

    @cached_property
    def _variant(self) -> dict[str, Any] | None:
        """The variant of the endpoint's configuration; None = there is no endpoint."""
        if (endpoint := self._stack.endpoint) is None:
            return None
        name = endpoint["EndpointConfigName"]
        described = self._stack.clients("sagemaker").describe_endpoint_config(EndpointConfigName=name)
        (variant,) = described["ProductionVariants"]
        return dict(variant)

    def checks(self) -> Iterator[Check]:
        """Check the endpoint and, if it exists, its configuration and its instances."""
        yield self._service()
        if endpoint := self._stack.endpoint:
            yield from (configuration(self._stack, endpoint), self._instances(endpoint))

    def still_billing(self) -> Check:
        """Check for endpoints of earlier stacks, which bill by the hour."""
        name = self._stack.name
        pages = self._stack.clients("sagemaker").get_paginator("list_endpoints").paginate(NameContains=f"{name}-")
        names = [each["EndpointName"] for page in pages for each in page["Endpoints"]]
        others = sorted(each for each in names if is_endpoint_of(name, each) and each != self._stack.endpoint_name)
        if not others:
            return Check("still billing", True, "no endpoint of an earlier stack")
        fix = f"aws sagemaker delete-endpoint --endpoint-name {others[0]}"
        return Check("still billing", False, f"{', '.join(others)} of an earlier stack", fix)

    def state(self) -> dict[str, Any]:
        endpoint = self._stack.endpoint
        counts = dict(self.running)
        variants = (endpoint or {}).get("ProductionVariants", [])
        return {
            "endpoint": endpoint and {"name": self._stack.endpoint_name, "status": endpoint["EndpointStatus"]},
            "instances": {
                "current": sum(variant.get("CurrentInstanceCount", 0) for variant in variants),
                "desired": sum(variant.get("DesiredInstanceCount", 0) for variant in variants),
                "types": counts,
            },
            "usd_per_hour": _price(counts),
        }

    def cost(self, state: dict[str, Any]) -> str:
        count, types = state["instances"], state["instances"]["types"]
        prices = [instances()[name].price(number, number) for name, number in types.items() if name in instances()]
        if not count["current"]:
            return "no instance runs"
        running = " and ".join(filter(None, prices)) or "not known"
        return self._stack.price(f"{running} for the instances that run now")

    def lines(self, state: dict[str, Any]) -> Iterator[tuple[str, str]]:
        endpoint, count = state["endpoint"], state["instances"]
        none = "there is none" if self._stack.deploys_endpoint else NOT_DEPLOYED
        yield "endpoint", f"{endpoint['name']}: {endpoint['status']}" if endpoint else none
        types = ", ".join(f"{number} x {name}" for name, number in count["types"].items())
        yield "instances", f"{count['current']} of {count['desired']}" + (f": {types}" if types else "")
        yield "cost", self.cost(state)

    def backlog(self) -> dict[str, int]:
        """Count the jobs in SageMaker's own queue of an asynchronous endpoint, by CloudWatch's newest figure."""
        if "AsyncInferenceConfig" not in (self._stack.endpoint or {}):
            return {}
        now = datetime.now(UTC)
        points = self._stack.clients("cloudwatch").get_metric_statistics(
            Namespace=_NAMESPACE,
            MetricName="ApproximateBacklogSize",
            Dimensions=[{"Name": "EndpointName", "Value": self._stack.endpoint_name}],
            StartTime=now - timedelta(minutes=10),
            EndTime=now,
            Period=60,
            Statistics=["Maximum"],
        )["Datapoints"]
        return {"backlog": int(max(points, key=lambda point: point["Timestamp"])["Maximum"]) if points else 0}

    def _service(self) -> Check:
        endpoint, name = self._stack.endpoint, self._stack.endpoint_name
        if endpoint is None and not self._stack.deploys_endpoint:
            return Check("endpoint", True, NOT_DEPLOYED)
        if endpoint is None:
            return Check("endpoint", False, f"there is no endpoint {name}", "deploy again")
        status = endpoint["EndpointStatus"]
        seen = f"{name} is {status}" + (f": {self._endpoint_failure}" if self._endpoint_failure else "")
        if status == "InService" and not self._endpoint_failure:
            return Check("endpoint", True, seen)
        is_busy = status in ("Creating", "Updating", "SystemUpdating", "RollingBack", "Deleting")
        fix = "wait until SageMaker is done" if is_busy else f"read `slipway logs {self._stack.name}`"
        return Check("endpoint", False, seen, fix)

    def _instances(self, endpoint: dict[str, Any]) -> Check:
        variants = endpoint.get("ProductionVariants", [])
        current, desired = (
            sum(variant.get(f"{which}InstanceCount", 0) for variant in variants) for which in ("Current", "Desired")
        )
        seen = f"{current} of {desired}"
        if desired == 0 and variants:
            seen += f": {self.at_zero}"
        fix = "wait until scaling is done; if the count stays the same, AWS has no free instance of the type"
        return Check("instances", bool(variants) and (current == desired or self.is_scaling), seen, fix)


def configuration(stack: DeployedStack, endpoint: dict[str, Any]) -> Check:
    """Check that the endpoint runs the stack's configuration. SageMaker may have rolled back without telling
    CloudFormation.
    """
    live = str(endpoint["EndpointConfigName"])
    # The physical ids are ARNs, which SageMaker writes in lower case.
    own = [each.rpartition("/")[2].lower() for each in stack.resources.get("AWS::SageMaker::EndpointConfig", [])]
    if live.lower() in own:
        return Check("configuration", True, f"{live}, the stack's own")
    fix = (
        "SageMaker has rolled the update back; fix the deployment and deploy it again now: the update has removed the "
        "permission to read the image, weights or handler that it replaced, so SageMaker cannot start new instances of "
        "the old configuration"
    )
    return Check("configuration", False, f"the endpoint runs {live}; the stack's is {' or '.join(own) or 'none'}", fix)


def _price(counts: dict[str, int]) -> float | None:
    """Return USD an hour of the instances that run now; None = the price of a type is not known."""
    prices = [instances()[name].usd_per_hour if name in instances() else None for name in counts]
    if None in prices:
        return None
    return round(sum(price * count for price, count in zip(prices, counts.values(), strict=True) if price), 2)
