"""Do the metrics of detailed observability arrive, although the execution role is bound to namespaces?"""

import json
from functools import partial
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from tools.smoke.asking.question import Answer, CouldNotAskError, Line, Question
from tools.smoke.asking.stacks import UPDATES
from tools.smoke.asking.trial import Trial

# SageMaker's guide lists this metric of every instance, and the label with the endpoint's name.
QUERY = 'count({{"node_cpu_seconds_total","aws.sagemaker.endpoint.name"="{endpoint}"}})'
_WAIT_IN_SECONDS = 900


def detailed_metrics(trial: Trial) -> Answer:
    """Ask CloudWatch by PromQL for a metric of the endpoint's instances."""
    endpoint = trial.settled()
    described = trial.clients("sagemaker").describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
    if not described.get("MetricsConfig", {}).get("EnableDetailedObservability"):
        raise CouldNotAskError("The endpoint's configuration has no EnableDetailedObservability.")
    query = QUERY.format(endpoint=endpoint["EndpointName"])
    url, credentials = trial.clients("cloudwatch").meta.endpoint_url, boto3.Session().get_credentials()
    look = partial(count_of_series, query, url, trial.region, credentials)
    series = trial.wait(look, 30 if trial.is_local else _WAIT_IN_SECONDS)
    return Answer(f"{query}: {series or 'no'} series", bool(series))


def count_of_series(query: str, url: str, region: str, credentials: Any) -> int | None:
    """The value of a query in PromQL that counts series; None if there are none. url: CloudWatch's, of the region."""
    request = AWSRequest("GET", f"{url}/api/v1/query?query={quote(query)}")
    SigV4Auth(credentials, "monitoring", region).add_auth(request)
    try:
        with urlopen(Request(request.url, headers=dict(request.headers)), timeout=60) as response:
            text = response.read().decode()
    except HTTPError as error:
        said = error.read().decode(errors="replace")[:300]
        raise CouldNotAskError(f"CloudWatch answers {error.code} to PromQL: {said}") from None
    found = json.loads(text)["data"]["result"]
    return int(float(found[0]["value"][1])) if found else None


QUESTIONS = (
    Question(
        "detailed-observability",
        "Do the metrics of detailed observability arrive with a role that is bound to namespaces?",
        "they do: sent by OTLP, they have no namespace to bind",
        detailed_metrics,
        Line("docs/permissions.md", "Roles of every deployment", "a condition names the namespaces"),
        minutes=5,
        stack=UPDATES,
        usd=0.01,
        local="SageMaker's collector: the local cloud looks at the role only",
    ),
)
