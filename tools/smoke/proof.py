"""Proves that nothing of a run is left: looks for tags, and for names that begin as CloudFormation begins them."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting import DEPLOYMENT_TAG
from slipway.leftovers.search import find
from slipway.shared.aws_clients import Clients
from slipway.shared.aws_errors import sentence
from slipway.stack.deployed_stack import described_stack
from tools.smoke.asking.removal import made_beside
from tools.smoke.asking.stacks import RESERVED

_DESCRIBED_BY = {
    "EndpointName": "describe_endpoint",
    "EndpointConfigName": "describe_endpoint_config",
    "ModelName": "describe_model",
    "InferenceComponentName": "describe_inference_component",
}


def left(names: Iterable[str], seen: Iterable[tuple[str, str]], clients: Clients) -> list[str]:
    """Return each resource that still exists, and each question that AWS refused to answer.

    names: of all stacks. seen: resources of SageMaker that they used.
    """
    names = list(names)
    found = [
        *_asked("stacks", lambda: (f"stack {name}" for name in names if described_stack(name, clients))),
        *_asked("SageMaker", lambda: _still_described(seen, clients("sagemaker"))),
        *_asked("names", lambda: (what for what, _ in made_beside(clients))),
        *(line for name in names for line in _asked(f"the tag of {name}", partial(_tagged, name, clients))),
        *(line for what, look in LOOKS.items() for line in _asked(what, partial(look, names, clients))),
    ]
    return list(dict.fromkeys(found))


def _asked(what: str, look: Callable[[], Iterable[str]]) -> list[str]:
    try:
        return list(look())
    except (BotoCoreError, ClientError) as error:
        return [f"not known, as AWS was asked in vain for {what}: {sentence(error)}"]


def _still_described(seen: Iterable[tuple[str, str]], sagemaker: Any) -> Iterator[str]:
    for member, name in sorted(seen):
        try:
            getattr(sagemaker, _DESCRIBED_BY[member])(**{member: name})
        except ClientError as error:
            if "Could not find" not in str(error):
                raise
        else:
            yield f"{member} {name}"


def _tagged(name: str, clients: Clients) -> Iterator[str]:
    """Endpoints, components, machines, disks, tables, buckets, log groups, keys of APIs and of KMS."""
    known, _ = find(name, clients)  # what it does not know, the tagging API may still list after its end
    yield from (f"{each.kind} {each.name}" for each in known)


def _pages(clients: Clients, service: str, operation: str, **request: Any) -> Iterator[dict[str, Any]]:
    yield from clients(service).get_paginator(operation).paginate(**request)


def _roles(names: list[str], clients: Clients) -> Iterator[str]:
    found = (each["RoleName"] for page in _pages(clients, "iam", "list_roles") for each in page["Roles"])
    return (f"role {name}" for name in found if name.startswith(RESERVED))


def _buckets(names: list[str], clients: Clients) -> Iterator[str]:
    found = (each["Name"] for each in clients("s3").list_buckets()["Buckets"])
    return (f"bucket {name}" for name in found if name.startswith(RESERVED))


def _tables(names: list[str], clients: Clients) -> Iterator[str]:
    found = (name for page in _pages(clients, "dynamodb", "list_tables") for name in page["TableNames"])
    return (f"table {name}" for name in found if name.startswith(RESERVED))


def _api_keys(names: list[str], clients: Clients) -> Iterator[str]:
    pages = _pages(clients, "apigateway", "get_api_keys", nameQuery=RESERVED)
    return (f"API key {each['name']}" for page in pages for each in page["items"])


def _usage_plans(names: list[str], clients: Clients) -> Iterator[str]:
    plans = (each for page in _pages(clients, "apigateway", "get_usage_plans") for each in page["items"])
    return (f"usage plan {each['name']}" for each in plans if each.get("tags", {}).get(DEPLOYMENT_TAG) in names)


def _addresses(names: list[str], clients: Clients) -> Iterator[str]:
    filters = [{"Name": f"tag:{DEPLOYMENT_TAG}", "Values": names}]
    found = clients("ec2").describe_addresses(Filters=filters)["Addresses"]
    return (f"address {each['PublicIp']}" for each in found)


def _dashboards(names: list[str], clients: Clients) -> Iterator[str]:
    pages = _pages(clients, "cloudwatch", "list_dashboards")
    found = (each["DashboardName"] for page in pages for each in page["DashboardEntries"])
    return (f"dashboard {name}" for name in found if name in names or name.startswith(RESERVED))


def _alarms(names: list[str], clients: Clients) -> Iterator[str]:
    pages = _pages(clients, "cloudwatch", "describe_alarms", AlarmNamePrefix=RESERVED)
    found = (each for page in pages for kind in ("MetricAlarms", "CompositeAlarms") for each in page.get(kind, []))
    return (f"alarm {each['AlarmName']}" for each in found)


def _budgets(names: list[str], clients: Clients) -> Iterator[str]:
    account = clients("sts").get_caller_identity()["Account"]
    pages = _pages(clients, "budgets", "describe_budgets", AccountId=account)
    found = (each["BudgetName"] for page in pages for each in page.get("Budgets", []))
    return (f"budget {name}" for name in found if name in names or name.startswith(RESERVED))


LOOKS: dict[str, Callable[[list[str], Clients], Iterator[str]]] = {
    "IAM roles": _roles,
    "buckets": _buckets,
    "tables": _tables,
    "API keys": _api_keys,
    "usage plans": _usage_plans,
    "addresses": _addresses,
    "dashboards": _dashboards,
    "alarms": _alarms,
    "budgets": _budgets,
}
