"""The stand-in for TEI, LMI and vLLM: near texts have near vectors, and bodies are refused as the engines do."""

import base64
import json
import math
import struct
from typing import Any

import pytest

from local_cloud.model_server.contract.answer import StartError
from local_cloud.model_server.embeddings.engine import VectorEngine, makes_vectors
from local_cloud.model_server.text.catalog_row import row_of
from support.local_engines import local_engines

SMALL, RERANKER = "BAAI/bge-small-en-v1.5", "BAAI/bge-reranker-v2-m3"
TEI = {"image": "tei:2.0.1-tei1.9.3-gpu-py310-cu129-ubuntu24.04", "HF_MODEL_ID": SMALL, "AUTO_TRUNCATE": "false"}
OLD_TEI = {**TEI, "image": "tei-cpu:2.0.1-tei1.8.2-cpu-py310-ubuntu22.04"}
LMI = {"image": "djl-inference:0.36.0-lmi28.0.0-cu130", "HF_MODEL_ID": SMALL, "OPTION_TASK": "text-embedding"}
VLLM = {
    "image": "vllm:0.30.0-gpu-py312-cu130-ubuntu24.04-sagemaker",
    "SM_VLLM_MODEL": SMALL,
    "SM_VLLM_RUNNER": "pooling",
}
CAT, KITTEN, BANK = "The cat sleeps on the sofa.", "A cat was sleeping on a sofa", "Interest rates rose again."


def ask(given: dict[str, str], body: Any) -> tuple[int, Any]:
    settings = {name: value for name, value in given.items() if name != "image"}
    row = row_of(f"1.dkr.ecr.us-west-2.amazonaws.com/{given['image']}", settings, local_engines())
    engine = VectorEngine(row, settings)
    answer = engine.answer(body if isinstance(body, bytes) else json.dumps(body).encode())
    text = answer.body.decode()
    return answer.status, json.loads(text) if answer.content_type == "application/json" else text


def near(one: list[float], other: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def test_similar_texts_are_nearer_than_others() -> None:
    status, (cat, kitten, bank) = ask(TEI, {"inputs": [CAT, KITTEN, BANK]})
    assert status == 200
    assert near(cat, kitten) > 0.5 > 0.3 > near(cat, bank)


def test_a_vector_has_the_model_s_size_and_the_length_one() -> None:
    _, vectors = ask(TEI, {"inputs": CAT})
    assert [len(vector) for vector in vectors] == [384]
    assert near(vectors[0], vectors[0]) == pytest.approx(1)


def test_the_same_text_has_the_same_vector_on_every_engine() -> None:
    [of_tei], [of_lmi] = (ask(engine, {"inputs": [CAT]})[1] for engine in (TEI, LMI))
    of_vllm = ask(VLLM, {"input": CAT})[1]["data"][0]["embedding"]
    assert of_tei == pytest.approx(of_lmi)
    assert of_tei == pytest.approx(of_vllm)


def test_a_shorter_vector_is_the_first_part_of_the_whole() -> None:
    _, [whole] = ask(TEI, {"inputs": CAT, "normalize": False})
    _, [short] = ask(TEI, {"inputs": CAT, "normalize": False, "dimensions": 128})
    assert short == whole[:128]


@pytest.mark.parametrize("engine", [TEI, LMI])
def test_token_ids_are_texts_too(engine: dict[str, str]) -> None:
    status, vectors = ask(engine, {"inputs": [[5, 6, 7], [8]]})
    assert (status, len(vectors)) == (200, 2)


@pytest.mark.parametrize(
    ("engine", "body", "status"),
    [
        (TEI, {"inputs": []}, 400),
        (TEI, {"inputs": ""}, 422),
        (TEI, {"inputs": [1, 40_000]}, 422),
        (TEI, {"inputs": 5}, 422),
        (TEI, {"input": "a"}, 422),
        (TEI, b"{", 422),
        (TEI, {"messages": []}, 422),
        (TEI, {"inputs": ["a"] * 33}, 422),
        (OLD_TEI, {"inputs": ["a"] * 33}, 413),
        (TEI, {"inputs": "word " * 600}, 422),
        (OLD_TEI, {"inputs": "word " * 600}, 413),
        (LMI, {"inputs": 5}, 424),
        (LMI, {"inputs": "word " * 600}, 500),
        (VLLM, {"inputs": "a"}, 400),
        (VLLM, {"input": []}, 400),
        (VLLM, {"input": "word " * 600}, 400),
        (VLLM, {"input": "a", "dimensions": 64}, 400),
        (VLLM, {"input": "a", "model": "another"}, 404),
    ],
)
def test_a_body_is_refused_as_the_engine_refuses_it(engine: dict[str, str], body: Any, status: int) -> None:
    assert ask(engine, body)[0] == status


def test_a_long_text_is_cut_if_the_caller_asks_for_it() -> None:
    assert ask(TEI, {"inputs": "word " * 600, "truncate": True})[0] == 200


def test_more_texts_are_taken_if_a_setting_says_so() -> None:
    assert ask(TEI | {"MAX_CLIENT_BATCH_SIZE": "64"}, {"inputs": ["a"] * 64})[0] == 200


def test_vllm_counts_tokens_and_writes_base64() -> None:
    _, plain = ask(VLLM, {"input": [CAT, BANK]})
    _, packed = ask(VLLM, {"input": CAT, "encoding_format": "base64"})
    raw = base64.b64decode(packed["data"][0]["embedding"])
    assert list(struct.unpack("<384f", raw)) == pytest.approx(plain["data"][0]["embedding"])
    assert plain["usage"]["total_tokens"] > packed["usage"]["total_tokens"] > 0


def test_a_reranker_puts_the_text_that_fits_first() -> None:
    status, ranks = ask(TEI | {"HF_MODEL_ID": RERANKER}, {"query": "Where is the cat?", "texts": [BANK, CAT]})
    assert status == 200
    assert [rank["index"] for rank in ranks] == [1, 0]
    assert 1 > ranks[0]["score"] > ranks[1]["score"] > 0


def test_vllm_s_reranker_gives_the_best_ones() -> None:
    body = {"query": "Where is the cat?", "documents": [BANK, CAT], "top_n": 1}
    _, answer = ask(VLLM | {"SM_VLLM_MODEL": RERANKER}, body)
    assert [(each["index"], each["document"]["text"]) for each in answer["results"]] == [(1, CAT)]


def test_an_embedding_model_scores_nothing() -> None:
    assert ask(TEI, {"query": "a", "texts": ["b"]})[0] == 422


@pytest.mark.parametrize(
    "wrong", [{"DTYPE": "bfloat16"}, {"POOLING": "last"}, {"MAX_BATCH_TOKENS": "256"}, {"MAX_CLIENT_BATCH_SIZE": "0"}]
)
def test_tei_ends_at_settings_that_it_refuses(wrong: dict[str, str]) -> None:
    with pytest.raises(StartError):
        ask(TEI | wrong, {"inputs": "a"})


def test_an_image_makes_text_unless_its_settings_ask_for_vectors() -> None:
    row = row_of(f"1.dkr.ecr.us-west-2.amazonaws.com/{VLLM['image']}", {}, local_engines())
    assert not makes_vectors(row, {})
    assert makes_vectors(row, VLLM)
