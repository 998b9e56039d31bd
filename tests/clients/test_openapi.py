"""The OpenAPI document against real answers to valid and invalid requests that schemathesis generates from it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from .conftest import Served

# For all routes together; CI tries fewer.
CASES = int(os.environ.get("OPENAPI_CASES", "190"))
SCHEMA = schemathesis.openapi.from_dict(
    json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text(encoding="utf-8"))
)
ROUTES = [(path, method) for path, methods in SCHEMA.raw_schema["paths"].items() for method in methods]
OTHERS = {"/embeddings": "embed", "/rerank": "rerank"}  # the deployments that have these routes
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
PROMPT = {"prompt": "A list is", "max_tokens": 3}


def send(case: schemathesis.Case, api: Served) -> Any:
    """Send a request, check the answer, and return it."""
    headers = {"x-api-key": api.key, "authorization": f"Bearer {api.key}"}
    answer = case.call(base_url=api.url, headers=headers, timeout=60)
    case.validate_response(answer, checks=CHECKS)
    return answer


def test_the_document_is_valid_openapi_3_1() -> None:
    assert SCHEMA.raw_schema["openapi"].startswith("3.1.")
    SCHEMA.validate()  # by OpenAPI's own meta-schema, which schemathesis holds


@pytest.mark.parametrize(("path", "method"), ROUTES)
def test_every_answer_is_documented_and_none_is_a_failure(served: Mapping[str, Served], path: str, method: str) -> None:
    operation = SCHEMA[path][method.upper()]
    cases = operation.as_strategy()
    if operation.body or operation.path_parameters or operation.query:
        cases |= operation.as_strategy(GenerationMode.NEGATIVE)

    @hypothesis.settings(
        max_examples=-(-CASES // len(ROUTES)),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=cases)
    def answers_as_documented(case: schemathesis.Case) -> None:
        send(case, served[OTHERS.get(path, "lmi")])

    answers_as_documented()


def test_the_life_of_a_job_is_documented(lmi: Served) -> None:
    """Generated ids belong to no job, so this test makes one."""
    job = send(SCHEMA["/jobs"]["POST"].Case(body=PROMPT, query={"wait": 25}), lmi).json()
    own = {"id": job["id"]}
    assert send(SCHEMA["/jobs/{id}"]["GET"].Case(path_parameters=own), lmi).json()["status"] == "succeeded"
    assert job["id"] in [each["id"] for each in send(SCHEMA["/jobs"]["GET"].Case(), lmi).json()["jobs"]]
    assert send(SCHEMA["/jobs/{id}"]["DELETE"].Case(path_parameters=own), lmi).status_code == 409


def test_the_life_of_a_batch_is_documented(lmi: Served) -> None:
    line = {"custom_id": "1", "method": "POST", "url": "/v1/completions", "body": PROMPT}
    form = {"purpose": "batch", "file": json.dumps(line)}
    upload = SCHEMA["/files"]["POST"].Case(body=form, media_type="multipart/form-data")
    file = {"id": send(upload, lmi).json()["id"]}
    assert json.loads(send(SCHEMA["/files/{id}/content"]["GET"].Case(path_parameters=file), lmi).text) == line
    wanted = {"input_file_id": file["id"], "endpoint": "/v1/completions", "completion_window": "24h"}
    batch = {"id": send(SCHEMA["/batches"]["POST"].Case(body=wanted), lmi).json()["id"]}
    assert send(SCHEMA["/batches/{id}"]["GET"].Case(path_parameters=batch), lmi).status_code == 200
    # It may have ended by itself.
    assert send(SCHEMA["/batches/{id}/cancel"]["POST"].Case(path_parameters=batch), lmi).status_code in (200, 409)
    assert send(SCHEMA["/batches"]["GET"].Case(), lmi).json()["data"]
    assert send(SCHEMA["/files/{id}"]["GET"].Case(path_parameters=file), lmi).status_code == 200
    assert send(SCHEMA["/files/{id}"]["DELETE"].Case(path_parameters=file), lmi).json()["deleted"]


def test_the_models_id_is_found_with_its_slash(lmi: Served) -> None:
    (model,) = send(SCHEMA["/models"]["GET"].Case(), lmi).json()["data"]
    assert send(SCHEMA["/models/{id}"]["GET"].Case(path_parameters={"id": model["id"]}), lmi).json() == model
