"""Which files of a repository are staged: patterns of the deployment, or what the engine reads."""

import pytest

from slipway.staging.weight_files import HubFile, SelectionError, select

BESIDE = ["config.json", "generation_config.json", "merges.txt", "tokenizer.json"]
GPT2 = [
    ".gitattributes",
    "README.md",
    "64.tflite",
    *BESIDE,
    "flax_model.msgpack",
    "model.safetensors",
    "onnx/config.json",
    "onnx/decoder_model.onnx",
    "pytorch_model.bin",
    "rust_model.ot",
    "tf_model.h5",
]
SHARDED = [
    "config.json",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "model.safetensors.index.json",
    "pytorch_model-00001-of-00002.bin",
    "pytorch_model-00002-of-00002.bin",
    "pytorch_model.bin.index.json",
    "training_args.bin",
]
PUBLISHED = ["*.json", "*.pt", "*.bin", "*.txt", "*.model"]


def chosen(paths: list[str], patterns: list[str] | None = None, engine: str = "lmi-vllm") -> list[str]:
    return [file.path for file in select([HubFile(path, 1, "") for path in paths], patterns, engine)]


def test_safetensors_are_chosen_and_other_formats_left_out() -> None:
    assert chosen(GPT2) == sorted([*BESIDE, "model.safetensors"])
    assert chosen(SHARDED) == SHARDED[:4]


@pytest.mark.parametrize("engine", ["lmi-deepspeed", "lmi-fastertransformer", "lmi-neuronx"])
def test_engines_older_than_safetensors_get_bin_files(engine: str) -> None:
    assert chosen(SHARDED, engine=engine) == ["config.json", *SHARDED[4:7]]
    assert chosen(["config.json", "model.safetensors"], engine=engine) == ["config.json", "model.safetensors"]


def test_patterns_replace_the_default_choice() -> None:
    assert chosen(SHARDED, PUBLISHED) == [path for path in SHARDED if not path.endswith(".safetensors")]
    assert chosen(GPT2, ["onnx/"]) == ["onnx/config.json", "onnx/decoder_model.onnx"]
    assert "onnx/config.json" in chosen(GPT2, ["*.json"]), "a star spans folders, as in huggingface_hub"


def test_consolidated_files_are_left_out_unless_they_are_the_only_weights() -> None:
    paths = ["config.json", "consolidated.safetensors", "model-00001-of-00001.safetensors"]
    assert chosen(paths) == ["config.json", "model-00001-of-00001.safetensors"]
    assert chosen(["consolidated.safetensors", "params.json"]) == ["consolidated.safetensors", "params.json"]


def test_checkpoints_of_deepspeed_are_weights() -> None:
    paths = ["config.json", "ds_inference_config.json", "tp_00_00.pt", "tp_01_00.pt"]
    assert chosen(paths, engine="lmi-deepspeed") == paths


def test_several_gguf_models_need_a_pattern() -> None:
    split = ["big-Q8_0-00001-of-00002.gguf", "big-Q8_0-00002-of-00002.gguf"]
    assert chosen(split, engine="llama-cpp") == split
    with pytest.raises(SelectionError, match=r"model.files: the repository holds 2 models in one, such as big-Q8_0"):
        chosen([*split, "small-Q4_0.gguf"], engine="llama-cpp")
    assert chosen([*split, "small-Q4_0.gguf"], ["small-*"], engine="llama-cpp") == ["small-Q4_0.gguf"]


def test_a_repository_without_weights_is_refused_with_its_formats() -> None:
    with pytest.raises(
        SelectionError, match=r"no weights that llama-cpp is known to read, but json, safetensors; name"
    ):
        chosen(["config.json", "model.safetensors"], engine="llama-cpp")
    with pytest.raises(SelectionError, match=r"no file of the repository fits \*.gguf"):
        chosen(SHARDED, ["*.gguf"])


@pytest.mark.parametrize("path", ["../config.json", "a//config.json", "a/./config.json", "bell\a.json", "x" * 800])
def test_a_file_name_that_is_no_valid_key_is_refused(path: str) -> None:
    with pytest.raises(SelectionError, match="can't be a key in S3"):
        chosen([path], ["*"])


MODULES = ["1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors", "2_Normalize/README.md"]


def test_modules_of_sentence_transformers_come_along_and_for_tei_the_onnx_file() -> None:
    there = ["config.json", "model.safetensors", "onnx/model.onnx", "onnx/model_O4.onnx", *MODULES]
    assert chosen(there, engine="vllm") == sorted(["config.json", "model.safetensors", *MODULES[:3]])
    assert chosen(there, engine="tei") == sorted(["config.json", "model.safetensors", "onnx/model.onnx", *MODULES[:3]])
