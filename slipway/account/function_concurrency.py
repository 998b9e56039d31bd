"""Checks the account's quota of functions that run at once."""

from collections.abc import Iterator

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account
from slipway.shared.aws_clients import Clients
from slipway.stack.deployed_stack import described_stack

_MODEL = "calls of the model"
_LEAST_UNRESERVED = 100  # Lambda Developer Guide, "Configuring reserved concurrency"
_AWS_DEFAULT = 1000  # many accounts begin with 10; AWS raises the quota to 1000 on request


def function_concurrency(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that Lambda may run all functions that the deployment needs at once; otherwise callers get 429 and 503.

    A quota that waiting callers and workers can use up is refused: no place would be left for the authorizer, for
    short calls, and for the task of each minute, which ends jobs.
    """
    needs = _needs(deployment)
    needed = sum(needs.values())
    limits = account.clients("lambda").get_account_settings()["AccountLimit"]
    free = int(limits["UnreservedConcurrentExecutions"])
    if reserved := sum(deployment.api.reserved_concurrency.values()):
        free += _reserved_now(report.name, account.clients) - reserved
        if free < _LEAST_UNRESERVED:
            may_run = int(limits["ConcurrentExecutions"])
            problem = (
                f"the account {account.id} may run {may_run} functions at once in {account.region}, and would keep "
                f"{max(free, 0)} of them for functions without a reservation; Lambda refuses less than "
                f"{_LEAST_UNRESERVED}"
            )
            wanted = max(_AWS_DEFAULT, may_run + _LEAST_UNRESERVED - free)
            fix = (
                f"ask Service Quotas for {wanted} 'Concurrent executions' of AWS Lambda (L-B99A9384), or remove the "
                "setting"
            )
            yield Finding("api.reserved_concurrency", problem, fix)
            return
    if free >= needed:
        return
    parts = ", ".join(f"{count} {what}" for what, count in needs.items())
    problem = (
        f"the account {account.id} may run {free} functions at once in {account.region}, for all deployments together; "
        f"this deployment needs up to {needed} ({parts})"
    )
    quota = f"ask Service Quotas for {max(_AWS_DEFAULT, needed)} 'Concurrent executions' of AWS Lambda (L-B99A9384)"
    beside = needed - needs.get(_MODEL, 0)
    if free < beside:
        places = max(0, deployment.jobs.max_waiting - (beside - free))
        problem += "; waiting callers and workers could keep out the functions that admit callers and end jobs"
        yield Finding("jobs.max_waiting", problem, f"{quota}, or use {places}")
    else:
        field = "jobs.max_waiting" if deployment.jobs.enabled else "hosting.scaling.concurrent_requests_per_instance"
        problem += "; callers beyond that are refused"
        yield Finding(field, problem, f"{quota}, or lower the setting", level="warning")


def _needs(deployment: Deployment) -> dict[str, int]:
    """Return the highest number of functions that run at once for more than a moment, by kind of work.

    Functions with a reservation have places of their own.
    """
    jobs, hosting = deployment.jobs, deployment.hosting
    needs: dict[str, tuple[str, int]] = {}
    if hosting.answers_at_once:
        needs["generate"] = (_MODEL, deployment.model_places)
    if jobs.enabled:
        needs["poll_job"] = ("waiting callers", jobs.max_waiting)
        if not hosting.runs_on_machines:  # machines run jobs themselves
            needs["record_result" if hosting.queues_in_sagemaker else "run_job"] = ("workers", deployment.most_workers)
        needs |= {"every_minute": ("task of each minute", 1), "route": ("short call", 1)}
    return dict(need for name, need in needs.items() if name not in deployment.api.reserved_concurrency)


def _reserved_now(stack: str, clients: Clients) -> int:
    """Return what the functions of the deployed stack reserve already."""
    if described_stack(stack, clients) is None:
        return 0
    pages = clients("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
    resources = [each for page in pages for each in page["StackResourceSummaries"]]
    names = [each["PhysicalResourceId"] for each in resources if each["ResourceType"] == "AWS::Lambda::Function"]
    found = (clients("lambda").get_function_concurrency(FunctionName=name) for name in names)
    return sum(each.get("ReservedConcurrentExecutions", 0) for each in found)
