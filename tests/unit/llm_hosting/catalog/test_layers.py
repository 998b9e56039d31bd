"""Rows of a project are laid over ours, keep the same laws, and are refused by name otherwise."""

from pathlib import Path
from typing import Any

import pytest

from llm_hosting.catalog.engines import engine, find_image
from llm_hosting.catalog.instances import ec2_instances, instances, machine_prices
from llm_hosting.catalog.laws import demand_own_rows
from llm_hosting.catalog.layers import CatalogError, own_file
from llm_hosting.catalog.models import model_shape, model_shapes
from llm_hosting.project import use_project
from support.own_project import HEAD, own_project

TAG = "0.99.0-gpu-py313-cu131-ubuntu24.04-sagemaker"
VERSION = {"tag": TAG, "cuda": 13.1, "vllm": "0.99.0"}
MODEL = {
    "ids": ["me/mine"],
    "architecture": "LlamaForCausalLM",
    "parameters_in_billions": 7.0,
    "layers": 32,
    "heads": 32,
    "kv_heads": 8,
    "head_size": 128,
    "hidden_size": 4096,
    "context": 32768,
    "dtype": "bf16",
    "quantization": None,
    "weights_in_gb": 14.0,
    "gated": False,
    "sliding_window": None,
}
INSTANCE = {
    "kind": "gpu",
    "arch": "x86_64",
    "vcpu": 8,
    "memory_in_gib": 64,
    "accelerator": "NVIDIA L4",
    "accelerator_count": 1,
    "accelerator_memory_in_mib": 22888,
    "compute_capability": 8.9,
    "memory_bandwidth_in_gb_per_s": 300,
}


def versions(**columns: object) -> dict[str, object]:
    return {"engines/vllm.json": {"versions": {"0.99.0": VERSION | columns}}}


def models(**columns: object) -> dict[str, object]:
    return {"models.json": {"models": [MODEL | columns]}}


def types(**columns: object) -> dict[str, object]:
    return {"instances.json": {"instances": {"ml.g99.2xlarge": INSTANCE | columns}}}


def test_a_new_version_has_its_engines_other_columns(tmp_path: Path) -> None:
    with own_project(tmp_path, versions()):
        demand_own_rows()
        found, newest = engine("vllm").versions["0.99.0"], engine("vllm").versions["0.31.0"]
        assert (found.tag, found.cuda, found.variables) == (TAG, 13.1, newest.variables)
        assert find_image(f"763104351884.dkr.ecr.us-east-1.amazonaws.com/vllm:{TAG}") is found
        assert own_file("engines/vllm.json", "0.99.0") == "catalog/engines/vllm.json"
        assert own_file("engines/vllm.json", "0.31.0") == ""
    assert "0.99.0" not in engine("vllm").versions


def test_a_column_of_a_known_row_replaces_ours_and_the_others_stay(tmp_path: Path) -> None:
    ours = engine("vllm").versions["0.31.0"]
    with own_project(tmp_path, {"engines/vllm.json": {"versions": {"0.31.0": {"transformers": "5.20.0"}}}}):
        found = engine("vllm").versions["0.31.0"]
        assert (found.transformers, found.tag, found.cuda) == ("5.20.0", ours.tag, ours.cuda)


def test_a_price_of_the_users_contract_is_laid_over_ours(tmp_path: Path) -> None:
    ours, kept = instances()["ml.g6.2xlarge"], machine_prices().volume_usd_per_gb_and_month
    over: dict[str, object] = {
        "instances": {"ml.g6.2xlarge": {"usd_per_hour": 0.5}},
        "of_ec2_alone": {"c9a.large": {"kind": "cpu", "arch": "x86_64", "vcpu": 2, "memory_in_gib": 4}},
        "machines": {"address_usd_per_hour": 0.01},
        "families_with_bf16": ["c9a"],
    }
    with own_project(tmp_path, {"instances.json": over}):
        demand_own_rows()
        found = instances()["ml.g6.2xlarge"]
        assert (found.usd_per_hour, found.vcpu) == (0.5, ours.vcpu)
        assert ec2_instances()["c9a.large"].computes_bf16
        assert ec2_instances()["c9a.large"].volume_size_allowed
        assert (machine_prices().address_usd_per_hour, machine_prices().volume_usd_per_gb_and_month) == (0.01, kept)


def test_a_model_is_added_and_one_id_of_a_shared_row_is_changed(tmp_path: Path) -> None:
    count = len({hub_id for shape in model_shapes() for hub_id in shape.ids})
    other = {"ids": ["Amazon/FalconLite"], "context": 16384}
    with own_project(tmp_path, {"models.json": {"models": [MODEL, other]}}):
        demand_own_rows()
        one, two = model_shape("amazon/FalconLite"), model_shape("amazon/FalconLite2")
        assert one
        assert two
        assert (one.context, one.layers, one.source) == (16384, two.layers, HEAD["source"])
        assert two.context == 2048
        assert len({hub_id for shape in model_shapes() for hub_id in shape.ids}) == count + 1


def test_another_project_forgets_the_rows_of_the_first(tmp_path: Path) -> None:
    with own_project(tmp_path / "one", versions()):
        assert "0.99.0" in engine("vllm").versions
        (tmp_path / "two").mkdir()
        use_project(tmp_path / "two")
        assert "0.99.0" not in engine("vllm").versions


@pytest.mark.parametrize(
    ("catalog", "said"),
    [
        (
            {"engine/vllm.json": {}},
            "catalog/engine/vllm.json is not a file of the catalog; use one of engines/custom.j",
        ),
        ({"models.json": "{"}, "catalog/models.json is not valid JSON: Expecting property name"),
        ({"models.json": '{"a": 1, "a": 2}'}, "catalog/models.json is not valid JSON: 'a' is there twice."),
        ({"models.json": "[]"}, "catalog/models.json must be an object with source, as_of, models."),
        ({"models.json": {"source": ""}}, "catalog/models.json: set source, a text, and as_of, the date"),
        ({"models.json": {"as_of": "yesterday"}}, "catalog/models.json: set source, a text, and as_of, the date"),
        (
            {"models.json": {"rows": []}},
            "catalog/models.json: rows can't be laid over ours; use source, as_of, models.",
        ),
        ({"models.json": {"models": {}}}, "catalog/models.json: models must be a list."),
        ({"models.json": {"models": [{"id": "me/mine"}]}}, "models: write each row as an object with ids, the list"),
        ({"instances.json": {"instances": {"ml.a.b": 1}}}, "instances: ml.a.b must be an object of columns."),
        ({"instances.json": {"machines": {"address_usd_per_hour": {}}}}, "address_usd_per_hour must be a number."),
        ({"models.json": {"models": [MODEL, MODEL | {"ids": ["Me/Mine"]}]}}, "models: me/mine is there twice."),
        ({"instances.json": {"families_with_bf16": [1]}}, "families_with_bf16: use names of families, such as c8i."),
        (
            {"instances.json": {"machines": {"usd": 1}}},
            "catalog/instances.json: machines: usd: is not a column; use on",
        ),
        ({"engines/custom.json": {"versions": {}}}, "catalog/engines/custom.json: custom has no images of AWS; remove"),
        (versions(cuda="13"), "catalog/engines/vllm.json: 0.99.0: cuda: '13' is not allowed; use a number or null."),
        (versions(gpu=1), "catalog/engines/vllm.json: 0.99.0: gpu: is not a column; use one of tag, cuda, vllm,"),
        (versions(platform="tpu"), "0.99.0: platform: 'tpu' is not allowed; use gpu, cpu, neuron or null."),
        (versions(regions="mars"), "0.99.0: regions: 'mars' is not allowed; use "),
        (versions(architectures="mars"), "0.99.0: architectures: 'mars' is not allowed; use "),
        (versions(cuda=12.9), "catalog/engines/vllm.json: 0.99.0: cuda: 12.9 is not the tag's 13.1."),
        (versions(tag="a b"), "0.99.0: tag: 'a b' is not the tag of an image; use letters, digits"),
        (versions(bodies=[]), "0.99.0: bodies: name at least one of inputs, messages, prompt."),
        (versions(variables={"modell": "X_Y"}), "0.99.0: variables.modell: is not a setting; use one of dtype,"),
        (versions(variables={"model": {"nam": "X"}}), "0.99.0: variables.model.name: is missing."),
        (versions(dtypes=["fp64"]), "0.99.0: dtypes: 'fp64' is not allowed; use bf16, fp16, fp32, int8."),
        (models(layers="32"), "catalog/models.json: me/mine: layers: '32' is not allowed; use a whole number or null."),
        (models(layer=32), "catalog/models.json: me/mine: layer: is not a column; use one of ids, architecture,"),
        (
            models(dtype="fp8"),
            "catalog/models.json: me/mine: dtype: 'fp8' is not allowed; use bf16, fp16, fp32 or null.",
        ),
        (models(kv_heads=5), "catalog/models.json: me/mine: kv_heads: 5 does not divide heads, 32."),
        (models(weights_in_gb=140), "weights_in_gb: 140 GB for 7 billion parameters in bf16 should be 13.6 to 14.7."),
        (types(vcpu="8"), "catalog/instances.json: ml.g99.2xlarge: vcpu: '8' is not allowed; use a whole number."),
        (types(usd_per_hour=-1), "catalog/instances.json: ml.g99.2xlarge: usd_per_hour: -1 is not allowed; use more"),
        (types(accelerator_memory_in_mib=-1), "accelerator_memory_in_mib: -1 is not allowed; use more than 0."),
        (types(local_nvme_in_gb=-1), "local_nvme_in_gb: -1 is not allowed; use 0 or more."),
        (models(layers=-1), "me/mine: layers: -1 is not allowed; use more than 0."),
        (models(layers=0), "me/mine: layers: 0 is not allowed; use more than 0."),
        ({"instances.json": {"machines": {"address_usd_per_hour": -1}}}, "machines: address_usd_per_hour: -1 is not"),
        (versions(tag=TAG.replace("0.99.0", "0.98.0")), "sagemaker' does not name the version 0.99.0."),
        ({"models.json": {"as_of": "2099-01-01"}}, "catalog/models.json: as_of: 2099-01-01 is in the future; use"),
        ({"models.json": {"as_of": "2026-19-01"}}, "catalog/models.json: set source, a text, and as_of, the date"),
        (
            {"instances.json": {"instances": {"g6.2xlarge": {"ec2_usd_per_hour": 0.5}}}},
            "catalog/instances.json: g6.2xlarge: is EC2's name: its price on EC2 is ec2_usd_per_hour of ml.g6.2xlarge,",
        ),
        (
            {"instances.json": {"of_ec2_alone": {"c5.xlarge": {"usd_per_hour": 0.1}}}},
            "c5.xlarge: is a type of endpoints, too: its price on EC2 is ec2_usd_per_hour of ml.c5.xlarge in",
        ),
        (
            {"instances.json": {"of_ec2_alone": {"ml.c5.xlarge": {"usd_per_hour": 0.1}}}},
            "ml.c5.xlarge: is a name of endpoints, which belongs to instances.",
        ),
        (
            {"instances.json": {"ec2_prices_as_of": "2026-20-11"}},
            "catalog/instances.json: ec2_prices_as_of: use the date of the prices, such as 2026-11-20.",
        ),
        (
            {"instances.json": {"prices_as_of": "today"}},
            "catalog/instances.json: prices_as_of: use the date of the prices, such as 2026-11-20.",
        ),
        (
            types(compute_capability=None),
            "ml.g99.2xlarge: compute_capability: types of kind gpu have it, and no other.",
        ),
        (types(local_nvme_in_gb=1, volume_size_allowed=True), "volume_size_allowed: must be true without an own disk"),
    ],
)
def test_a_wrong_file_names_row_column_and_what_is_allowed(tmp_path: Path, catalog: dict[str, Any], said: str) -> None:
    with own_project(tmp_path, catalog), pytest.raises(CatalogError) as refusal:
        demand_own_rows()
    assert said in str(refusal.value)
    assert str(refusal.value).endswith(".")


def test_a_new_row_lacks_no_column(tmp_path: Path) -> None:
    partial: dict[str, object] = {"models": [{"ids": ["me/mine"], "architecture": "LlamaForCausalLM"}]}
    with own_project(tmp_path, {"models.json": partial}), pytest.raises(CatalogError) as refusal:
        model_shapes()
    said = "catalog/models.json: me/mine: parameters_in_billions: is missing; write null if it is not known."
    assert str(refusal.value) == said
