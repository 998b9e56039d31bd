"""The template of an API that web pages of named origins may call."""

from typing import Any

from support.templates.template_parts import Template, all_of

NAME, FIRST, SECOND = "web-pages", "https://chat.example.com", "http://localhost:5173"


def preflights(template: Template) -> list[dict[str, Any]]:
    return [each for each in all_of(template, "ApiGateway::Method") if each["HttpMethod"] == "OPTIONS"]


def test_a_preflight_needs_no_key_and_reaches_no_function(templates: dict[str, Template]) -> None:
    found = preflights(templates[NAME])
    assert found
    for each in found:
        assert (each["AuthorizationType"], each["ApiKeyRequired"]) == ("NONE", False)
        assert each["Integration"]["Type"] == "MOCK"


def test_a_preflight_names_the_methods_of_its_path_and_no_wildcard(templates: dict[str, Template]) -> None:
    allowed = set()
    for each in preflights(templates[NAME]):
        (response,) = each["Integration"]["IntegrationResponses"]
        headers = response["ResponseParameters"]
        assert not any("*" in value for value in headers.values())
        assert headers["method.response.header.Access-Control-Allow-Origin"] == f"'{FIRST}'"
        allowed.add(headers["method.response.header.Access-Control-Allow-Methods"])
    assert allowed == {"'POST'", "'GET'"}


def test_an_origin_beside_the_first_gets_its_own_name_only_if_it_equals_it(templates: dict[str, Template]) -> None:
    for each in preflights(templates[NAME]):
        (response,) = each["Integration"]["IntegrationResponses"]
        assert f'#if($origin == "{SECOND}")' in response["ResponseTemplates"]["application/json"]


def test_every_answer_of_the_gateway_itself_names_the_first_origin(templates: dict[str, Template]) -> None:
    for each in all_of(templates[NAME], "ApiGateway::GatewayResponse"):
        assert each["ResponseParameters"]["gatewayresponse.header.access-control-allow-origin"] == f"'{FIRST}'"


def test_no_origin_is_named_without_the_setting(templates: dict[str, Template]) -> None:
    template = templates["with-api-key"]
    assert not preflights(template)
    assert "access-control" not in str(template).lower()
