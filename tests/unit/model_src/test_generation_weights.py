"""The files of a model of the Hub that the machine of hosting.mode ec2 downloads."""

import pytest

from model_src.generation.weights import WeightsError, chosen

BESIDE = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "vocab.txt",
    "tokenizer.model",
    "chat_template.jinja",
]


@pytest.mark.parametrize(
    ("weights", "left"),
    [
        (["model.safetensors"], ["pytorch_model.bin", "tf_model.h5", "rust_model.ot", "onnx/model.safetensors"]),
        (["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"], ["consolidated.safetensors"]),
        (["pytorch_model.bin"], ["training_args.bin", "optimizer.bin", "README.md", "modeling_own.py"]),
    ],
)
def test_one_format_of_weights_and_what_is_beside_them(weights: list[str], left: list[str]) -> None:
    assert sorted(chosen([*left, *BESIDE, *weights])) == sorted([*weights, *BESIDE])


def test_a_repository_without_weights_is_refused() -> None:
    with pytest.raises(WeightsError, match=r"no weights as \*\.safetensors or \*\.bin"):
        chosen([*BESIDE, "model.gguf", "onnx/model.safetensors"])
