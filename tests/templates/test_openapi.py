"""The OpenAPI document against the templates, the functions and the gateway's own answers, both ways."""

import ast
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from inference_api.http import cors
from inference_api.shared import error_codes, errors
from slipway.openapi.document import document
from slipway.openapi.errors import CODES
from slipway.stack.openapi_document import document_of
from support.templates.template_parts import Template, all_of, routes

FUNCTIONS = Path(__file__).parents[2] / "lambda_src"
PATHS = document()["paths"]


def test_the_document_has_every_route_and_no_other(templates: dict[str, Template]) -> None:
    documented = {(method.upper(), path) for path, methods in PATHS.items() for method in methods}
    deployed = {route for name in ("qwen3-4b", "bge-small", "rerank") for route in routes(templates[name])}
    assert documented == {(method, path.replace("+}", "}")) for method, path in deployed}


def test_the_document_has_every_code_of_the_gateways_answers(templates: dict[str, Template]) -> None:
    gateway = {
        (int(answer.get("StatusCode", 0)), json.loads(answer["ResponseTemplates"]["application/json"])["error"]["code"])
        for name in ("qwen3-4b", "with-api-key", "open")
        for answer in all_of(templates[name], "ApiGateway::GatewayResponse")
    }
    documented = {(status, code) for status, codes in CODES.items() for code in codes}
    # 0: a gateway response without a fixed status. The document lists such a code under each status that callers saw.
    assert gateway - documented == {(0, "request_refused")}


def test_functions_raise_each_code_of_their_table_and_no_other() -> None:
    computed = {errors.tokens_exceeded(period, 1, datetime.now(UTC), 0).code for period in ("minute", "month")}
    assert {*raised(), *computed} == {code for codes in error_codes.CODES.values() for code in codes}


def test_every_error_code_stands_at_the_routes_that_answer_it() -> None:
    listed = {
        (int(status), code, path)
        for path, methods in PATHS.items()
        for operation in methods.values()
        for status, answer in operation["responses"].items()
        if int(status) >= 400
        for code in answer["description"].split(", ")
    }
    assert {(status, code) for status, code, _ in listed} == {(s, code) for s, codes in CODES.items() for code in codes}
    for code, place in (("file_not_found", "/files"), ("batch_not_found", "/batches"), ("job_not_found", "/jobs")):
        assert {path for _, each, path in listed if each == code} == {path for path in PATHS if path.startswith(place)}


def test_answers_of_the_model_have_the_headers_that_pages_of_other_origins_can_read() -> None:
    of_whole, of_error = (PATHS["/responses"]["post"]["responses"][status]["headers"] for status in ("200", "429"))
    assert {*of_whole, *of_error, "location", "x-should-retry"} == {*cors.READABLE}


def test_every_code_is_explained_in_the_docs() -> None:
    text = (FUNCTIONS.parent / "docs" / "api.md").read_text()
    assert [code for codes in CODES.values() for code in codes if f"`{code}`" not in text] == []


def test_generators_of_clients_find_a_name_for_each_method_and_a_text_for_each_parameter() -> None:
    operations = [operation for methods in PATHS.values() for operation in methods.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert all(each["description"] for each in document()["components"]["parameters"].values())


def test_the_document_of_an_api_states_its_longest_wait_and_the_fields_of_its_engine() -> None:
    variables = {"MODEL_ID": "a/b", "LONGEST_WAIT_IN_SECONDS": "56"}
    stack: Any = MagicMock(variables=variables, bodies=["inputs", "prompt"])
    stack.configure_mock(name="x", api_url="https://x/v1/", resources={"AWS::ApiGateway::RestApi": ["x"]})
    methods = {"GET": {"authorizationType": "AWS_IAM"}}
    pages = stack.clients.return_value.get_paginator.return_value.paginate
    pages.return_value = [{"items": [{"path": "/jobs/{id}", "resourceMethods": methods}]}]
    found = document_of(stack)
    refs = [each["$ref"].rpartition("/")[2] for each in found["paths"]["/jobs/{id}"]["get"]["parameters"]]
    parameters = [found["components"]["parameters"][name] for name in refs]
    assert {each["name"]: each["schema"].get("maximum") for each in parameters} == {"id": None, "wait": 56}
    prompts = [each["required"] for each in found["components"]["schemas"]["Generate"]["oneOf"]]
    assert prompts == [["inputs"], ["prompt"]]


def raised() -> set[object]:
    """Return the code of each error that functions raise, where the code stands as a literal."""
    calls = [
        node
        for path in FUNCTIONS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error")
    ]
    return {call.args[0].value for call in calls if len(call.args) == 2 and isinstance(call.args[0], ast.Constant)}
