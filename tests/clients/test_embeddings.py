"""POST /embeddings and POST /rerank by programs that search: openai, LangChain, llama-index, Open WebUI's requests."""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from operator import mul
from struct import unpack
from typing import Any

import httpx
import pytest
import requests
import tiktoken
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import OpenAIEmbeddings
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from openai import BadRequestError, OpenAI

from .conftest import Served

EMBED, VLLM, RERANK = "BAAI/bge-small-en-v1.5", "Qwen/Qwen3-Embedding-0.6B", "BAAI/bge-reranker-v2-m3"
MODELS = {"embed": EMBED, "embed-vllm": VLLM}
TEXTS = ["The observatory of Bern opens at dusk", "Cheese is sold at the market", "A lock lifts ships on the canal"]
QUESTION = "Which observatory opens at dusk?"


def near(one: Sequence[float], other: Sequence[float]) -> float:
    return float(sum(map(mul, one, other)))


def client_of(api: Served) -> OpenAI:
    return OpenAI(base_url=api.url, api_key=api.key)


@pytest.mark.parametrize("name", MODELS)
def test_openai_gets_the_same_vectors_in_both_encodings(served: Mapping[str, Served], name: str) -> None:
    client = client_of(served[name])
    usual = client.embeddings.create(model=MODELS[name], input=TEXTS)  # the SDK asks for base64 by itself
    floats = client.embeddings.create(model=MODELS[name], input=TEXTS, encoding_format="float")
    coded: Any = client.embeddings.create(model=MODELS[name], input=TEXTS, encoding_format="base64")
    assert (usual.object, usual.model, [row.index for row in usual.data]) == ("list", MODELS[name], [0, 1, 2])
    assert usual.usage.prompt_tokens == usual.usage.total_tokens > 0
    for one, other, third in zip(usual.data, floats.data, coded.data, strict=True):
        raw = b64decode(third.embedding)
        assert list(unpack(f"<{len(raw) // 4}f", raw)) == pytest.approx(one.embedding)
        assert one.embedding == pytest.approx(other.embedding, abs=1e-6)
        assert near(one.embedding, one.embedding) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_openai_sends_token_ids(served: Mapping[str, Served], name: str) -> None:
    client = client_of(served[name])
    several = client.embeddings.create(model=MODELS[name], input=[[101, 2054], [2003]])
    (one,) = client.embeddings.create(model=MODELS[name], input=[101, 2054]).data
    assert several.data[0].embedding == one.embedding != several.data[1].embedding
    assert several.usage.prompt_tokens >= 3


def test_openai_cuts_vectors_where_the_model_allows_it(served: Mapping[str, Served]) -> None:
    (row,) = client_of(served["embed-vllm"]).embeddings.create(model=VLLM, input="A list", dimensions=64).data
    assert len(row.embedding) == 64
    assert near(row.embedding, row.embedding) == pytest.approx(1, abs=1e-5)
    with pytest.raises(BadRequestError) as refused:
        client_of(served["embed"]).embeddings.create(model=EMBED, input="A list", dimensions=64)
    assert refused.value.param == "dimensions"


@pytest.mark.parametrize("name", MODELS)
def test_langchain_finds_the_right_text(served: Mapping[str, Served], name: str) -> None:
    model = OpenAIEmbeddings(
        base_url=served[name].url, api_key=served[name].key, model=MODELS[name], check_embedding_ctx_length=False
    )
    store = InMemoryVectorStore.from_texts(TEXTS, model)
    (found,) = store.similarity_search(QUESTION, k=1)
    assert found.page_content == TEXTS[0]


def test_langchain_as_it_comes_sends_openais_token_ids_and_is_told_what_to_change(
    served: Mapping[str, Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tokenizer is that of OpenAI's models. Here it has one token, because tiktoken would download the others."""
    encoding = tiktoken.Encoding(
        "cl100k_base", pat_str=r"(?s:.+)", mergeable_ranks=bytes_from(99_000), special_tokens={}
    )
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "cl100k_base", encoding)
    model = OpenAIEmbeddings(base_url=served["embed"].url, api_key=served["embed"].key, model=EMBED)
    with pytest.raises(BadRequestError) as refused:
        model.embed_documents(TEXTS)
    assert refused.value.param == "input[0]"
    assert "check_embedding_ctx_length=False" in refused.value.message


def bytes_from(first: int) -> dict[bytes, int]:
    """Return a token for each byte, with ids from `first`."""
    return {bytes([each]): first + each for each in range(256)}


@pytest.mark.parametrize("name", MODELS)
def test_llama_index_embeds_texts_and_queries(served: Mapping[str, Served], name: str) -> None:
    given = {"model_name": MODELS[name], "api_base": served[name].url, "api_key": served[name].key}
    with httpx.Client() as http:  # which it would leave open
        model = OpenAILikeEmbedding(**given, embed_batch_size=2, http_client=http)
        texts, question = model.get_text_embedding_batch(TEXTS), model.get_query_embedding(QUESTION)
    scores = [near(question, text) for text in texts]
    assert scores.index(max(scores)) == 0


def test_open_webui_retrieves_and_reranks(served: Mapping[str, Served]) -> None:
    """Its package weighs gigabytes, so these are its requests: retrieval/utils.py and retrieval/models/external.py."""

    def post(name: str, path: str, body: dict[str, Any]) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {served[name].key}"}
        answer = requests.post(f"{served[name].url.rstrip('/')}/{path}", headers=headers, json=body, timeout=60)
        answer.raise_for_status()
        return answer.json()

    texts = [row["embedding"] for row in post("embed", "embeddings", {"input": TEXTS, "model": EMBED})["data"]]
    (question,) = post("embed", "embeddings", {"input": [QUESTION], "model": EMBED})["data"]
    scores = [near(question["embedding"], text) for text in texts]
    asked = {"model": RERANK, "query": QUESTION, "documents": TEXTS, "top_n": len(TEXTS)}
    ranked = sorted(post("rerank", "rerank", asked)["results"], key=lambda result: result["index"])
    scores_again = [result["relevance_score"] for result in ranked]
    assert len(scores_again) == len(TEXTS)
    assert scores.index(max(scores)) == scores_again.index(max(scores_again)) == 0
