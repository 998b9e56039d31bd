"""POST /rerank in front of an endpoint that answers at once."""

from collections.abc import Callable
from typing import Any

import pytest

from inference_api.routes.readers import READERS
from unit.inference_api.embeddings.conftest import (
    MODEL,
    TEI_RERANK,
    VLLM_RERANK,
    Deploy,
    SageMaker,
    answered,
    refused,
)

Answers = Callable[..., SageMaker]

ASKED = {"model": MODEL, "query": "Where is Bern?", "documents": ["A list", {"text": "In Switzerland"}]}
TEI_RANKS = [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.01}]
JINA_RANKS = {
    "id": "score-1",
    "model": "lmi",
    "usage": {"total_tokens": 23},
    "results": [
        {"index": 1, "relevance_score": 0.9, "document": {"text": "In Switzerland"}},
        {"index": 0, "relevance_score": 0.01, "document": {"text": "A list"}},
    ],
}


def rerank(document: Any) -> Any:
    return answered(document, "/rerank")


def test_tei_gets_texts_and_the_caller_the_best_first(deploy: Deploy, answers: Answers) -> None:
    deploy(TEI_RERANK)
    sagemaker = answers(TEI_RANKS)
    found = rerank(ASKED)
    texts = ["A list", "In Switzerland"]
    assert sagemaker.bodies == [{"query": "Where is Bern?", "texts": texts}]
    assert found["id"].startswith("rerank-")
    assert found["model"] == MODEL
    assert found["results"] == [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.01}]
    assert found["usage"] == {"total_tokens": 12}  # by length, with the query once for each document


def test_vllm_gets_documents_and_counts_the_tokens(deploy: Deploy, answers: Answers) -> None:
    deploy(VLLM_RERANK)
    sagemaker = answers(JINA_RANKS)
    found = rerank(ASKED | {"top_n": 1, "return_documents": True})
    assert sagemaker.bodies == [{"query": "Where is Bern?", "documents": ["A list", "In Switzerland"]}]
    assert found["results"] == [{"index": 1, "relevance_score": 0.9, "document": {"text": "In Switzerland"}}]
    assert found["usage"] == {"total_tokens": 23}


def test_many_documents_are_ranked_together(deploy: Deploy, answers: Answers) -> None:
    def scores(body: Any) -> list[dict[str, Any]]:
        return [{"index": index, "score": float(text)} for index, text in enumerate(body["texts"])][::-1]

    deploy(TEI_RERANK, most_texts=2)
    answers(*[scores] * 3)
    found = rerank({"query": "x", "documents": ["0.2", "0.1", "0.1", "0.8", "0.5"]})
    assert [each["index"] for each in found["results"]] == [3, 4, 0, 1, 2]


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"query": None}, "invalid_input", "query"),
        ({"query": ""}, "empty_input", "query"),
        ({"query": ["a"]}, "invalid_input", "query"),
        ({"documents": None}, "invalid_parameter", "documents"),
        ({"documents": "a"}, "invalid_parameter", "documents"),
        ({"documents": []}, "empty_input", "documents"),
        ({"documents": ["a", 3]}, "invalid_parameter", "documents[1]"),
        ({"documents": [{"title": "a"}]}, "invalid_parameter", "documents[0]"),
        ({"documents": ["a", ""]}, "empty_input", "documents[1]"),
        ({"documents": ["a"] * 2049}, "invalid_parameter", "documents"),
        ({"top_n": 0}, "invalid_parameter", "top_n"),
        ({"top_n": "3"}, "invalid_parameter", "top_n"),
        ({"top_n": True}, "invalid_parameter", "top_n"),
        ({"return_documents": "yes"}, "invalid_parameter", "return_documents"),
        ({"stream": True}, "stream_not_supported", "stream"),
    ],
)
def test_a_wrong_request_says_what_to_change(
    deploy: Deploy, answers: Answers, change: Any, code: str, field: str
) -> None:
    deploy(TEI_RERANK)
    answers()
    assert refused(ASKED | change, "/rerank")[:3] == (400, code, field)


@pytest.mark.parametrize(
    "answer",
    [
        [],
        [{"index": 0, "score": 0.5}],
        [{"index": 0, "score": 0.5}, {"index": 2, "score": 0.5}],
        [{"index": 0, "score": 0.5}, {"index": 1, "score": "high"}],
        [{"index": 0, "score": 0.5}, {"index": 1, "score": float("nan")}],
        [{"index": 0, "score": 0.5}, {"index": 1, "score": 10**400}],
        [{"index": 0, "score": 0.5}, {"index": 0, "score": 0.5}, {"index": 1, "score": 0.5}],
        {"results": None},
        [0.5, 0.5],
    ],
)
def test_an_answer_without_a_score_for_each_is_the_models_failure(
    deploy: Deploy, answers: Answers, answer: Any
) -> None:
    deploy(TEI_RERANK)
    answers(answer)
    assert refused(ASKED, "/rerank")[:2] == (502, "model_error")


def test_a_key_is_charged_for_query_and_documents(
    deploy: Deploy, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USAGE_TABLE", "usage")
    deploy(VLLM_RERANK)
    sagemaker = answers(JINA_RANKS)
    rerank(ASKED)
    assert sagemaker.counts == {"tokens_in": 23, "tokens_out": 0}


def test_a_job_answers_for_all_documents(deploy: Deploy) -> None:
    deploy(TEI_RERANK)
    exchange = READERS["/rerank"].read(b'{"query": "x", "documents": ["a", "b"]}', None, None)
    scores = exchange.view(b'[{"index": 1, "score": 0.5}, {"index": 0, "score": 0.25}]')
    assert [each["index"] for each in scores["results"]] == [1, 0]
