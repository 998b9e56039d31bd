"""The catalog's row for an image, and the shape of its answers."""

from pathlib import Path

import pytest

from llm_hosting.catalog.engines import ENGINES, engine
from local_cloud.engines_file import write_engines
from local_cloud.model_server.text import catalog_row
from local_cloud.model_server.text.catalog_row import UNKNOWN, CatalogRow
from local_cloud.model_server.text.shapes import (
    DJL_HANDLER,
    DJL_T5,
    HUGGING_FACE,
    LLAMA_CPP,
    LMI,
    OPENAI,
    SGLANG,
    TGI,
    Shape,
    shape_of,
)
from support.local_engines import local_engines
from support.own_project import own_project

SHAPES = {
    "lmi-vllm": LMI,
    "lmi-tensorrt-llm": LMI,
    "lmi-deepspeed": DJL_HANDLER,
    "lmi-huggingface": DJL_HANDLER,
    "lmi-neuronx": DJL_HANDLER,
    "lmi-fastertransformer": DJL_T5,
    "tgi": TGI,
    "tgi-neuronx": TGI,
    "vllm": OPENAI,
    "sglang": SGLANG,
    "llama-cpp": LLAMA_CPP,
    "huggingface": HUGGING_FACE,
}
# Not the default version: from 0.28 on, a rolling batch is the default on Neuron.
SINCE = {"lmi-neuronx": "0.24.0"}


def row_of(image: str, settings: dict[str, str]) -> CatalogRow:
    return catalog_row.row_of(image, settings, local_engines())


def uri(image: str) -> str:
    return f"763104351884.dkr.ecr.us-west-2.amazonaws.com/{image}"


@pytest.mark.parametrize("name", [name for name in ENGINES if engine(name).repository])
def test_every_version_s_image_is_found_by_its_engine_s_settings(name: str) -> None:
    for version in engine(name).versions.values():
        settings = dict(version.constants)
        if version.handler:
            settings["OPTION_ENTRYPOINT"] = version.handler
        row = row_of(uri(f"{version.repository}:{version.tag}"), settings)
        assert (row.engine, row.bodies) == (name, version.bodies)
        assert row.variables == {setting: variable.name for setting, variable in version.variables.items()}


@pytest.mark.parametrize("name", SHAPES)
def test_an_engine_answers_in_its_family_s_shape(name: str) -> None:
    version = engine(name).version(SINCE.get(name))
    assert version
    settings = {**version.constants, "OPTION_ENTRYPOINT": version.handler or ""}
    assert shape_of(row_of(uri(f"{version.repository}:{version.tag}"), settings), settings) is SHAPES[name]


@pytest.mark.parametrize(
    ("image", "name", "bodies"),
    [
        ("djl-inference:0.36.0-lmi28.0.0-cu130-v1.2", "lmi-vllm", ("inputs", "messages", "prompt")),
        ("djl-inference:9.9.0-lmi99.0.0-cu150", "lmi-vllm", ("inputs", "messages", "prompt")),
        ("huggingface-pytorch-tgi-inference:9.9.0-tgi9.9.9-gpu", "tgi", ("inputs", "messages", "prompt")),
        ("vllm:server-sagemaker-cuda-v2.99", "vllm", ("messages", "prompt")),
    ],
)
def test_a_tag_that_the_catalog_does_not_know_counts_as_the_newest(
    image: str, name: str, bodies: tuple[str, ...]
) -> None:
    row = row_of(uri(image), {"HF_MODEL_ID": "gpt2"})
    assert (row.engine, row.bodies) == (name, bodies)


def test_a_version_of_the_users_project_has_its_own_bodies(tmp_path: Path) -> None:
    version = {"tag": "0.99.0-gpu-cu131", "cuda": 13.1, "bodies": ["prompt"]}
    with own_project(tmp_path, {"engines/vllm.json": {"versions": {"0.99.0": version}}}):
        engines = write_engines(tmp_path)
    assert catalog_row.row_of(uri("vllm:0.99.0-gpu-cu131"), {}, engines).bodies == ("prompt",)


@pytest.mark.parametrize("image", ["my-model:1.0", "team/vllm:0.30.0-gpu", "djl-inference@sha256:00ff", "vllm-fork:1"])
def test_an_image_that_the_catalog_does_not_know_answers_as_lmi(image: str) -> None:
    row = row_of(uri(image), {})
    assert row == UNKNOWN
    assert shape_of(row, {}) is LMI


@pytest.mark.parametrize(
    ("image", "settings", "shape"),
    [
        ("djl-inference:0.27.0-deepspeed0.12.6-cu121", {"OPTION_ROLLING_BATCH": "auto"}, LMI),
        ("djl-inference:0.25.0-neuronx-sdk2.15.0", {"OPTION_ROLLING_BATCH": "neuronx"}, LMI),
    ],
)
def test_a_rolling_batch_answers_in_the_shape_of_lmi(image: str, settings: dict[str, str], shape: Shape) -> None:
    assert shape_of(row_of(uri(image), settings), settings) is shape
