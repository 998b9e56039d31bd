"""Errors of the model's container."""

import json

import pytest

from inference_api.shared.errors import container_error


@pytest.mark.parametrize(
    ("status", "code", "refused"),
    [
        (400, "rejected_by_model", True),
        (413, "rejected_by_model", True),
        (422, "rejected_by_model", True),
        (451, "rejected_by_model", True),
        (501, "rejected_by_model", True),
        (401, "model_error", False),
        (404, "model_error", False),
        (405, "model_error", False),
        (408, "model_error", False),
        (424, "model_error", False),
        (429, "model_busy", False),
        (500, "model_error", False),
        (503, "model_busy", False),
        (None, "model_error", False),
    ],
)
def test_only_a_refusal_by_the_model_itself_is_final(status: int | None, code: str, refused: bool) -> None:
    error = container_error(status, "too long")
    assert (error.code, error.refused) == (code, refused)
    assert error.message.endswith(": too long")


def test_a_container_without_words_makes_a_whole_sentence() -> None:
    assert container_error(500, "").message == "The model failed."


NO_SUCH_MODEL = "The model `gpt-4` does not exist."


def vllm(code: int, message: str) -> str:
    """Return vLLM's error in the words of LMI 18 and later."""
    error = f"error=ErrorInfo(message={message!r}, type='BadRequestError', param=None, code={code})"
    return json.dumps({"code": 500, "error": error})


@pytest.mark.parametrize(
    ("status", "words", "code", "field"),
    [
        (500, vllm(400, "top_k must be -1 or more"), "rejected_by_model", None),
        (500, vllm(404, NO_SUCH_MODEL), "rejected_by_model", "model"),
        (None, vllm(400, "too long"), "rejected_by_model", None),
        (None, '{"error":{"message":"too long","code":400}}', "rejected_by_model", None),
        (None, '{"object":"error","message":"too long","code":400}', "rejected_by_model", None),
        (
            None,
            '{"error":"`top_p` must be > 0.0 and < 1.0","error_type":"validation"}',
            "rejected_by_model",
            None,
        ),
        (None, '{"code":424,"error":"exception occurred"}', "model_error", None),
        (404, '{"error":"Model not found: model"}', "model_error", None),
        (500, vllm(500, "a text like code=400)"), "model_error", None),
        (424, '{"code":424,"error":"Input parsing failed: 1 validation error"}', "rejected_by_model", None),
        (424, '{"code":424,"error":"Input Parsing failed. Ensure that"}', "rejected_by_model", None),
        (424, '{"code":424,"error":"exception occurred during rolling batch inference"}', "model_error", None),
        (424, '{"code":424,"message":"Async Inference Failure service"}', "model_error", None),
        (424, '{"error":"Request failed during generation","error_type":"generation"}', "model_error", None),
        (404, json.dumps({"code": 404, "error": NO_SUCH_MODEL}), "rejected_by_model", "model"),
        (404, json.dumps({"error": {"message": NO_SUCH_MODEL, "code": 404}}), "rejected_by_model", "model"),
        (404, '{"detail":"Not Found"}', "model_error", None),
        (500, "[" * 100_000, "model_error", None),
    ],
)
def test_the_words_of_the_container_tell_a_refusal_from_a_failure(
    status: int | None, words: str, code: str, field: str | None
) -> None:
    error = container_error(status, words)
    assert (error.code, error.field, error.status) == (code, field, 400 if code == "rejected_by_model" else 502)


def openai(message: str) -> str:
    return json.dumps({"error": {"message": message, "type": "BadRequestError", "param": None, "code": 400}})


def tgi(message: str) -> str:
    return json.dumps({"error": message, "error_type": "validation"})


OF_VLLM = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens. Please reduce them."
EXCEEDED = "This model's maximum context length is exceeded: "
NEEDS_MORE = "This model's maximum context length is 8192 tokens. However, the request needs more: "


@pytest.mark.parametrize(
    ("status", "words", "said"),
    [
        (400, openai(OF_VLLM), OF_VLLM),
        (500, vllm(400, OF_VLLM), OF_VLLM),
        (
            400,
            openai(
                "'max_tokens' is too large: 9. This model's maximum context length is 8192 tokens and yours has 8190."
            ),
            NEEDS_MORE + "'max_tokens' is too large",
        ),
        (400, openai("The decoder prompt (length 9) is longer than the maximum model length of 8192."), NEEDS_MORE),
        (
            400,
            openai("You passed 9000 input tokens. However, the model's context length is only 8192 tokens, resulting"),
            NEEDS_MORE + "You passed",
        ),
        (
            400,
            openai("Input length (9000 tokens) exceeds the maximum allowed length (8186 tokens). Use a shorter input"),
            EXCEEDED + "Input length",
        ),
        (400, openai("The input (9000 tokens) is longer than the model's context length (8192 tokens)."), NEEDS_MORE),
        (
            400,
            openai("Requested token count exceeds the model's maximum context length of 8192 tokens."),
            NEEDS_MORE + "Requested token count",
        ),
        (400, openai("request (9000 tokens) exceeds the available context size (8192 tokens)"), NEEDS_MORE),
        (
            400,
            openai("the request exceeds the available context size. try increasing it"),
            EXCEEDED + "the request",
        ),
        (
            422,
            tgi("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9"),
            NEEDS_MORE + "Input validation error",
        ),
        (422, tgi("Input validation error: `inputs` must have less than 8192 tokens. Given: 9"), EXCEEDED),
        (
            400,
            '{"error":"messages: 9000 tokens and an answer of 1 are more than the 8192 that this machine takes"}',
            NEEDS_MORE + "messages: 9000 tokens",
        ),
    ],
)
def test_a_prompt_that_is_too_long_is_told_in_openais_words(status: int, words: str, said: str) -> None:
    error = container_error(status, words)
    assert (error.status, error.code, error.refused) == (400, "context_length_exceeded", True)
    assert error.message.startswith(said)
    assert "{" not in error.message


def test_a_refusal_is_told_without_the_json_around_it() -> None:
    for status, words in ((400, openai("top_k is odd")), (500, vllm(400, "top_k is odd"))):
        assert container_error(status, words).message == "The model refused the request: top_k is odd"


def test_a_model_that_is_busy_keeps_its_status_and_says_when_to_come_back() -> None:
    for status in (429, 503):
        error = container_error(status, '{"code": 503, "error": "the queue is full"}')
        assert (error.status, error.retry_after_in_seconds, error.is_final) == (status, 2, False)
        assert error.message == "The model is busy: the queue is full"
    assert container_error(503, "").failed, "LMI says so also where no worker is left"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Your invocation timed out while waiting for a response from container primary.", (504, "model_timeout")),
        ("", (504, "model_timeout")),
        ("Amazon SageMaker could not get a response from the chat-1 endpoint.", (502, "model_error")),
    ],
)
def test_sagemaker_in_the_place_of_a_container_says_whether_it_was_slow_or_gone(
    words: str, expected: tuple[int, str]
) -> None:
    error = container_error(0, words)
    assert (error.status, error.code) == expected
    assert "SageMaker" not in error.message
