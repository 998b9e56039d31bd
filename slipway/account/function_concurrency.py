"""Checks the account's quota of functions that run at once."""

from collections.abc import Iterator

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

_MODEL = "calls of the model"
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
    """Return the highest number of functions that run at once for more than a moment, by kind of work."""
    needs = {}
    if deployment.hosting.answers_at_once:
        needs[_MODEL] = deployment.model_places
    if deployment.jobs.enabled:
        # Machines run jobs themselves.
        workers = {} if deployment.hosting.runs_on_machines else {"workers": deployment.most_workers}
        needs |= {"waiting callers": deployment.jobs.max_waiting, **workers, "task of each minute": 1, "short call": 1}
    return needs
