"""`slipway models`: the catalog's rows from locks that were made from a Hub on loopback."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.catalog.laws import demand_own_rows
from llm_hosting.catalog.models import MODELS_FILE, ModelShape, model_shape, shapes_of
from slipway.locking import lock
from slipway.reference import catalog_rows as models
from support.own_project import own_project
from support.repository import ROOT
from support.stand_ins.hub_server import HubServer

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "hidden_size": 256,
    "vocab_size": 32_000,
    "max_position_embeddings": 4096,
    "torch_dtype": "float16",
}
OLD: dict[str, Any] = {
    "architecture": "LlamaForCausalLM", "parameters_in_billions": 0.001, "layers": 3, "heads": 8, "kv_heads": 8,
    "head_size": 32, "hidden_size": 256, "context": 4096, "dtype": "fp16", "quantization": None, "weights_in_gb": 0.002,
    "gated": False, "sliding_window": None, "needs": {"vllm": "0.9"},
}  # fmt: skip

Locked = Callable[..., Path]


@pytest.fixture
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Locked:
    """Locks a model with a tokenizer, whose configuration differs in this from CONFIG."""

    def run(model: str, tokenizer: str = "{}", **changed: Any) -> Path:
        header = json.dumps({"a": {"dtype": "F16", "shape": [1000, 1000], "data_offsets": [0, 2_000_000]}}).encode()
        weights = struct.pack("<Q", len(header)) + header + bytes(2_000_000)
        path = tmp_path / f"{model.rpartition('/')[2]}.yaml"
        path.write_text(f"model: {{id: {model}}}\nhosting: {{instance_type: ml.g6.2xlarge}}\n")
        files = {"config.json": json.dumps(CONFIG | changed).encode(), "model.safetensors": weights}
        files["tokenizer_config.json"] = tokenizer.encode()
        with HubServer(model, files) as hub:
            monkeypatch.setenv("HF_ENDPOINT", hub.url)
            assert lock.run(str(path), tmp_path) == 0
        return path.with_suffix(".lock.json")

    return run


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    path = tmp_path / "models.json"
    path.write_text(json.dumps({"source": "the Hub", "models": [{"ids": ["org/one", "org/two"]} | OLD]}))
    return path


def shape(catalog: Path, hub_id: str) -> ModelShape:
    return next(each for each in shapes_of(json.loads(catalog.read_text())) if hub_id in each.ids)


def test_a_row_follows_its_lock_and_the_others_stay(
    locked: Locked, catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert models.run([locked("org/one")], catalog) == 0
    assert "org/one: layers 3 -> 2" in capsys.readouterr().out
    assert (shape(catalog, "org/one").layers, shape(catalog, "org/one").needs) == (2, {"vllm": "0.9"})
    assert shape(catalog, "org/two").layers == 3


def test_models_of_one_shape_share_a_sorted_row(
    locked: Locked, catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert models.run([locked("my-org/b"), locked("my-org/a")], catalog) == 0
    assert [each.ids for each in shapes_of(json.loads(catalog.read_text()))] == [
        ("my-org/a", "my-org/b"),
        ("org/one", "org/two"),
    ]
    first = catalog.read_text()
    capsys.readouterr()
    assert models.run([locked("my-org/a")], catalog) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "my-org/a: unchanged"
    assert catalog.read_text() == first


def test_a_row_says_how_weights_are_packed_and_positions_scaled(locked: Locked, catalog: Path) -> None:
    group = {"weights": {"type": "int", "num_bits": 4, "group_size": 128}}
    packed = {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}}
    models.run([locked("org/one", quantization_config=packed, rope_scaling={"rope_type": "llama3"})], catalog)
    found = shape(catalog, "org/one")
    assert (found.quantization, found.quant_method, found.rope) == ("gptq", "compressed-tensors", "llama3")


@pytest.mark.parametrize(("tokenizer", "has_one"), [('{"chat_template": "{{ messages }}"}', True), ("{}", False)])
def test_a_row_says_whether_there_is_a_chat_template(
    locked: Locked, catalog: Path, tokenizer: str, has_one: bool
) -> None:
    models.run([locked("org/one", tokenizer)], catalog)
    assert shape(catalog, "org/one").chat_template is has_one
    assert shape(catalog, "org/two").chat_template is None


def test_a_lock_that_says_too_little_writes_nothing(
    locked: Locked, catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, unnamed = catalog.read_text(), locked("my-org/unnamed", architectures=[])
    assert models.run([locked("org/one"), unnamed], catalog) == 2
    assert capsys.readouterr().err == "unnamed.lock.json lacks architecture or size, without which a row is of no use\n"
    assert catalog.read_text() == before


def test_the_catalog_is_as_the_command_writes_it() -> None:
    content = json.loads(MODELS_FILE.read_text())
    rows = {hub_id: row for row in content["models"] for hub_id in row["ids"]}
    assert models.written(content, rows) == MODELS_FILE.read_text()


def test_a_project_gets_a_file_of_its_own(locked: Locked, tmp_path: Path) -> None:
    path = locked("my-org/a")
    catalog = models.catalog_of(tmp_path)
    assert catalog == tmp_path / "catalog" / "models.json"
    assert models.run([path], catalog) == 0
    with own_project(tmp_path, {}):
        demand_own_rows()
        found = model_shape("my-org/a")
        assert found
        assert (found.layers, found.vocabulary) == (2, 32_000)
    assert models.catalog_of(ROOT) == MODELS_FILE


def test_a_row_of_few_columns_keeps_them(locked: Locked, tmp_path: Path) -> None:
    few: dict[str, object] = {"models": [{"ids": ["Qwen/Qwen3-4B"], "chat_template": True}]}
    with own_project(tmp_path, {"models.json": few}):
        assert models.run([locked("my-org/a")], models.catalog_of(tmp_path)) == 0
    rows = json.loads((tmp_path / "catalog" / "models.json").read_text())["models"]
    assert rows[1] == {"ids": ["Qwen/Qwen3-4B"], "chat_template": True}
