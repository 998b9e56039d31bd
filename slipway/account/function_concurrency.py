"""The account's quota of functions that run at once, beside the deployment's needs."""

from collections.abc import Iterator

from llm_hosting.deployment import Deployment
from llm_hosting.finding import Finding
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

_AWS_DEFAULT = 1000  # many accounts begin with 10, and get this much for the asking


def function_concurrency(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Lambda may run the deployment's functions side by side; otherwise callers get 429 and 503."""
    needs = _needs(deployment)
    needed = sum(needs.values())
    limits = account.clients("lambda").get_account_settings()["AccountLimit"]
    free = int(limits["UnreservedConcurrentExecutions"])
    if free < needed:
        field = "jobs.max_waiting" if deployment.jobs.enabled else "hosting.scaling.concurrent_requests_per_instance"
        parts = ", ".join(f"{count} {what}" for what, count in needs.items())
        yield Finding(
            field,
            f"the account {account.id} may run {free} functions at once in {account.region}, all deployments together, "
            f"and this one up to {needed} ({parts}); callers beyond that are refused",
            f"ask Service Quotas for {max(_AWS_DEFAULT, needed)} 'Concurrent executions' of AWS Lambda (L-B99A9384), "
            "or lower the setting",
            level="warning",
        )


def _needs(deployment: Deployment) -> dict[str, int]:
    """The most functions that run at once for longer than a moment, by their work."""
    needs = {}
    if deployment.hosting.mode == "realtime":
        needs["calls of the model"] = deployment.model_places
    if deployment.jobs.enabled:
        # Machines run jobs themselves, and have one function that tends them.
        workers = {"tender": 1} if deployment.hosting.mode == "ec2" else {"workers": deployment.most_workers}
        needs |= {"held callers": deployment.jobs.max_waiting, **workers, "sweeper": 1}
    return needs
