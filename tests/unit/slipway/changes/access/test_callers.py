"""Callers that an update refuses."""

import json
from typing import Any

import pytest

from slipway.changes import Change, classify
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
    (refused,) = refusals(of(**an_api("Chat", before)), of(**an_api("Chat", after)))
    assert refused.sentence == told


def test_an_adapter_that_goes_refuses_its_callers() -> None:
    (refused,) = refusals(of(**an_api("Chat", {}, "legal,sales")), of(**an_api("Chat", {}, "sales")))
    assert refused.sentence == "requests for the model legal are refused from then on"


def an_api(name: str, facts: dict[str, Any], adapters: str = "") -> dict[str, Any]:
    """Return an API with one of OpenAI's routes, and the function behind it."""
    uri = {"Fn::Join": ["", ["arn:aws:apigateway:path/", {"Fn::GetAtt": [f"{name}Function", "Arn"]}, "/invocations"]]}
    route = {"HttpMethod": "GET", "ResourceId": "r", "Integration": {"Uri": uri}}
    variables = {"OPENAI_ROUTES": "1", "MODEL_ID": "gpt", "OPENAI_FACTS": json.dumps(facts), "ADAPTERS": adapters}
    return {
        f"{name}Api": a("ApiGateway::RestApi", {"Name": "api"}),
        f"{name}Route": a("ApiGateway::Method", {"RestApiId": {"Ref": f"{name}Api"}, **route}),
        f"{name}Function": a("Lambda::Function", {"Environment": {"Variables": variables}}),
    }


def refusals(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    return [each for each in classify(before, after) if each.kind == "callers-refused"]


def test_each_service_of_a_stack_has_names_of_its_own() -> None:
    strict, lax = an_api("Chat", {}), an_api("Batch", {"any_model": True})
    assert refusals(of(**strict, **lax), of(**lax, **strict)) == []
    (refused,) = refusals(of(**strict, **lax), of(**strict, **an_api("Batch", {})))
    assert refused.logical_id == "BatchApi"
