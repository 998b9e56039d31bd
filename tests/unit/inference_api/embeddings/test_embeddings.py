"""POST /embeddings in front of an endpoint that answers at once."""

import json
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable
from threading import Event, Semaphore
from typing import Any

import pytest
from botocore.exceptions import ClientError

from inference_api.embeddings import routes
from inference_api.http.streaming_runtime import close
from inference_api.openai.routes import streaming_endpoint
from inference_api.routes.readers import READERS
from support.patience import PATIENCE_IN_SECONDS
from unit.inference_api.embeddings.conftest import MODEL, TEI, VLLM, Deploy, SageMaker, answered, post, refused

Answers = Callable[..., SageMaker]


def openai_object(*vectors: Any, tokens: int = 7) -> dict[str, Any]:
    rows = [{"object": "embedding", "index": index, "embedding": each} for index, each in enumerate(vectors)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0}
    return {"object": "list", "data": rows, "model": "lmi", "usage": usage}


def base64(*numbers: float) -> str:
    return b64encode(array("f", numbers).tobytes()).decode()


def test_tei_gets_its_own_body_and_the_caller_openais_object(deploy: Deploy, answers: Answers) -> None:
    deploy(TEI)
    sagemaker = answers([[0.25, -1e-3], [1.0, 0.5]])
    found = answered({"model": MODEL, "input": ["Hello you", "sea"], "user": "me"})
    assert sagemaker.bodies == [{"inputs": ["Hello you", "sea"]}]
    assert found == {
        "object": "list",
        "data": [
            {"object": "embedding", "index": 0, "embedding": [0.25, -0.001]},
            {"object": "embedding", "index": 1, "embedding": [1.0, 0.5]},
        ],
        "model": MODEL,
        "usage": {"prompt_tokens": 4, "total_tokens": 4},  # by length: TEI tells no count
    }


def test_vllm_gets_openais_body_and_counts_the_tokens(deploy: Deploy, answers: Answers) -> None:
    deploy(VLLM)
    sagemaker = answers(openai_object([0.5, 1], tokens=11))
    found = answered({"model": MODEL, "input": "Hello", "encoding_format": "float"})
    assert sagemaker.bodies == [{"input": ["Hello"], "encoding_format": "float"}]
    assert (found["data"][0]["embedding"], found["model"]) == ([0.5, 1], MODEL)
    assert found["usage"] == {"prompt_tokens": 11, "total_tokens": 11}


@pytest.mark.parametrize("tokens", [-5, 10**400, 1.5, None])
def test_a_wrong_count_of_the_engine_does_not_reach_the_caller(deploy: Deploy, answers: Answers, tokens: Any) -> None:
    deploy(VLLM)
    answers(openai_object([0.5, 1], tokens=tokens))
    assert answered({"input": "Hello you"})["usage"] == {"prompt_tokens": 3, "total_tokens": 3}


@pytest.mark.parametrize("given", [[0.5, -2.25], base64(0.5, -2.25)])
@pytest.mark.parametrize("facts", [TEI, VLLM])
def test_base64_is_little_endian_float32(deploy: Deploy, answers: Answers, facts: Any, given: Any) -> None:
    deploy(facts)
    answers(openai_object(given) if facts is VLLM else [given])
    (row,) = answered({"input": "x", "encoding_format": "base64"})["data"]
    assert b64decode(row["embedding"]) == bytes.fromhex("0000003f000010c0")


def test_an_engine_that_answers_in_base64_does_not_change_floats(deploy: Deploy, answers: Answers) -> None:
    deploy(VLLM)
    answers(openai_object(base64(0.5, -2.25)))
    assert answered({"input": "x"})["data"][0]["embedding"] == [0.5, -2.25]


def test_rows_are_put_in_order(deploy: Deploy, answers: Answers) -> None:
    deploy(VLLM)
    swapped = openai_object([1, 1], [2, 2])
    swapped["data"].reverse()
    answers(swapped)
    assert [row["embedding"] for row in answered({"input": ["a", "b"]})["data"]] == [[1, 1], [2, 2]]


@pytest.mark.parametrize(
    ("given", "sent"), [([1, 2, 3], [[1, 2, 3]]), ([[1, 2], [30521]], [[1, 2], [30521]]), ("x", ["x"])]
)
def test_token_ids_and_single_texts_become_lists(deploy: Deploy, answers: Answers, given: Any, sent: Any) -> None:
    deploy(TEI)
    sagemaker = answers([[0.5, 0.5]] * len(sent))
    found = answered({"input": given})
    assert sagemaker.bodies[0]["inputs"] == sent
    assert found["usage"]["prompt_tokens"] == (3 if given != "x" else 1)


@pytest.mark.parametrize(("most", "calls"), [(0, 63), (8, 125), (2048, 63)])
def test_a_thousand_texts_are_asked_for_in_several_calls_and_come_back_in_order(
    deploy: Deploy, answers: Answers, most: int, calls: int
) -> None:
    def vectors(body: Any) -> dict[str, Any]:
        return openai_object(*([int(text), 1] for text in body["input"]), tokens=len(body["input"]))

    deploy(VLLM, most_texts=most)
    sagemaker = answers(*[vectors] * calls)
    found = answered({"input": [str(each) for each in range(1000)]})
    assert len(sagemaker.bodies) == calls
    assert [(row["index"], row["embedding"][0]) for row in found["data"]] == [(each, each) for each in range(1000)]
    assert found["usage"]["prompt_tokens"] == 1000


def test_one_call_that_fails_fails_the_request(deploy: Deploy, answers: Answers) -> None:
    def second_fails(body: Any) -> Any:
        return [[0.5, 0.5]] * len(body["inputs"]) if "0" in body["inputs"] else {"error": "it broke"}

    deploy(TEI)
    answers(*[second_fails] * 4)
    assert refused({"input": [str(each) for each in range(20)]})[:2] == (502, "model_error")


def test_the_engines_own_parameters_reach_it(deploy: Deploy, answers: Answers) -> None:
    deploy(TEI)
    sagemaker = answers([[0.5, 0.5]])
    answered({"input": "x", "truncate": True, "prompt_name": "query"})
    assert sagemaker.bodies == [{"inputs": ["x"], "truncate": True, "prompt_name": "query"}]


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_a_vector_is_cut_and_has_the_length_1_again(deploy: Deploy, answers: Answers, encoding: str) -> None:
    deploy(VLLM, dimensions=4, matryoshka=True)
    sagemaker = answers(openai_object([3, 4, 5, 6]))
    (row,) = answered({"input": "x", "dimensions": 2, "encoding_format": encoding})["data"]
    assert sagemaker.bodies[0]["encoding_format"] == "float"
    cut = row["embedding"] if encoding == "float" else array("f", b64decode(row["embedding"])).tolist()
    assert cut == pytest.approx([0.6, 0.8])


def test_all_dimensions_change_nothing(deploy: Deploy, answers: Answers) -> None:
    deploy(TEI)
    answers([[0.5, 0.25]])
    assert answered({"input": "x", "dimensions": 2})["data"][0]["embedding"] == [0.5, 0.25]


@pytest.mark.parametrize(
    ("document", "code", "field", "words"),
    [
        ({}, "unsupported_body", None, '"input"'),
        ({"input": None}, "invalid_input", "input", "a list"),
        ({"input": "a", "inputs": "b"}, "unsupported_body", None, '"input"'),
        ({"input": ""}, "empty_input", "input", "empty"),
        ({"input": []}, "empty_input", "input", "empty"),
        ({"input": ["a", ""]}, "empty_input", "input[1]", "empty"),
        ({"input": ["a", 3]}, "invalid_input", "input[1]", "token ids"),
        ({"input": [[1], []]}, "invalid_input", "input[0]", "token ids"),
        ({"input": [1, "a"]}, "invalid_input", "input[0]", "token ids"),
        ({"input": [True]}, "invalid_input", "input[0]", "token ids"),
        ({"input": {"text": "a"}}, "invalid_input", "input", "a list"),
        ({"input": ["a"] * 2049}, "invalid_parameter", "input", "2049 texts; at most 2048"),
        ({"input": [[5, 30522]]}, "invalid_input", "input[0]", "30522"),
        ({"input": [-1]}, "invalid_input", "input", "-1"),
        ({"input": [[7] * 513]}, "context_length_exceeded", "input[0]", "513"),
        ({"input": "a", "encoding_format": "int8"}, "invalid_parameter", "encoding_format", "float or base64"),
        ({"input": "a", "encoding_format": 3}, "invalid_parameter", "encoding_format", "float or base64"),
        ({"input": "a", "dimensions": "2"}, "invalid_parameter", "dimensions", "whole number"),
        ({"input": "a", "dimensions": 0}, "invalid_parameter", "dimensions", "whole number"),
        ({"input": "a", "dimensions": 1}, "invalid_parameter", "dimensions", "vectors of 2 numbers"),
        ({"input": "a", "model": 3}, "invalid_parameter", "model", "string"),
        ({"input": "a", "stream": True}, "stream_not_supported", "stream", "stream"),
    ],
)
def test_a_wrong_request_says_what_to_change(
    deploy: Deploy, answers: Answers, document: Any, code: str, field: str | None, words: str
) -> None:
    deploy(TEI)
    sagemaker = answers()
    status, *found, message = refused(document)
    assert (status, found) == (400, [code, field])
    assert words in message
    assert not sagemaker.bodies


def test_an_engine_without_token_ids_asks_for_text(deploy: Deploy, answers: Answers) -> None:
    deploy(TEI, takes_ids=False)
    answers()
    status, code, field, message = refused({"input": [[1, 2]]})
    assert (status, code, field) == (400, "invalid_input", "input")
    assert "send text" in message


def test_more_dimensions_than_the_model_has_are_refused(deploy: Deploy, answers: Answers) -> None:
    deploy(VLLM, matryoshka=True)
    answers()
    assert refused({"input": "x", "dimensions": 3})[2] == "dimensions"


def test_another_model_is_not_found(deploy: Deploy, answers: Answers) -> None:
    deploy(VLLM)
    answers()
    assert refused({"input": "x", "model": "other"})[:2] == (404, "model_not_found")


@pytest.mark.parametrize(
    "words",
    [
        '{"error":"`inputs` must have less than 512 tokens. Given: 600","error_type":"Validation"}',
        '{"error":{"message":"This model\'s maximum context length is 512 tokens. However, it is 600."}}',
    ],
)
def test_a_text_that_is_too_long_has_openais_code(deploy: Deploy, answers: Answers, words: str) -> None:
    deploy(TEI)
    response = {"Error": {"Code": "ModelError", "Message": ""}, "ResponseMetadata": {"HTTPStatusCode": 424}}
    refusal: Any = response | {"OriginalStatusCode": 413, "OriginalMessage": words}
    answers(ClientError(refusal, "InvokeEndpoint"))
    assert refused({"input": "long"})[:2] == (400, "context_length_exceeded")


@pytest.mark.parametrize(
    "answer",
    [
        [[0.5, 0.5]],
        [[0.5, 0.5], [0.5]],
        [[0.5, 0.5], [float("nan"), 0.5]],
        [[0.5, 0.5], None],
        [[0.5, 0.5], [[0.5, 0.5]]],
        {"generated_text": "Hello"},
        {"data": [{"embedding": [0.5]}, {"embedding": [0.5]}]},
        3,
        b"no JSON",
        pytest.param(b"[[" + b"0.5," * 500_000, id="a long list that breaks off"),
    ],
)
def test_an_answer_without_two_vectors_is_the_models_failure(deploy: Deploy, answers: Answers, answer: Any) -> None:
    deploy(TEI)
    answers(answer)
    assert refused({"input": ["a", "b"]})[:2] == (502, "model_error")


@pytest.mark.parametrize(("facts", "tokens"), [(TEI, 3), (VLLM, 7)])
def test_a_key_is_charged_for_the_texts_and_for_no_answer(
    deploy: Deploy, answers: Answers, monkeypatch: pytest.MonkeyPatch, facts: Any, tokens: int
) -> None:
    monkeypatch.setenv("USAGE_TABLE", "usage")
    deploy(facts)
    sagemaker = answers([[0.5, 0.5]] if facts is TEI else openai_object([0.5, 0.5]))
    answered({"input": "ten letters"})
    assert sagemaker.counts == {"tokens_in": tokens, "tokens_out": 0}


def test_a_job_is_one_call_of_the_engine(deploy: Deploy) -> None:
    deploy(TEI)
    exchange = READERS["/embeddings"].read(b'{"input": ["a", "b"]}', None, None)
    assert json.loads(exchange.call.unstreamed()) == {"inputs": ["a", "b"]}
    assert [row["embedding"] for row in exchange.view(b"[[1.5], [2.5]]")["data"]] == [[1.5], [2.5]]


def test_after_a_caller_has_hung_up_the_engine_gets_no_further_texts(
    deploy: Deploy, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "SILENCE", 0.001)  # spaces show that the caller is there
    deploy(TEI)
    begun, hung_up = Semaphore(0), Event()

    def late(body: Any) -> list[list[float]]:
        begun.release()
        assert hung_up.wait(PATIENCE_IN_SECONDS)
        return [[0.5, 0.5]] * len(body["inputs"])

    sagemaker = answers(*[late] * 8)
    monkeypatch.setattr(streaming_endpoint(), "hang_up", hung_up.set)
    streamed = post({"input": ["x"] * 128})
    assert all(begun.acquire(timeout=PATIENCE_IN_SECONDS) for _ in range(4))
    assert next(streamed.pieces) == b" "
    close(streamed.pieces)
    assert len(sagemaker.bodies) == 4  # those that had begun
