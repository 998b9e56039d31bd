"""The model's answer as a response."""

import json

import pytest

from inference_api.http.answer import MAX_RESPONSE_BYTES, Answer
from inference_api.shared.errors import ApiError


def test_an_answer_is_passed_on_unchanged() -> None:
    text = '[ {"generated_text":  "caf\u00e9 \\u00e9"} ]\n'
    response = Answer(text.encode(), "application/json; charset=utf-8").to_response()
    assert (response.status, response.body) == (200, text)
    assert response.content_type == "application/json; charset=utf-8"


def test_an_answer_that_a_browser_could_run_is_plain_text() -> None:
    response = Answer(b"<script>", "text/html").to_response()
    assert (response.body, response.content_type) == ("<script>", "text/plain; charset=utf-8")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"\xff\xfe", "answer_not_text"),
        (json.dumps('"' * (MAX_RESPONSE_BYTES // 3)).encode(), "answer_too_large"),
    ],
    ids=["bytes", "large"],
)
def test_an_answer_that_lambda_cannot_return_is_a_bad_gateway(body: bytes, code: str) -> None:
    with pytest.raises(ApiError) as caught:
        Answer(body, "application/json").to_response()
    assert (caught.value.status, caught.value.code) == (502, code)
