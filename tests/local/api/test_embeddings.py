"""POST /embeddings and POST /rerank over real HTTP: a retrieval whose right answers are known, jobs, batches, verbs."""

import json
from typing import Any

import pytest

from llm_hosting.deployment.file import parse
from local_cloud.api_client import ApiClient
from local_cloud.cloud import LocalCloud
from slipway.deploying.next_steps import next_steps
from slipway.measuring.figures.results import read
from slipway.stack.deployed_stack import find_stack
from support.command import Command
from support.repository import ROOT
from support.retrieval import QUESTIONS, TEXTS, best
from support.stacks.canary import KEPT, Canary
from support.stacks.deployed_stacks import Apis

SHIPPED = ("bge-small", "qwen3-embedding-0-6b")


def embed(api: ApiClient, given: Any, **more: Any) -> list[list[float]]:
    status, _, answer = api.call("POST", "/embeddings", {"input": given} | more)
    assert status == 200, answer
    return [row["embedding"] for row in answer["data"]]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_retrieval_over_500_texts_finds_the_known_answers(apis: Apis, name: str) -> None:
    api = apis(name)
    texts, questions = embed(api, TEXTS), embed(api, [question for question, _ in QUESTIONS])
    assert len(TEXTS) == 500
    found = [best(question, texts, 10) for question in questions]
    hits = [right == indices[0] for indices, (_, right) in zip(found, QUESTIONS, strict=True)]
    assert sum(hits) >= 0.9 * len(hits)
    assert all(right in indices for indices, (_, right) in zip(found, QUESTIONS, strict=True))


def test_the_best_documents_of_500_come_first(apis: Apis) -> None:
    api = apis("rerank")
    for question, right in QUESTIONS[::20]:
        status, _, answer = api.call("POST", "/rerank", {"query": question, "documents": TEXTS, "top_n": 3})
        assert status == 200, answer
        assert len(answer["results"]) == 3
        assert answer["results"][0]["index"] == right


def test_a_thousand_texts_keep_their_order(apis: Apis) -> None:
    api = apis("bge-small")
    vectors = embed(api, [f"number {each}" for each in range(1000)])
    assert len(vectors) == 1000
    assert [vectors[0], vectors[64], vectors[999]] == embed(api, ["number 0", "number 64", "number 999"])


def test_a_cut_vector_is_near_to_the_same_texts(apis: Apis) -> None:
    api = apis("qwen3-embedding-0-6b")
    texts = embed(api, TEXTS[:20], dimensions=256)
    assert {len(vector) for vector in texts} == {256}
    assert best(embed(api, TEXTS[7], dimensions=256)[0], texts, 1) == [7]


def test_a_text_that_is_too_long_is_refused_and_not_cut(apis: Apis) -> None:
    status, _, answer = apis("bge-small").call("POST", "/embeddings", {"input": ["short", "word " * 600]})
    assert (status, answer["error"]["code"]) == (400, "context_length_exceeded")


def test_a_deployment_of_vectors_has_no_routes_for_text(apis: Apis) -> None:
    for path, body in (("chat/completions", {"messages": []}), ("completions", {"prompt": "x"}), ("rerank", {})):
        assert apis("bge-small").call("POST", f"/{path}", body)[0] in (403, 404)


def test_jobs_and_generate_take_the_engines_own_body(apis: Apis) -> None:
    api = apis("bge-small")
    body = {"inputs": ["A list", "A row"]}
    status, _, vectors = api.call("POST", "/generate", body)
    assert (status, len(vectors)) == (200, 2)
    status, _, job = api.call("POST", "/jobs?wait=25", body)
    assert (status, job["status"], job["output"]) == (200, "succeeded", vectors)


@pytest.mark.parametrize("name", ["bge-small", "rerank"])
def test_texts_are_in_no_log(apis: Apis, cloud: LocalCloud, name: str) -> None:
    text = f"canary-in-{name}"
    api = apis(name)
    canary = Canary(cloud, api.region, text)
    bodies: list[dict[str, Any]] = [{"input": text}, {"query": text, "documents": [text]}, {"inputs": [text]}]
    for body in bodies:
        for path in ("/embeddings", "/rerank", "/generate", "/jobs?wait=25"):
            for more in ({}, {text: text}, {"model": text}):
                api.call("POST", path, body | more)
    places = canary.places()
    assert "file input" in places, "the canary was sent"
    assert places - KEPT == set()


def test_a_job_answers_for_a_model_that_only_jobs_reach(apis: Apis) -> None:
    api = apis("embed-async")
    status, _, answer = api.call("POST", "/embeddings?wait=300", {"input": TEXTS, "encoding_format": "base64"})
    assert (status, answer["object"], len(answer["data"])) == (200, "list", 500)
    assert answer["usage"]["prompt_tokens"] > 500
    assert len(answer["data"][499]["embedding"]) == 5464  # 1,024 numbers of four bytes


class TestVerbs:
    def test_call_shows_how_similar_texts_are(self, apis: Apis, slipway: Command) -> None:
        apis("bge-small")
        outcome = slipway("call", "bge-small", "--embed", "A list has an order", "A list of an order", "Bern")
        assert (outcome.status, outcome.stderr) == (0, "")
        first, _, _, row, *_ = outcome.stdout.splitlines()
        assert first.startswith("3 vectors of 384 numbers (")
        number, same, near, far, *_ = row.split()
        assert (number, same) == ("1", "1.00")
        assert float(near) > float(far)

    def test_call_prints_the_whole_answer_as_json(self, apis: Apis, slipway: Command) -> None:
        apis("bge-small")
        answer = json.loads(slipway("call", "bge-small", "--embed", "A list", "--json").stdout)
        assert len(answer["data"][0]["embedding"]) == 384

    def test_the_lines_after_a_deploy_ask_for_vectors(self, apis: Apis, cloud: LocalCloud) -> None:
        region = apis("bge-small").region
        stack = find_stack("bge-small", lambda service: cloud.client(service, region=region))
        deployment = parse(ROOT / "deployments/bge-small.yaml").deployment
        assert deployment is not None
        assert any(line.startswith("slipway call bge-small --embed ") for line in next_steps(stack, deployment))

    def test_a_refusal_is_printed_with_its_code(self, apis: Apis, slipway: Command) -> None:
        apis("bge-small")
        outcome = slipway("call", "bge-small", "--embed", "")
        assert (outcome.status, outcome.stdout) == (1, "")
        assert outcome.stderr.startswith("400 empty_input")

    def test_status_does_not_say_that_a_text_generator_makes_the_vectors(self, apis: Apis, slipway: Command) -> None:
        for name in ("bge-small", "rerank"):
            apis(name)
            found = json.loads(slipway("status", name, "--json").stdout)
            assert found["answered_by"] == "a comparison of words answers in place of the model"

    def test_bench_measures_embeddings_by_itself(self, apis: Apis, slipway: Command, tmp_path: Any) -> None:
        apis("bge-small")
        load = ("--clients", "2", "--requests", "4", "--rounds", "1", "--prompt-tokens", "5", "--texts", "3")
        outcome = slipway("bench", "bge-small", *load, "--output", str(tmp_path))
        assert outcome.status == 0, outcome.stderr
        results = read(next(tmp_path.glob("*/*/results.json")).parent)
        assert (results.route, results.batch, results.answer_tokens) == ("embeddings", 3, 0)
        assert all(answer.prompt_tokens and not answer.error for answer in results.loads[0].answers)
