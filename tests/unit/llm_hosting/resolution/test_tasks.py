"""A deployment that makes vectors or scores: image, variables, routes, and the facts that the functions get."""

from typing import Any

import pytest

from llm_hosting.resolution import Resolution
from support.deployments.good_one import resolved

SMALL, QWEN, RERANKER = "BAAI/bge-small-en-v1.5", "Qwen/Qwen3-Embedding-0.6B", "BAAI/bge-reranker-v2-m3"


def made(model: str, task: str = "embed", engine: str = "tei", type_: str = "ml.g6.2xlarge", **more: Any) -> Resolution:
    serving = {"engine": engine, **more.pop("serving", {})}
    return resolved(
        {"model": {"id": model, "task": task, **more}, "serving": serving, "hosting": {"instance_type": type_}}
    )


@pytest.mark.parametrize(
    ("type_", "image"),
    [
        ("ml.g6.2xlarge", "tei:2.0.1-tei1.9.3-gpu-py310-cu129-ubuntu24.04"),
        ("ml.c5.2xlarge", "tei-cpu:2.0.1-tei1.9.3-cpu-py310-ubuntu24.04"),
    ],
)
def test_the_instance_type_chooses_the_image_of_tei(type_: str, image: str) -> None:
    assert made(SMALL, type_=type_).image == image


def test_settings_become_tei_s_variables() -> None:
    found = made(SMALL, pooling="cls", dtype="fp16", revision="abc", serving={"max_batch_tokens": 4096}).environment
    assert found == {
        "HF_MODEL_ID": SMALL,
        "HF_MODEL_REVISION": "abc",
        "DTYPE": "float16",
        "POOLING": "cls",
        "MAX_BATCH_TOKENS": "4096",
        "AUTO_TRUNCATE": "false",
        "MAX_CLIENT_BATCH_SIZE": "2048",
    }


@pytest.mark.parametrize(
    ("engine", "variables"),
    [
        ("vllm", {"SM_VLLM_RUNNER": "pooling", "SM_VLLM_POOLER_CONFIG": '{"pooling_type": "LAST"}'}),
        ("lmi-vllm", {"OPTION_TASK": "text-embedding", "OPTION_POOLER_CONFIG": '{"pooling_type": "LAST"}'}),
    ],
)
def test_vllm_is_told_to_embed(engine: str, variables: dict[str, str]) -> None:
    assert made(QWEN, engine=engine, pooling="last-token").environment.items() >= variables.items()


def test_a_model_that_makes_text_has_no_variable_for_its_task() -> None:
    assert not resolved({}).environment.keys() & {"OPTION_TASK", "OPTION_POOLER_CONFIG"}


@pytest.mark.parametrize(
    ("task", "engine", "route", "body"),
    [
        ("embed", "tei", "embeddings", "inputs"),
        ("embed", "lmi-vllm", "embeddings", "inputs"),
        ("embed", "vllm", "embeddings", "input"),
        ("rerank", "tei", "rerank", "query"),
        ("rerank", "vllm", "rerank", "query"),
    ],
)
def test_only_the_route_of_the_task_is_there_and_nothing_streams(task: str, engine: str, route: str, body: str) -> None:
    found = made(RERANKER if task == "rerank" else QWEN, task, engine)
    assert (found.openai_routes, found.bodies, found.streams) == ((route,), (body,), False)


def test_a_deployment_may_leave_openai_s_routes_out() -> None:
    found = resolved({"model": {"id": SMALL, "task": "embed"}, "serving": {"engine": "tei"}, "api": {"openai": False}})
    assert found.openai_routes == ()


def test_the_functions_know_the_engine_s_form_and_the_model_s_limits() -> None:
    assert (
        made(QWEN).openai_facts.items()
        >= {
            "embeds": "tei",
            "most_texts": 2048,
            "takes_ids": True,
            "max_tokens": 32768,
            "vocabulary": 151669,
            "dimensions": 1024,
            "matryoshka": True,
        }.items()
    )
    assert made(RERANKER, "rerank", "vllm").openai_facts.items() >= {"reranks": "jina", "max_tokens": 8192}.items()


def test_a_variable_says_how_many_texts_a_request_may_have() -> None:
    assert made(SMALL, serving={"environment": {"MAX_CLIENT_BATCH_SIZE": "500"}}).openai_facts["most_texts"] == 500


def test_tei_keeps_no_cache_and_needs_memory_for_a_step() -> None:
    small, large = (made(SMALL, serving={"max_batch_tokens": tokens}).placements[0].memory for tokens in (1024, 65_536))
    assert small.cached_tokens is None
    assert small.per_token == 0
    assert large.overhead - small.overhead == pytest.approx(64_512 * (8 * 384 + 2 * 1536) * 2)


def test_vllm_keeps_a_cache_for_a_model_that_could_make_text() -> None:
    assert made(QWEN, engine="vllm").placements[0].memory.cached_tokens
    assert made(SMALL, engine="vllm").placements[0].memory.cached_tokens is None
