"""The resources of Envoy AI Gateway."""

from typing import Any

import pytest

from slipway.gateway.backend import GatewayError
from slipway.gateway.envoy import resources
from support.gateway import backend, pools_of

BIG, SMALL = backend("big", "a/big"), backend("small", "a/small")


def specs(kind: str, *backends: Any, **options: Any) -> dict[str, Any]:
    """Return the resources of a kind by their names."""
    found = resources(pools_of(*backends, **options))
    return {each["metadata"]["name"]: each["spec"] for each in found if each["kind"] == kind}


def test_a_backend_is_the_api_over_tls_with_its_stage_as_prefix() -> None:
    (service,) = specs("AIServiceBackend", BIG).values()
    assert service["schema"] == {"name": "OpenAI", "prefix": "/v1"}
    host = "big.execute-api.eu-west-1.amazonaws.com"
    assert specs("Backend", BIG)["slipway-big"] == {"endpoints": [{"fqdn": {"hostname": host, "port": 443}}]}
    assert specs("BackendTLSPolicy", BIG)["slipway-big"]["validation"]["hostname"] == host


def test_a_key_is_in_a_secret_and_an_open_api_has_none() -> None:
    policy = specs("BackendSecurityPolicy", BIG)["slipway-big"]
    assert (policy["type"], policy["apiKey"]) == ("APIKey", {"secretRef": {"name": "slipway-big"}})
    assert specs("BackendSecurityPolicy", backend("open", auth="none")) == {}


def test_a_rule_names_the_model_its_backends_and_then_those_that_answer_instead() -> None:
    route = specs("AIGatewayRoute", BIG, SMALL, fallbacks={"big": ["small"]})["slipway-1"]
    first = route["rules"][0]
    assert first["matches"] == [{"headers": [{"type": "Exact", "name": "x-ai-eg-model", "value": "a/big"}]}]
    assert first["backendRefs"] == [
        {"name": "slipway-big", "weight": 1},
        {"name": "slipway-small", "weight": 1, "priority": 1, "modelNameOverride": "a/small"},
    ]


def test_429_and_503_go_over_to_the_next_priority() -> None:
    retry = specs("BackendTrafficPolicy", BIG, SMALL, fallbacks={"big": ["small"]})["slipway-1"]["retry"]
    assert (retry["numRetries"], retry["numAttemptsPerPriority"]) == (1, 1)
    assert retry["retryOn"]["httpStatusCodes"] == [429, 503]


def test_more_names_than_a_route_takes_get_a_second_route() -> None:
    found = specs("AIGatewayRoute", *(backend(f"model-{number}") for number in range(16)))
    assert [len(spec["rules"]) for spec in found.values()] == [15, 1]


def test_weights_are_those_of_the_command_line() -> None:
    (route,) = specs("AIGatewayRoute", BIG, backend("next", "a/big"), big=9, next=1).values()
    assert [each["weight"] for each in route["rules"][0]["backendRefs"]] == [9, 1]


def test_a_url_from_the_environment_is_refused() -> None:
    with pytest.raises(GatewayError, match="its URL is not known here"):
        resources(pools_of(backend("111122223333/eu-west-1", "a/model", url=None)))
