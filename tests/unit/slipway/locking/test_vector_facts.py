"""Facts of embedding models and rerankers in a lock, from the files of sentence-transformers."""

import json
from pathlib import Path
from typing import Any

import pytest

from slipway.locking import lock
from support.stand_ins.hub_models import MODEL, files
from support.stand_ins.hub_server import HubServer

BERT = {"architectures": ["BertModel"], "model_type": "bert", "hidden_size": 32, "max_position_embeddings": 512}
POOLING = {"word_embedding_dimension": 32, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}


def facts(
    monkeypatch: pytest.MonkeyPatch, deployment: Path, config: dict[str, Any], **beside: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    texts = {"config.json": config} | {name.replace("__", "/") + ".json": text for name, text in beside.items()}
    made = files() | {name: json.dumps(text).encode() for name, text in texts.items()}
    with HubServer(MODEL, made) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        assert lock.run(str(deployment), deployment.parent) == 0
    content = json.loads(deployment.with_suffix(".lock.json").read_text())
    return content["facts"], content["files"]


def test_a_lock_says_size_and_pooling_of_an_embedding_model(monkeypatch: pytest.MonkeyPatch, deployment: Path) -> None:
    found, kept = facts(monkeypatch, deployment, BERT, **{"1_Pooling__config": POOLING})
    assert (found["pooling"], found["vector_size"], found["context"]) == ("mean", 32, 512)
    assert "1_Pooling/config.json" in kept


def test_sentence_transformers_own_limit_is_the_longest_text(monkeypatch: pytest.MonkeyPatch, deployment: Path) -> None:
    found, _ = facts(monkeypatch, deployment, BERT, sentence_bert_config={"max_seq_length": 256})
    assert found["context"] == 256


def test_positions_of_roberta_begin_behind_the_padding(monkeypatch: pytest.MonkeyPatch, deployment: Path) -> None:
    config = {**BERT, "model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}
    assert facts(monkeypatch, deployment, config)[0]["context"] == 512


def test_a_classifier_has_labels(monkeypatch: pytest.MonkeyPatch, deployment: Path) -> None:
    config = {**BERT, "architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
    assert facts(monkeypatch, deployment, config)[0]["labels"] == 1


def test_a_model_may_say_that_its_vectors_can_be_shortened(monkeypatch: pytest.MonkeyPatch, deployment: Path) -> None:
    assert facts(monkeypatch, deployment, {**BERT, "matryoshka_dimensions": [16, 32]})[0]["matryoshka"] is True


def test_a_model_for_text_has_none_of_these_facts(monkeypatch: pytest.MonkeyPatch, deployment: Path) -> None:
    config = {**BERT, "architectures": ["LlamaForCausalLM"], "id2label": {"0": "LABEL_0", "1": "LABEL_1"}}
    found, _ = facts(monkeypatch, deployment, config)
    assert not found.keys() & {"pooling", "vector_size", "matryoshka", "labels"}
