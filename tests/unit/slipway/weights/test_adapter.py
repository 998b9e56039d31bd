"""What is read from an adapter's two files, and which files are no adapter."""

import json
from typing import Any

import pytest

from slipway.weights.adapter import read_adapter
from slipway.weights.source import BrokenWeightsError
from support.stand_ins.adapters import adapter_files, tensors
from support.stand_ins.hub_models import safetensors


class Folder:
    """Files in memory."""

    place, fix = "s3://bucket/legal/", "copy it again"

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def read(self, path: str, start: int, size: int, /) -> bytes:
        return self.files[path][start : start + size]


def adapter(files: dict[str, bytes]) -> Any:
    return read_adapter(Folder(files), {path: len(body) for path, body in files.items()})


def test_an_adapter_is_known_by_its_settings_and_the_header_of_its_weights() -> None:
    found = adapter(adapter_files(rank=8))
    assert (found.base, found.base_revision, found.rank, found.alpha) == ("Qwen/Qwen3-4B", None, 8, 32)
    assert (found.target_modules, found.modules_to_save, found.use_dora) == (("q_proj", "v_proj"), (), False)
    assert (found.layers, found.modules) == (2, {"q_proj": (64, 64), "v_proj": (64, 64)})
    assert (found.dtype, found.bytes, found.others) == (
        "BF16",
        len(adapter_files(rank=8)["adapter_model.safetensors"]),
        (),
    )


def test_the_largest_rank_of_any_module_counts() -> None:
    assert adapter(adapter_files({"r": 8}, rank=32)).rank == 32


def test_experts_that_share_a_tensor_make_no_larger_rank() -> None:
    shared = {"base_model.model.model.layers.0.mlp.experts.base_layer.lora_A.weight": ("BF16", [512, 64], 65_536)}
    files = adapter_files() | {"adapter_model.safetensors": safetensors(tensors() | shared)}
    assert adapter(files).rank == 16


@pytest.mark.parametrize(
    ("name", "shape"),
    [("base_model.model.model.layers.0.self_attn.q_proj.lora_magnitude_vector", [64]), ("score.weight", [2, 32])],
)
def test_tensors_that_are_not_of_lora_are_named(name: str, shape: list[int]) -> None:
    files = adapter_files() | {"adapter_model.safetensors": safetensors(tensors() | {name: ("BF16", shape, 128)})}
    assert adapter(files).others == (name,)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"adapter_config.json": None}, "lacks adapter_config.json of a LoRA adapter"),
        ({"adapter_model.safetensors": None}, "lacks adapter_model.safetensors of a LoRA adapter"),
        (
            {"adapter_model.safetensors": None},
            "; put adapter_config.json and adapter_model.safetensors there, as PEFT saves them, or name another place.",
        ),
        ({"adapter_model.safetensors": None, "adapter_model.bin": b"PK"}, "save the adapter with PEFT's safe_serial"),
        ({"adapter_config.json": b"{"}, "it is not JSON, or is cut"),
        ({"adapter_config.json": b"[]"}, "it does not hold a JSON object"),
        ({"adapter_config.json": b'{"r": 0, "lora_alpha": 1}'}, "r, the rank, is 0, which must be a positive whole"),
        ({"adapter_config.json": b'{"r": true, "lora_alpha": 1}'}, "r, the rank, is True"),
        ({"adapter_config.json": b'{"r": 8, "lora_alpha": NaN}'}, "lora_alpha is nan, which must be a number"),
        ({"adapter_config.json": b'{"r": 8, "lora_alpha": 1, "peft_type": "IA3"}'}, "its peft_type is 'IA3'"),
        ({"adapter_config.json": b'{"r": 8, "lora_alpha": 1, "modules_to_save": [1]}'}, "must be a list of names"),
        ({"adapter_model.safetensors": adapter_files()["adapter_model.safetensors"][:-1]}, "its header describes"),
        ({"adapter_model.safetensors": b"version https://git-lfs.github.com/spec/v1"}, "is a git-lfs pointer"),
        ({"adapter_model.safetensors": safetensors({"a": ("F32", [1], 4)})}, "it holds no tensors of LoRA"),
        ({"adapter_model.safetensors": safetensors({"q.lora_A.weight": ("F32", [1], 4)})}, "must have two sizes"),
    ],
)
def test_files_that_are_no_whole_adapter_are_refused(changed: dict[str, bytes | None], says: str) -> None:
    files = {path: body for path, body in (adapter_files() | changed).items() if body is not None}
    with pytest.raises(BrokenWeightsError) as refused:
        adapter(files)
    assert says in str(refused.value)


def test_control_characters_of_others_are_not_printed() -> None:
    files = adapter_files({"base_model_name_or_path": "org/\x1b[31mbase"})
    assert json.dumps(adapter(files).base) == '"org/ [31mbase"'
