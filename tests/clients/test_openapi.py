"""The OpenAPI document against real answers, with bodies that schemathesis makes of it, and that it spoils."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from .conftest import Served

# Of all routes together; CI tries fewer.
CASES = int(os.environ.get("OPENAPI_CASES", "190"))
DOCUMENT = json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text())
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ROUTES = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]


@pytest.mark.parametrize(("path", "method"), ROUTES)
def test_every_answer_is_documented_and_none_is_a_failure(served: Mapping[str, Served], path: str, method: str) -> None:
    api = served["lmi"]
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    headers = {"x-api-key": api.key, "authorization": f"Bearer {api.key}"}

    @hypothesis.settings(
        max_examples=-(-CASES // len(ROUTES)),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=schema[path][method.upper()].as_strategy())
    def answers_as_documented(case: schemathesis.Case) -> None:
        answer = case.call(base_url=api.url, headers=headers, timeout=60)
        case.validate_response(answer, checks=CHECKS)

    answers_as_documented()
