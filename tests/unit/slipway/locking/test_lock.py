"""`slipway lock` against a Hub on loopback, and `check` of what it wrote."""

import json
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.preflight.validation import validate_file
from llm_hosting.resolution import Resolution
from slipway.checking.check import check
from slipway.locking import lock, model_files
from support.stand_ins.hub_models import CONFIG, GPTQ, MODEL, files, gguf, safetensors
from support.stand_ins.hub_server import HubServer

SHARD = "model-00002-of-00002.safetensors"
ADAPTER = {
    "adapter_config.json": b'{"base_model_name_or_path": "org/base", "r": 16}',
    "adapter_model.safetensors": safetensors({}),
}


def locked(path: Path) -> dict[str, Any]:
    assert lock.run(str(path), path.parent) == 0
    content: dict[str, Any] = json.loads(path.with_suffix(".lock.json").read_text())
    return content


def resolution(path: Path) -> Resolution:
    found = validate_file(path, [])
    assert found.resolution, found.findings
    return found.resolution


def test_a_lock_holds_commit_facts_and_files(hub: HubServer, deployment: Path) -> None:
    found = locked(deployment)
    assert (found["model"], found["revision"], found["commit"]) == (MODEL, None, hub.main)
    assert found["facts"]["parameters_in_billions"] == 0.0003
    assert found["bytes_by_dtype"] == {"F16": 600_000}
    assert (found["facts"]["layers"], found["facts"]["head_size"], found["chat_template"]) == (2, 32, True)
    shards = "model-*-of-00002.safetensors"
    assert set(found["files"]) == {"config.json", "tokenizer_config.json", shards}
    assert found["files"][shards].startswith("600163 in 2 files, sha256:")


def test_weights_are_read_by_their_headers_only(hub: HubServer, deployment: Path) -> None:
    locked(deployment)
    asked = [part for path, part in hub.ranges if path.endswith(".safetensors")]
    assert len(asked) == 2
    assert all(asked)


def test_the_same_commit_gives_the_same_bytes(hub: HubServer, deployment: Path) -> None:
    locked(deployment)
    first = deployment.with_suffix(".lock.json").read_bytes()
    locked(deployment)
    assert deployment.with_suffix(".lock.json").read_bytes() == first


def test_rules_take_the_facts_of_the_lock_not_those_of_the_name(hub: HubServer, deployment: Path) -> None:
    assert resolution(deployment).container.shape is None
    locked(deployment)
    found = resolution(deployment).container
    assert (found.stored_quantization, found.parameters_in_billions) == (None, 0.0003)
    assert found.shape is not None
    assert found.shape.architecture == "LlamaForCausalLM"


def test_the_container_loads_the_locked_commit(hub: HubServer, deployment: Path) -> None:
    locked(deployment)
    assert resolution(deployment).environment["HF_REVISION"] == hub.main


def test_packed_weights_are_counted_unpacked(hub: HubServer, deployment: Path) -> None:
    packed = {"a.qweight": ("I32", [125, 1000], 500_000), "a.scales": ("F16", [8, 1000], 16_000)}
    hub.push(files(CONFIG | GPTQ) | {"model-00001-of-00002.safetensors": safetensors(packed)})
    facts = locked(deployment)["facts"]
    assert (facts["quantization"], facts["quantization_block"]) == ("gptq", 128)
    assert facts["parameters_in_billions"] == pytest.approx((125_000 * 8 + 50_000) / 1e9, abs=1e-4)


def test_a_format_of_unknown_size_stays_unknown(hub: HubServer, deployment: Path) -> None:
    hub.push(files(CONFIG | {"quantization_config": {"quant_method": "hqq", "bits": 3}}))
    assert locked(deployment)["packing"] == "hqq"
    assert resolution(deployment).container.unknown_format == "hqq"
    assert any(each.rule == "support-is-known" for each in validate_file(deployment, []).findings)


@pytest.mark.parametrize(
    ("model", "says"),
    [("{id: my-org/other}", "is of my-org/tuned-gptq"), (f"{{id: {MODEL}, revision: v2}}", "was made for the newest")],
)
def test_a_lock_of_another_model_or_revision_is_an_error(
    hub: HubServer, deployment: Path, model: str, says: str
) -> None:
    locked(deployment)
    deployment.write_text(deployment.read_text().replace(f"{{id: {MODEL}}}", model))
    (finding,) = validate_file(deployment, []).errors
    assert says in finding.message
    assert f"slipway lock {deployment}" in finding.message


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"version": 9}', b'{"version": 1, "model": "a/b"}'])
def test_a_broken_lock_is_an_error(deployment: Path, content: bytes) -> None:
    deployment.with_suffix(".lock.json").write_bytes(content)
    (finding,) = validate_file(deployment, []).errors
    assert "tuned.lock.json" in finding.message
    assert f"slipway lock {deployment}" in finding.message


def test_a_gated_model_needs_a_token_and_nothing_is_written(
    hub: HubServer, deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.token = "hf_other"
    assert lock.run(str(deployment), deployment.parent) == 2
    assert "is gated" in capsys.readouterr().err
    assert [each.name for each in deployment.parent.iterdir()] == ["tuned.yaml"]


def test_a_lock_that_can_not_be_written_leaves_nothing(
    hub: HubServer, deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deployment.with_suffix(".lock.json").mkdir()
    assert lock.run(str(deployment), deployment.parent) == 2
    assert capsys.readouterr().err.endswith("can't be used: it is a folder.\n")
    assert {each.name for each in deployment.parent.iterdir()} == {"tuned.yaml", "tuned.lock.json"}


MISTRALS_OWN: dict[str, Any] = {
    "dim": 5120,
    "n_layers": 40,
    "head_dim": 128,
    "hidden_dim": 14336,
    "n_heads": 32,
    "n_kv_heads": 8,
    "vocab_size": 131072,
    "max_seq_len": 32768,
}
AS_FACTS = {
    "architecture": "MistralForCausalLM",
    "layers": 40,
    "heads": 32,
    "kv_heads": 8,
    "head_size": 128,
    "hidden_size": 5120,
    "intermediate_size": 14336,
    "vocabulary": 131072,
    "context": 32768,
    "sliding_window": None,
    "quantization": None,
}
EXPERTS = {"num_experts": 128, "num_experts_per_tok": 4, "expert_hidden_dim": 4096, "num_shared_experts": 1}


@pytest.mark.parametrize(
    ("params", "facts"),
    [
        ({}, {}),
        ({"quantization": {"qformat_weight": "fp8_e4m3", "qscheme_act": "TENSOR"}}, {"quantization": "fp8"}),
        ({"sliding_window": 4096}, {"sliding_window": 4096, "layers_with_window": 40}),
        ({"sliding_window": [None, 4096, 4096, 4096]}, {"sliding_window": 4096, "layers_with_window": 30}),
        ({"vision_encoder": {"hidden_size": 1024}}, {"architecture": "PixtralForConditionalGeneration"}),
        ({"multimodal": {"whisper_model_args": {}}}, {"architecture": "VoxtralForConditionalGeneration"}),
        ({"moe": EXPERTS}, {"architecture": "MistralLarge3ForCausalLM", "experts": 128, "intermediate_size": 4096}),
        ({"yarn": {"factor": 32, "original_max_position_embeddings": 8192}}, {"context": 262144}),
        ({"max_seq_len": None}, {"context": 128_000}),
    ],
    ids=str,
)
def test_mistrals_own_form_of_a_model_is_read(
    hub: HubServer, deployment: Path, params: dict[str, Any], facts: dict[str, Any]
) -> None:
    weights = safetensors({"a": ("BF16", [250, 1000], 500_000)})
    hub.push({"params.json": json.dumps(MISTRALS_OWN | params).encode(), "consolidated.safetensors": weights})
    found = locked(deployment)["facts"]
    wanted = AS_FACTS | facts
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("file", "name", "value"),
    [
        ("config.json", "num_hidden_layers", '"many"'),
        ("config.json", "num_key_value_heads", "-5"),
        ("config.json", "max_position_embeddings", "NaN"),
        ("config.json", "hidden_size", "true"),
        ("params.json", "n_layers", '"many"'),
        ("params.json", "n_kv_heads", "-1"),
    ],
)
def test_a_count_that_is_none_is_an_error_that_names_file_and_key(
    hub: HubServer, deployment: Path, file: str, name: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = f'{{"architectures": ["LlamaForCausalLM"], "{name}": {value}}}'.encode()
    hub.push({path: body for path, body in files().items() if path != "config.json"} | {file: wrong})
    assert lock.run(str(deployment), deployment.parent) == 2
    said = capsys.readouterr().err
    assert said == f"{file} of {MODEL} at {hub.main} says {name}: {value}; it must be a positive whole number.\n"


@pytest.mark.parametrize("name", ["tokenizer_config.json", "generation_config.json"])
def test_a_broken_file_beside_the_weights_is_told_and_the_model_is_locked(
    hub: HubServer, deployment: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.push(files() | {name: b"{"})
    found = locked(deployment)
    assert found["facts"]["layers"] == 2
    assert found["chat_template"] is (None if name == "tokenizer_config.json" else True)
    said = capsys.readouterr().err
    assert said.startswith(f"{name} of {MODEL}")
    assert "The engine may end at its start." in said


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("tokenizer.json", b""),
        ("tokenizer.json", b'{"model": {"vocab": {"a": 0, "b'),
        ("tokenizer.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n"),
        ("tokenizer.model", b"<!DOCTYPE html><html>"),
        ("tokenizer_config.json", b""),
        ("tokenizer_config.json", b"{oops"),
        ("tokenizer_config.json", b"version https://git-lfs.github.com/spec/v1\n"),
    ],
)
def test_check_names_a_tokenizer_that_is_not_whole(
    hub: HubServer, deployment: Path, name: str, body: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.push(files() | {name: body})
    assert locked(deployment)["unreadable"] == [name]
    assert capsys.readouterr().err.startswith(f"{name} of {MODEL}")
    report = check(deployment, []).report
    assert (report.verdict, report.findings[0].rule) == ("refused", "tokenizer-is-whole")
    assert report.findings[0].message.startswith(f"{name} of ")


def test_a_lock_from_before_says_nothing_of_unreadable_files(hub: HubServer, deployment: Path) -> None:
    content = locked(deployment)
    del content["unreadable"]
    deployment.with_suffix(".lock.json").write_text(json.dumps(content))
    assert check(deployment, []).report.verdict == "ready"


def test_a_format_in_the_file_is_that_of_the_lock_whatever_its_bits(hub: HubServer, deployment: Path) -> None:
    hub.push(files(CONFIG | {"quantization_config": {"quant_method": "gptq", "bits": 8, "group_size": 128}}))
    deployment.write_text(deployment.read_text().replace(f"id: {MODEL}", f"id: {MODEL}, quantization: gptq"))
    assert locked(deployment)["packing"] == "gptq with 8 bits"
    assert "settings-agree-with-lock" not in {finding.rule for finding in check(deployment, []).report.findings}


def test_a_folder_without_weights_is_named(
    deployment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    assert lock.run(str(deployment), tmp_path, folder) == 2
    assert capsys.readouterr().err == f"{folder} holds no weights (*.safetensors, *.bin, *.pt, *.pth, *.gguf).\n"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", f"config.json of {MODEL} at {{}} is empty."),
        (b"{}", f"{MODEL} at {{}} says nothing in its config.json, so nothing can be read from it."),
        (b"[" * 100_000, f"config.json of {MODEL} at {{}} nests its settings deeper than any model."),
    ],
)
def test_a_configuration_that_says_nothing_is_called_so(
    hub: HubServer, deployment: Path, body: bytes, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.push(files() | {"config.json": body})
    assert lock.run(str(deployment), deployment.parent) == 2
    assert capsys.readouterr().err == f"{says.format(hub.main)}\n"


def test_control_characters_of_a_configuration_reach_neither_lock_nor_terminal(
    hub: HubServer, deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.push(
        files(
            CONFIG | {"architectures": ["Evil\x1b[31m\x07\u202e\x9b"], "quantization_config": {"quant_method": "\x1b"}}
        )
    )
    locked(deployment)
    said = capsys.readouterr()
    assert (said.out + said.err).replace("\n", "").isprintable()
    path = deployment.with_suffix(".lock.json")
    assert "Evil [31m   " in path.read_text()
    path.write_text(path.read_text().replace("Evil", "Evil\\u001b[2J"))
    assert all(finding.message.isprintable() for finding in validate_file(deployment, []).findings)


def test_infinity_in_a_setting_is_no_obstacle(hub: HubServer, deployment: Path) -> None:
    hub.push(files(CONFIG | {"time_step_limit": [0.0, float("inf")], "rope_scaling": {"mscale": float("nan")}}))
    assert locked(deployment)["rope"] == {"mscale": None}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"config.json": None}, "has no config.json or params.json"),
        ({"config.json": b"{"}, "is not JSON"),
        ({"model-00001-of-00002.safetensors": b"\xff" * 200}, "is broken"),
        ({"model-00001-of-00002.safetensors": None}, "lacks model-00001-of-00002.safetensors; name another commit"),
        ({"model-00001-of-00002.safetensors": files()[SHARD][:-1]}, "and its header describes"),
        (
            {"config.json": b" <html>Who are you?</html>"},
            "is an HTML page, perhaps of a login, not the file itself; name",
        ),
        ({"config.json": b"version https://git-lfs.github.com/spec/v1\n"}, "config.json of my-org/tuned-gptq at "),
    ],
)
def test_a_repository_that_says_nothing_is_one_sentence(
    hub: HubServer, deployment: Path, change: dict[str, bytes | None], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.push({path: body for path, body in (files() | change).items() if body is not None})
    assert lock.run(str(deployment), deployment.parent) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
    assert not deployment.with_suffix(".lock.json").exists()


def test_check_says_where_its_facts_come_from(hub: HubServer, deployment: Path) -> None:
    assert check(deployment, []).report.facts == "unknown"
    locked(deployment)
    assert check(deployment, []).report.facts == f"tuned.lock.json, commit {hub.main[:7]}"


def test_a_folder_says_the_same_but_for_the_commit(
    hub: HubServer,
    deployment: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from_hub = locked(deployment)
    folder = tmp_path / "model"
    folder.mkdir()
    for path, body in files().items():
        (folder / path).write_bytes(body)
    monkeypatch.setattr(model_files, "_READ_SOON_IN_BYTES", 0)
    assert lock.run(str(deployment), tmp_path, folder) == 0
    assert f"reading 0 GB in {folder} for their checksums ...\n" == capsys.readouterr().err
    found = json.loads(deployment.with_suffix(".lock.json").read_text())
    assert {name for name in found if found[name] != from_hub[name]} == {"source", "commit", "gated", "facts"}
    assert {name for name, fact in found["facts"].items() if fact != from_hub["facts"][name]} == {"gated"}
    assert found["commit"] is None
    assert "HF_REVISION" not in resolution(deployment).environment
    assert check(deployment, []).report.facts == "tuned.lock.json, of folder"


def test_a_repository_of_gguf_files_says_what_their_header_holds(hub: HubServer, deployment: Path) -> None:
    metadata = {
        "general.architecture": "qwen3",
        "qwen3.block_count": 36,
        "qwen3.context_length": 32768,
        "qwen3.embedding_length": 2560,
        "qwen3.attention.head_count": 32,
        "qwen3.attention.head_count_kv": 8,
        "qwen3.attention.key_length": 128,
        "qwen3.rope.freq_base": 1e6,
        "tokenizer.ggml.tokens": [f"token {number}" for number in range(5000)],
        "tokenizer.chat_template": "{{ messages }}",
    }
    hub.push({"Tiny-Q4_K_M.gguf": gguf(metadata, {"a": [1000, 40], "b": [500, 2, 3]}), "README.md": b""})
    found = locked(deployment)
    facts = found["facts"]
    assert (facts["layers"], facts["kv_heads"], facts["head_size"], facts["vocabulary"]) == (36, 8, 128, 5000)
    assert (facts["quantization"], facts["parameters_in_billions"]) == ("gguf", 0.0)
    assert (found["tokenizer"], found["chat_template"]) == (True, True)


@pytest.mark.parametrize(
    ("config", "more", "brings"),
    [
        (None, {}, (False, False)),
        (b"{}", {}, (True, False)),
        (b'{"chat_template": null}', {}, (True, False)),
        (b'{"chat_template": "{{ messages }}"}', {}, (True, True)),
        (b"{}", {"chat_template.jinja": b"{{ messages }}"}, (True, True)),
        (None, {"tekken.json": b"{}"}, (True, True)),  # mistral-common writes chats by code
        (None, {"spiece.model": b"\0"}, (True, False)),
        (None, {"original/tokenizer.model": b"\0"}, (False, False)),
        (None, {"special_tokens_map.json": b"{}", "added_tokens.json": b"{}"}, (False, False)),
    ],
)
def test_a_lock_says_whether_there_are_tokenizer_and_chat_template(
    hub: HubServer, deployment: Path, config: bytes | None, more: dict[str, bytes], brings: tuple[bool, bool]
) -> None:
    model = {path: body for path, body in files().items() if path != "tokenizer_config.json"}
    hub.push(model | ({"tokenizer_config.json": config} if config else {}) | more)
    found = locked(deployment)
    assert (found["tokenizer"], found["chat_template"]) == brings
    lock = resolution(deployment).container.lock
    assert lock
    assert (lock.has_tokenizer, lock.shape.chat_template) == brings


def test_a_fine_tune_without_a_tokenizer_is_refused(hub: HubServer, deployment: Path) -> None:
    model = {path: body for path, body in files().items() if path != "tokenizer_config.json"}
    hub.push(model)
    locked(deployment)
    report = check(deployment, []).report
    assert (report.verdict, report.findings[0].rule) == ("refused", "tokenizer-is-there")
    hub.push(model | {"tokenizer.json": b"{}"})
    locked(deployment)
    report = check(deployment, []).report
    assert (report.verdict, report.findings[0].rule) == ("ready", "chats-have-a-template")


def test_a_lock_keeps_the_experts_of_a_mixture(hub: HubServer, deployment: Path) -> None:
    hub.push(files(CONFIG | {"num_experts": 64, "num_experts_per_tok": 4, "moe_intermediate_size": 1}))
    facts = locked(deployment)["facts"]
    assert (facts["experts"], facts["experts_per_token"]) == (64, 4)
    assert resolution(deployment).container.is_mixture
    hub.push({"a.gguf": gguf({"general.architecture": "q", "q.expert_count": 8, "q.expert_used_count": 2}, {})})
    facts = locked(deployment)["facts"]
    assert (facts["experts"], facts["experts_per_token"]) == (8, 2)


def test_the_experts_of_a_layer_that_predicts_further_tokens_are_not_always_active(
    hub: HubServer, deployment: Path
) -> None:
    names = [f"model.layers.{layer}.mlp.experts.{{}}.up_proj.weight" for layer in range(3)]  # two, and one to predict
    weights = {name.format(expert): ("F16", [50, 1000], 100_000) for name in names for expert in range(8)}
    weights["model.layers.0.mlp.shared_experts.up_proj.weight"] = ("F16", [100, 1000], 200_000)
    mixture = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 1, "num_nextn_predict_layers": 1}
    hub.push({"config.json": json.dumps(CONFIG | mixture).encode(), "model.safetensors": safetensors(weights)})
    facts = locked(deployment)["facts"]
    assert (facts["parameters_in_billions"], facts["active_parameters_in_billions"]) == (0.0013, 0.0004)


def test_weights_that_the_index_does_not_list_are_not_counted(hub: HubServer, deployment: Path) -> None:
    before = locked(deployment)
    shards = [path for path in files() if path.endswith(".safetensors")]
    index = json.dumps({"weight_map": {path: path for path in shards}}).encode()
    left_over = safetensors({"c": ("F16", [900, 1000], 1_800_000)})
    hub.push(files() | {"model.safetensors.index.json": index, "left-over.safetensors": left_over})
    assert locked(deployment)["facts"] == before["facts"]


def test_of_several_gguf_files_the_named_one_is_read(hub: HubServer, deployment: Path, tmp_path: Path) -> None:
    of = {size: gguf({"general.architecture": "llama"}, {"a": [size, 1000]}) for size in (1000, 4000)}
    hub.push({"a-Q4.gguf": of[1000], "a-Q8.gguf": of[4000]})
    path = tmp_path / "named.yaml"
    serving = {"engine": "llama-cpp", "environment": {"SM_LLAMA_CPP_HF_FILE": "a-Q8.gguf"}}
    path.write_text(
        json.dumps({"model": {"id": MODEL}, "serving": serving, "hosting": {"instance_type": "ml.g6.xlarge"}})
    )
    assert locked(path)["facts"]["parameters_in_billions"] == 0.004


def test_of_a_split_gguf_model_all_files_are_read_and_its_eyes_are_not_counted(
    hub: HubServer, deployment: Path
) -> None:
    llama = {"general.architecture": "llama", "general.file_type": 15, "llama.rope.scale": float("inf")}
    model = {f"a-Q8-0000{number}-of-00002.gguf": gguf(llama, {"a": [1000, 1000]}) for number in (1, 2)}
    hub.push(model | {"a-Q4.gguf": b"", "a-Q8-mmproj.gguf": gguf({"general.type": "mmproj"}, {"a": [9000, 1000]})})
    settings = {"model": {"id": MODEL}, "hosting": {"instance_type": "ml.g6.xlarge"}}
    serving = {"engine": "llama-cpp", "environment": {"SM_LLAMA_CPP_HF_FILE": "a-Q8-00001-of-00002.gguf"}}
    deployment.write_text(json.dumps(settings | {"serving": serving}))
    found = locked(deployment)
    assert found["facts"]["parameters_in_billions"] == 0.002
    assert found["gguf"] == {"general.architecture": "llama", "general.file_type": 15}
    patterns = {"model": {"id": MODEL, "files": ["a-Q8*"]}}
    deployment.write_text(json.dumps(settings | patterns))
    assert locked(deployment)["facts"]["parameters_in_billions"] == 0.002


def test_settings_for_each_layer_are_named_once(hub: HubServer, deployment: Path) -> None:
    gates = [f"model.layers.{layer}.mlp.gate" for layer in range(60)]
    quantized = {"extra_config": {gate: {"bits": 16} for gate in gates}, "modules_to_not_convert": [*gates, "lm_head"]}
    rope = {"rope_type": "longrope", "long_factor": [1.5] * 64}
    hub.push(files(CONFIG | {"quantization_config": {"quant_method": "fp8", **quantized}, "rope_scaling": rope}))
    found = locked(deployment)
    assert found["unquantized"] == ["lm_head", "model.layers.*.mlp.gate"]
    assert found["quantization_config"]["extra_config"] == {"model.layers.*.mlp.gate": {"bits": 16}}
    assert found["rope"]["long_factor"] == "64 values"


@pytest.mark.parametrize(
    ("pushed", "says"),
    [
        (ADAPTER, "is an adapter of org/base"),
        (ADAPTER | {"config.json": json.dumps(CONFIG).encode()}, "is an adapter of org/base"),
        ({"model_index.json": b"{}", "unet/a.safetensors": b""}, "is a pipeline of diffusers"),
        ({"mmproj-F16.gguf": gguf({"general.architecture": "clip"}, {})}, "mmproj-F16.gguf of"),
    ],
)
def test_what_is_no_model_is_said_to_be_none(
    hub: HubServer, deployment: Path, pushed: dict[str, bytes], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.push(pushed)
    assert lock.run(str(deployment), deployment.parent) == 2
    assert says in capsys.readouterr().err


def test_an_infinite_limit_of_mamba_is_no_mistake(hub: HubServer, deployment: Path) -> None:
    hub.push(files(CONFIG | {"time_step_limit": [0.0, float("inf")]}))
    assert locked(deployment)["facts"]["layers"] == 2


def test_the_part_that_generates_text_says_its_format_and_positions(hub: HubServer, deployment: Path) -> None:
    hub.push(files({"architectures": ["A"], "text_config": CONFIG | GPTQ | {"rope_scaling": {"rope_type": "yarn"}}}))
    found = locked(deployment)
    assert (found["quantization_config"]["bits"], found["rope"]) == (4, {"rope_type": "yarn"})


def test_a_cut_answer_is_asked_for_again_and_then_nothing_is_changed(
    hub: HubServer, deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.cut = {"config.json": 2}
    locked(deployment)
    before = deployment.with_suffix(".lock.json").read_bytes()
    hub.push(files(CONFIG | {"num_hidden_layers": 3}))
    hub.cut = {"model-00002-of-00002.safetensors": 3}
    assert lock.run(str(deployment), deployment.parent) == 2
    assert "model-00002-of-00002.safetensors was cut off" in capsys.readouterr().err
    assert deployment.with_suffix(".lock.json").read_bytes() == before
    assert {each.name for each in deployment.parent.iterdir()} == {"tuned.yaml", "tuned.lock.json"}


@pytest.mark.slow
def test_a_thousand_shards_make_a_short_lock(hub: HubServer, deployment: Path) -> None:
    shard = safetensors({"a": ("F16", [10, 10], 200)})
    shards = {f"model-{number:05}-of-01000.safetensors": shard for number in range(1, 1001)}
    hub.push({"config.json": json.dumps(CONFIG).encode(), **shards})
    assert locked(deployment)["facts"]["parameters_in_billions"] == 0.0001
    assert deployment.with_suffix(".lock.json").stat().st_size < 4096


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\xff" * 100,
        b"\x02\0\0\0\0\0\0\0[]",
        b"\x09\0\0\0\0\0\0\0" + b'{"a": 1} ',
        safetensors({"a": ("F16", [-1000, 1000], 2)}),
        b"\xff\xff\xff\xff\xff\xff\xff\x7f{",
        b"GGUF\x03\0\0\0" + b"\xff" * 16,
    ],
)
@pytest.mark.parametrize("name", ["model.safetensors", "model.gguf"])
def test_a_broken_header_is_one_sentence(
    hub: HubServer, deployment: Path, header: bytes, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.push({"config.json": json.dumps(CONFIG).encode(), name: header})
    assert lock.run(str(deployment), deployment.parent) == 2
    assert "is broken" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("layers", "many"),
        ("layers", -1),
        ("head_size", 0.5),
        ("weights_in_gb", float("inf")),
        ("x", 1),
        ("files", ["a"]),
    ],
)
def test_a_lock_with_an_impossible_fact_is_an_error(hub: HubServer, deployment: Path, fact: str, value: Any) -> None:
    content = locked(deployment)
    (content if fact in content else content["facts"])[fact] = value
    deployment.with_suffix(".lock.json").write_text(json.dumps(content))
    (finding,) = validate_file(deployment, []).errors
    assert f"holds an impossible fact: {fact}" in finding.message


@pytest.mark.parametrize(
    ("vision", "says"),
    [
        ({"law": "scaled", "patch": 0, "least_pixels": 1, "most_pixels": 2}, "vision.patch: 0 is not allowed"),
        ({"law": "fitted", "patch": 16}, "vision.longest_side: is missing, and the law fitted needs it"),
        ({"law": "fixed", "patch": 16, "tokens": -1}, "vision.tokens: -1 is not allowed"),
        ({"law": "new", "patch": 16}, "vision.law"),
        ({"law": "fixed", "patch": 16, "tokens": "many"}, "vision.tokens"),
    ],
)
def test_a_lock_with_an_impossible_vision_part_is_an_error(
    hub: HubServer, deployment: Path, vision: Any, says: str
) -> None:
    content = locked(deployment)
    content["facts"]["vision"] = vision
    deployment.with_suffix(".lock.json").write_text(json.dumps(content))
    (finding,) = validate_file(deployment, []).errors
    assert f"holds an impossible fact: {says}" in finding.message
