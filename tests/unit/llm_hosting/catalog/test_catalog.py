"""The catalog's engines, instance types and regions are well formed."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

import llm_hosting.catalog
from llm_hosting.catalog.engines import ENGINES, Engine, EngineVersion, Machine, VersionRow, engine, find_image
from llm_hosting.catalog.instances import InstanceType, ec2_instances, instances
from llm_hosting.catalog.laws import problems_of_instance, problems_of_version
from llm_hosting.catalog.regions import container_accounts, image_regions
from llm_hosting.catalog.row_types import problems
from llm_hosting.deployment.settings.serving import Serving

CATALOG = Path(next(iter(llm_hosting.catalog.__path__)))


def versions() -> Iterator[tuple[Engine, EngineVersion]]:
    return ((engine(name), version) for name in ENGINES for version in engine(name).versions.values())


def djl_version(version: EngineVersion) -> tuple[int, ...]:
    return tuple(int(part) for part in version.label.partition("-")[0].split("."))


@pytest.mark.parametrize("file", sorted(CATALOG.rglob("*.json")), ids=lambda file: file.stem)
def test_a_data_file_names_its_source_and_date(file: Path) -> None:
    data: dict[str, Any] = json.loads(file.read_text())
    assert re.fullmatch(r"20\d\d-[01]\d(-[0-3]\d)?", data["as_of"])
    parts = [data] if "source" in data else [*data.get("tables", {}).values(), *data.get("failures", [])]
    assert parts
    assert all(len(part["source"]) > 20 for part in parts)


def test_the_catalog_has_every_engine_that_a_deployment_may_name() -> None:
    assert set(ENGINES) == set(get_args(Serving.model_fields["engine"].annotation))
    assert {file.stem for file in (CATALOG / "engines").glob("*.json")} == set(ENGINES)


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_has_its_default_version_and_a_living_successor(name: str) -> None:
    known = engine(name)
    defaults = [known.versions[label] for label in (known.default_version, *known.other_defaults)]
    assert len({(version.platform, version.arch) for version in defaults}) == len(defaults)
    if known.legacy:
        assert known.legacy.successor in set(ENGINES) - {name}
        assert re.fullmatch(r"20\d\d-[01]\d", known.legacy.since)
        assert known.legacy.reason.endswith(".")


def test_every_row_keeps_the_laws() -> None:
    found = [
        (known.name, version.label, problem)
        for known, version in versions()
        for problem in problems_of_version(version)
    ]
    assert found == []
    types = (instances() | ec2_instances()).values()
    assert [(each.type, problem) for each in types for problem in problems_of_instance(each)] == []


def test_every_row_has_the_types_of_its_columns() -> None:
    for name in ENGINES:
        rows = json.loads((CATALOG / "engines" / f"{name}.json").read_text())["versions"]
        for label, row in rows.items():
            found = [each for each in problems(row, VersionRow) if each[0] != "tag" or engine(name).repository]
            assert found == [], (name, label)
    for each in instances().values():
        assert list(problems(vars(each), InstanceType)) == []


def test_a_tag_of_a_gpu_image_names_its_cuda() -> None:
    for known, version in versions():
        if version.platform == "gpu" and not re.search(r"cu\d{3}\b", version.tag or ""):
            # The tags of images on Amazon Linux 2023 name CUDA without a version.
            assert re.match(r"server-sagemaker-cuda-v\d", version.tag or ""), (known.name, version.label)


def test_an_image_fits_sagemaker() -> None:
    assert all(len(f"{version.repository}:{version.tag}") < 200 for _, version in versions())
    assert {known.name for known, version in versions() if version.tag is None} == {"custom", "transformers"}


@pytest.mark.parametrize(
    ("image", "engine_name", "label"),
    [
        ("djl-inference:0.36.0-lmi28.0.0-cu130", "lmi-vllm", "0.36.0-lmi28"),
        ("djl-inference:0.36.0-lmi28.0.0-cu130-v1.3", "lmi-vllm", "0.36.0-lmi28"),
        ("djl-inference:0.22.1-neuronx-sdk2.9.0", "lmi-neuronx", "0.22.1-sdk2.9.0"),
        ("huggingface-pytorch-tgi-inference:2.3.0-tgi2.2.0-gpu-py310-cu121-ubuntu22.04", "tgi", "2.2.0"),
        ("huggingface-pytorch-tgi-inference:2.3.0-tgi2.2.0-gpu-py310-cu121-ubuntu22.04-v2.1", "tgi", "2.2.0"),
        ("vllm:server-sagemaker-cuda-v2", "vllm", "server-2"),
        ("vllm:server-sagemaker-cuda-v2.1.4", "vllm", "server-2.1"),
        ("llama-cpp:server-sagemaker-cpu-v1", "llama-cpp", "1.0.1-cpu"),
        ("llama-cpp-arm64:server-sagemaker-cpu-v1.0.0", "llama-cpp", "1.0.0-cpu-arm64"),
    ],
)
def test_an_image_is_found_by_any_of_its_tags(image: str, engine_name: str, label: str) -> None:
    found = find_image(f"763104351884.dkr.ecr.us-east-1.amazonaws.com/{image}")
    assert found is not None
    assert (found.engine, found.label) == (engine_name, label)


@pytest.mark.parametrize(
    "image",
    [
        *("djl-inference:0.99.0-lmi99.0.0-cu130", "djl-inference:0.33.0", "my-own:0.36.0-lmi28.0.0-cu130"),
        "vllm:server",
    ],
)
def test_another_image_is_not_found(image: str) -> None:
    assert find_image(f"123456789012.dkr.ecr.us-east-1.amazonaws.com/{image}") is None


@pytest.mark.parametrize(
    ("name", "begins", "label"),
    [
        ("tgi", "2.0", "2.0.2"),
        ("tgi", "1.1.0", "1.1.0"),
        ("lmi-vllm", "0.33.0", "0.33.0-lmi15"),
        ("lmi-vllm", "0.33.0-lmi15.0.0", "0.33.0-lmi15"),
        ("lmi-deepspeed", "0.22", "0.22.1"),
        ("lmi-deepspeed", "0.21", "0.21.0"),
        ("lmi-neuronx", "0.22", "0.22.1"),
        ("huggingface", "4.26.0-cpu", "1.13.1-transformers4.26.0-cpu"),
        ("huggingface", "4.26.0", None),  # an image for GPUs and one for CPUs fit
        ("tgi", "2", "2.4.0"),
        ("tgi", "2.", None),
        ("tgi", "", None),
        ("tgi", None, "3.3.6"),
    ],
)
def test_a_version_may_be_named_by_how_it_begins(name: str, begins: str | None, label: str | None) -> None:
    found = engine(name).version(begins)
    assert (found.label if found else None) == label


@pytest.mark.parametrize(
    ("name", "begins", "machine", "label"),
    [
        ("huggingface", "4.26.0", ("cpu", "x86_64"), "1.13.1-transformers4.26.0-cpu"),
        ("huggingface", "4.26.0", ("gpu", "x86_64"), "1.13.1-transformers4.26.0-gpu"),
        ("huggingface", "4.26.0", ("neuron", "x86_64"), None),
        ("huggingface", "4.26.0-gpu", ("cpu", "x86_64"), "1.13.1-transformers4.26.0-gpu"),
        ("huggingface", None, ("cpu", "x86_64"), "2.6.0-transformers5.5.3-cpu"),
        ("huggingface", None, ("neuron", "x86_64"), "2.6.0-transformers5.5.3-gpu"),
        ("huggingface", None, ("cpu", "arm64"), "2.6.0-transformers5.5.3-cpu"),
        ("vllm", None, ("neuron", "x86_64"), "huggingface-neuronx-0.11.0"),
        ("llama-cpp", None, ("cpu", "arm64"), "1.0.1-cpu-arm64"),
        ("llama-cpp", None, ("gpu", "x86_64"), "1.0.1-cuda"),
        ("tgi", "2.0", ("cpu", "x86_64"), "2.0.2"),
    ],
)
def test_of_images_that_go_by_one_name_the_one_for_the_machine_is_meant(
    name: str, begins: str | None, machine: Machine, label: str | None
) -> None:
    found = engine(name).version(begins, machine)
    assert (found.label if found else None) == label


def test_parameter_ranges_use_known_words() -> None:
    words = {"minimum", "maximum", "exclusive_minimum", "exclusive_maximum"}
    for name in ENGINES:
        assert all(set(limits) <= words for limits in engine(name).parameters.values())


def test_the_files_of_old_handlers_for_neuron_have_a_hyphen() -> None:
    for known, version in versions():
        # The file's name had a hyphen up to 0.23.
        hyphen = any("-" in handler for handler in version.handlers)
        assert hyphen == (known.name == "lmi-neuronx" and djl_version(version) < (0, 24)), version.label


def test_only_djl_serving_before_its_short_names_needs_a_file_for_settings() -> None:
    for _, version in versions():
        if version.settings_in == "archive":
            assert djl_version(version) < (0, 28)


def test_weights_have_the_name_that_the_version_reads() -> None:
    for known, version in versions():
        if known.server == "djl":
            old = djl_version(version) <= (0, 21, 0)
            assert version.variables["weights"].name == ("OPTION_S3URL" if old else "OPTION_MODEL_ID")


def test_lmi_15_and_16_get_asynchronous_mode() -> None:
    asked = {label for label, known in engine("lmi-vllm").versions.items() if "OPTION_ASYNC_MODE" in known.constants}
    assert asked == {"0.33.0-lmi15", "0.34.0-lmi16"}


def test_tgi_takes_chats_from_2_4_on() -> None:
    for label, version in engine("tgi").versions.items():
        assert ("messages" in version.bodies) == (tuple(map(int, label.split("."))) >= (2, 4)), label


def test_a_version_overrides_single_entries_and_null_removes_one() -> None:
    versions = engine("tgi").versions
    assert versions["1.1.0"].variables["hub_token"].name == "HUGGING_FACE_HUB_TOKEN"
    assert versions["1.1.0"].variables["model"].name == "HF_MODEL_ID"
    assert "max_batch_size" not in versions["1.1.0"].variables
    assert versions["3.3.6"].variables["max_batch_size"].name == "MAX_BATCH_SIZE"


def test_an_engine_that_does_not_exist_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        engine("../regions")


def test_ec2_has_the_machines_of_the_endpoint_types_and_others_at_its_own_price() -> None:
    c5, endpoint = ec2_instances()["c5.xlarge"], instances()["ml.c5.xlarge"]
    assert (c5.vcpu, c5.memory_in_gib, c5.family) == (endpoint.vcpu, endpoint.memory_in_gib, "c5")
    assert (c5.price(), endpoint.price()) == ("about 0.17 USD an hour", "about 0.20 USD an hour")
    alone = ec2_instances().keys() - {name.removeprefix("ml.") for name in instances()}
    assert len(ec2_instances()) == len(instances()) + len(alone)
    assert alone
    for each in (ec2_instances()[name] for name in alone):
        assert (each.kind, each.arch == "arm64") == ("cpu", bool(re.match(r"[cmr]\d+g", each.type)))
        assert each.memory_in_gib == each.vcpu * {"c": 2, "m": 4}[each.type[0]]
        assert each.usd_per_hour


def test_no_price_of_an_endpoint_is_from_before_a_cut_of_ec2s() -> None:
    for each in instances().values():
        if each.usd_per_hour and each.ec2_usd_per_hour:
            assert 1.15 < each.usd_per_hour / each.ec2_usd_per_hour < 1.45, each.type


def test_a_price_of_sagemaker_is_estimated_from_ec2s_within_six_percent() -> None:
    known = [each for each in instances().values() if each.usd_per_hour and each.ec2_usd_per_hour]
    assert {each.kind for each in known} == {"cpu", "gpu", "neuron"}
    for each in known:
        estimate = replace(each, usd_per_hour=None).likely_usd_per_hour
        assert estimate == pytest.approx(each.usd_per_hour, rel=0.01 if each.kind != "neuron" else 0.06), each.type


def test_one_accelerator_has_one_generation_and_one_bandwidth_per_family() -> None:
    families: dict[str, set[tuple[object, ...]]] = {}
    for instance in instances().values():
        what = (
            instance.arch,
            instance.kind,
            instance.accelerator,
            instance.compute_capability,
            instance.memory_bandwidth_in_gb_per_s,
            instance.accelerator_memory_in_mib,
        )
        families.setdefault(instance.family, set()).add(what)
    assert {name: what for name, what in families.items() if len(what) > 1} == {}


def test_graviton_is_arm() -> None:
    for name, instance in instances().items():
        graviton = re.match(r"ml\.[cmr]\d+g[dn]*\.", name) or instance.accelerator == "NVIDIA GB200"
        assert (instance.arch == "arm64") == bool(graviton), name


def test_every_region_has_an_account() -> None:
    assert len(container_accounts()) > 40
    assert all(re.fullmatch(r"\d{12}", account) for account in container_accounts().values())


def test_images_are_only_in_regions_that_have_an_account() -> None:
    sets: dict[str, list[str]] = json.loads((CATALOG / "regions.json").read_text())["image_region_sets"]
    for name in sets:
        assert image_regions(name)
        assert image_regions(name) <= set(container_accounts()), name
        assert {"us-east-1", "us-west-2"} <= image_regions(name), name
    used = {version.regions for _, version in versions() if version.regions}
    assert {image_regions(name) for name in sets} == used


def test_machines_get_the_version_of_transformers_that_the_catalog_names() -> None:
    lock = (CATALOG.parents[2] / "model_src" / "machine" / "requirements.txt").read_text()
    assert f"\ntransformers=={engine('transformers').default_version} " in lock
