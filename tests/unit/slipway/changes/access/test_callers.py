"""Callers that an update refuses."""

import json
from typing import Any

import pytest

from slipway.changes import classify
from support.templates.known_changes import a, of


def test_routes_with_several_authorizers_that_change_alike_are_one_line() -> None:
    def api(**admission: dict[str, str]) -> dict[str, Any]:
        methods = {
            verb: a("ApiGateway::Method", {"RestApiId": {"Ref": "Api"}, "HttpMethod": verb, "ResourceId": "r", **each})
            for verb, each in admission.items()
        }
        return of(Api=a("ApiGateway::RestApi"), **methods)

    by_key = {verb: {"AuthorizationType": "CUSTOM", "AuthorizerId": verb} for verb in ("GET", "POST")}
    signed = {verb: {"AuthorizationType": "AWS_IAM"} for verb in by_key}

    (refused,) = (each for each in classify(api(**by_key), api(**signed)) if each.kind == "callers-refused")
    assert "on GET r, POST r: " in refused.sentence


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"any_model": True}, {}, "requests for any model but gpt are refused from then on"),
        ({"names": ["old"]}, {}, "requests for the model old are refused from then on"),
    ],
)
def test_models_whose_names_are_refused_are_told(before: dict[str, Any], after: dict[str, Any], told: str) -> None:
    def api(facts: dict[str, Any]) -> dict[str, Any]:
        variables = {"OPENAI_ROUTES": "1", "MODEL_ID": "gpt", "OPENAI_FACTS": json.dumps(facts)}
        return of(
            Api=a("ApiGateway::RestApi", {"Name": "api"}),
            Route=a("ApiGateway::Method", {"RestApiId": {"Ref": "Api"}, "HttpMethod": "GET", "ResourceId": "r"}),
            F=a("Lambda::Function", {"Environment": {"Variables": variables}}),
        )

    (refused,) = (each for each in classify(api(before), api(after)) if each.kind == "callers-refused")
    assert refused.sentence == told
