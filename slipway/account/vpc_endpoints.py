"""Checks the VPC endpoints through which a private API is reached."""

from collections.abc import Iterator

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

_FIELD = "api.private.vpc_endpoint_ids"


def vpc_endpoints(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that each endpoint exists in account and region, is one of `execute-api`, and is available."""
    assert deployment.api.private
    # By a filter: a call with an unknown id would fail as a whole.
    named = deployment.api.private.vpc_endpoint_ids
    of_ids = [{"Name": "vpc-endpoint-id", "Values": named}]
    found = account.clients("ec2").describe_vpc_endpoints(Filters=of_ids)["VpcEndpoints"]
    by_id = {each["VpcEndpointId"]: each for each in found}
    for name in named:
        endpoint = by_id.get(name)
        service, state = (endpoint["ServiceName"], endpoint["State"].lower()) if endpoint else ("", "")
        if endpoint is None:
            problem = f"{name} does not exist in {account.region} of account {account.id}"
            yield Finding(_FIELD, problem, "name interface endpoints of the service execute-api there")
        elif not service.endswith(".execute-api"):
            problem = f"{name} leads to {service}, not to execute-api"
            yield Finding(_FIELD, problem, f"make an interface endpoint of com.amazonaws.{account.region}.execute-api")
        elif state != "available":
            yield Finding(_FIELD, f"{name} is {state}, so no call gets through", level="warning")
