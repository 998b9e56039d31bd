"""Checks the account's quota of endpoint instances, of which other endpoints may use a part."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting import COMPONENT_ENDPOINT_SUFFIX
from llm_hosting.deployment.finding import Finding, Level
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account
from slipway.account.machine_quota import machine_quota
from slipway.shared.aws_errors import sentence

_FIELD = "hosting.instance_type"
_GONE = ("Deleting", "Failed", "OutOfService")
_MOST_ENDPOINTS = 100  # each costs two calls


def service_quota(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that the quota has room for the deployment's instances beside those of other endpoints."""
    if deployment.hosting.runs_on_machines:
        yield from machine_quota(deployment, report, account)
        return
    quotas = {f"{name} for endpoint usage": name for name in deployment.hosting.instance_types}
    values = quota_values(list(quotas), account.clients("service-quotas"))
    used: Counter[str] = Counter()
    try:
        used = _instances_of_others(report.name, account.clients("sagemaker"))
    except (BotoCoreError, ClientError) as error:
        yield Finding(_FIELD, f"the instances of other endpoints are not counted: {sentence(error)}", level="unknown")
    count, rolling = deployment.hosting.instance_count, deployment.hosting.rolling
    free = {name: values[quota] - used[name] for quota, name in quotas.items() if quota in values}
    may_start = any(left >= max(1, count.min) for left in free.values())
    for wanted in report.quotas:
        name = quotas[wanted.name]
        if name not in free:
            yield Finding(
                _FIELD,
                f"Service Quotas does not list {wanted.name!r} in {account.region}",
                "check the Service Quotas console",
                level="unknown",
            )
            continue
        left = free[name]
        others = f", of which other endpoints use {used[name]}" if used[name] else ""
        has = (
            f"{name}: the account {account.id} may run {values[wanted.name]} for endpoints in {account.region}{others}"
        )
        fix = f"ask Service Quotas for {wanted.instances + used[name]} of {wanted.name!r}"
        if left < max(1, count.min):
            level: Level = "warning" if may_start else "error"
            yield Finding(_FIELD, f"{has}; that is too few to start {max(1, count.min)}", fix, level=level)
        elif left < count.max:
            yield Finding(
                _FIELD, f"{has}; scaling would stop at {left} of {count.max}, and an update fail", fix, level="warning"
            )
        elif left < wanted.instances:
            needs = f"one more batch, {rolling.batch}," if rolling else "old and new side by side"
            yield Finding(_FIELD, f"{has}; an update needs {needs} and would fail", fix, level="warning")


def quota_values(names: Sequence[str], quotas: Any) -> dict[str, int]:
    """Return the quotas' values by name, without names that Service Quotas does not list."""
    values: dict[str, int] = {}
    # The second list holds the quotas that were never raised for this account.
    for operation in ("list_service_quotas", "list_aws_default_service_quotas"):
        for page in quotas.get_paginator(operation).paginate(ServiceCode="sagemaker"):
            for quota in page["Quotas"]:
                if quota["QuotaName"] in names:
                    values.setdefault(quota["QuotaName"], int(quota["Value"]))
            if len(values) == len(set(names)):
                return values
    return values


def _instances_of_others(deployment: str, sagemaker: Any) -> Counter[str]:
    """Count, by type, the instances of up to 100 endpoints that do not belong to this deployment's stack."""
    used: Counter[str] = Counter()
    for name in _endpoints(sagemaker):
        if not is_endpoint_of(deployment, name):
            endpoint = sagemaker.describe_endpoint(EndpointName=name)
            used.update(instances_of(endpoint, sagemaker))
    return used


def is_endpoint_of(deployment: str, name: str) -> bool:
    """Return whether an endpoint of this name is that of the deployment's stack, or of an earlier stack."""
    pattern = rf"{re.escape(deployment)}-[0-9a-f]{{8}}({re.escape(COMPONENT_ENDPOINT_SUFFIX)})?"
    return re.fullmatch(pattern, name, re.IGNORECASE) is not None


def _endpoints(sagemaker: Any) -> Iterator[str]:
    pages = sagemaker.get_paginator("list_endpoints").paginate(PaginationConfig={"MaxItems": _MOST_ENDPOINTS})
    for page in pages:
        yield from (each["EndpointName"] for each in page["Endpoints"] if each["EndpointStatus"] not in _GONE)


def instances_of(endpoint: dict[str, Any], sagemaker: Any) -> Counter[str]:
    """Count the endpoint's instances by type.

    A variant with several types has a pool for each; the type of any other variant is in the configuration.
    """
    used: Counter[str] = Counter()
    counts = {}
    for variant in endpoint.get("ProductionVariants", []):
        pools = variant.get("InstancePools", [])
        for pool in pools:
            used[pool["InstanceType"]] += pool.get("CurrentInstanceCount", 0)
        if not pools and variant.get("CurrentInstanceCount"):
            counts[variant["VariantName"]] = variant["CurrentInstanceCount"]
    if counts:
        config = sagemaker.describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
        for variant in config["ProductionVariants"]:
            if "InstanceType" in variant:
                used[variant["InstanceType"]] += counts.get(variant["VariantName"], 0)
    return used
