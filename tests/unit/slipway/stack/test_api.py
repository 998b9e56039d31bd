"""Calls of an API that can't be reached from here say what to do."""

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.credentials import Credentials
from botocore.exceptions import EndpointConnectionError

from local_cloud.cloud import free_port
from slipway.shared.aws_errors import UnreachableApiError, sentence
from slipway.stack.api import DeployedApi


def api(**outputs: str) -> DeployedApi:
    """Return an API at a port where nobody listens."""
    known = {"name": "chat", "region": "eu-west-1", "local_cloud": None, "api_url": f"http://127.0.0.1:{free_port()}/"}
    stack: Any = SimpleNamespace(**known, outputs=outputs)
    return DeployedApi(stack, Credentials("key", "secret"))


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        (
            {"ApiUrlWithPrivateDns": "https://a.example/"},
            "chat has a private API: call it from a machine that reaches the VPC endpoint of 127.0.0.1, such as one in "
            "its VPC.",
        ),
        (
            {"DomainTarget": "d-a.execute-api.eu-west-1.amazonaws.com"},
            "127.0.0.1 can't be reached: make a CNAME record of this name to d-a.execute-api.eu-west-1.amazonaws.com, "
            "or wait until DNS knows it.",
        ),
    ],
    ids=["private", "domain"],
)
def test_an_api_that_can_not_be_reached_tells_the_way(outputs: dict[str, str], said: str) -> None:
    with pytest.raises(UnreachableApiError) as raised:
        api(**outputs).call("GET", "endpoint")
    assert sentence(raised.value) == said


def test_a_public_api_that_can_not_be_reached_is_botocores_error() -> None:
    with pytest.raises(EndpointConnectionError):
        api().call("GET", "endpoint")
