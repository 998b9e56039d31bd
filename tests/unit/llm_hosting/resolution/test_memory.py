"""The estimate of memory: figures worked out by hand, and properties that hold for any figures."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from llm_hosting.catalog.instances import InstanceType, instances
from llm_hosting.catalog.models import model_shape
from llm_hosting.catalog.versions import is_before
from llm_hosting.resolution import Memory, Placement
from llm_hosting.resolution.memory import GB, weights_in_files
from llm_hosting.resolution.recurrent_state import requests_at_once
from support.deployments.any_deployments import HUB_IDS, VERSIONS
from support.deployments.good_one import Changes, findings, resolved

MIB = 2**20
SHARE = "SM_VLLM_GPU_MEMORY_UTILIZATION"
QWEN_4B, QWEN_8B, QWEN_32B, MIXTURE = "Qwen/Qwen3-4B", "Qwen/Qwen3-8B", "Qwen/Qwen3-32B", "Qwen/Qwen3-30B-A3B"
NOT_FITTING = {"weights-fit-memory", "context-fits-memory", "weights-fit-disk"}


def placement(model: str | Changes, instance_type: str = "ml.g6.2xlarge", **serving: Any) -> Placement:
    section = model if isinstance(model, dict) else {"id": model}
    changes = {"model": section, "serving": serving, "hosting": {"instance_type": instance_type}}
    return resolved(changes).placements[0]


def need(model: str | Changes, instance_type: str = "ml.g6.2xlarge", **serving: Any) -> Memory:
    return placement(model, instance_type, **serving).memory


def test_weights_and_cache_follow_from_the_shape_of_the_model() -> None:
    estimate = need(QWEN_4B, max_model_len=8192)
    assert estimate.weights == pytest.approx(4.02e9 * 2, rel=0.01)
    assert estimate.per_token == 2 * 36 * 8 * 128 * 2  # keys and values, layers, heads, size of a head, bytes
    left = estimate.available - 4.02e9 * 2 - estimate.overhead
    assert estimate.cached_tokens == pytest.approx(left / estimate.per_token, rel=0.01)
    assert estimate.requests_at_full_length == pytest.approx(left / estimate.per_token / 8192, rel=0.01)


def test_sparse_attention_caches_the_keys_of_its_indexers_too() -> None:
    of_type = {
        word: need("zai-org/GLM-5-FP8", "ml.p5en.48xlarge", environment={"OPTION_KV_CACHE_DTYPE": word}).per_token
        for word in ("auto", "fp8")
    }
    assert of_type == {"auto": 78 * (576 * 2 + 132), "fp8": 78 * (656 + 132)}


def test_a_window_that_holds_the_whole_context_saves_nothing() -> None:
    short, fitting, long = (need("google/gemma-2-9b-it", max_model_len=length) for length in (2048, 4096, 8192))
    assert short.per_token == fitting.per_token
    assert (fitting.per_token or 0) > (long.per_token or 0) > 0


def test_vllm_takes_its_share_of_a_gpu_and_other_engines_all_visible_memory() -> None:
    assert need(QWEN_4B).available == pytest.approx(22_888 * MIB * 0.92)
    assert need(QWEN_4B, engine="vllm", version="0.20.0").available == need(QWEN_4B).available
    assert need(QWEN_4B, engine="vllm", version="0.19.1").available == pytest.approx(22_888 * MIB * 0.9)
    assert need(QWEN_4B, engine="tgi").available == pytest.approx(22_888 * MIB * 0.985)
    assert need(QWEN_4B, "ml.g4dn.2xlarge", engine="tgi").available == pytest.approx(16_384 * MIB * 0.92)


def test_engines_that_plan_ahead_need_more_beside_the_weights() -> None:
    overhead = {engine: need(QWEN_4B, engine=engine).overhead for engine in ("lmi-vllm", "vllm", "sglang", "tgi")}
    assert overhead["lmi-vllm"] == overhead["vllm"] == overhead["sglang"] > overhead["tgi"]


@pytest.mark.parametrize(
    ("engine", "name"),
    [("lmi-vllm", "OPTION_GPU_MEMORY_UTILIZATION"), ("vllm", "SM_VLLM_GPU_MEMORY_UTILIZATION")],
)
def test_the_share_of_the_gpu_is_read_back_from_the_environment(engine: str, name: str) -> None:
    assert need(QWEN_4B, engine=engine, environment={name: "0.5"}).available == pytest.approx(22_888 * MIB * 0.5)
    assert need(QWEN_4B, engine=engine, environment={name: "most"}).available == pytest.approx(22_888 * MIB * 0.92)


def test_a_neuron_core_has_its_part_of_the_device() -> None:
    assert need("nomic-ai/gpt4all-j", "ml.inf2.8xlarge", engine="lmi-neuronx").available == 16 * 1024 * MIB


def test_on_a_cpu_type_the_memory_of_the_machine_counts() -> None:
    estimate = need(QWEN_4B, "ml.m7i.2xlarge", engine="huggingface", version="2.6.0-transformers5.5.3-cpu")
    assert 30e9 < estimate.available < 32 * 1024 * MIB


def test_a_shard_holds_its_part_of_the_weights_and_of_the_heads() -> None:
    one, four = need(QWEN_8B, "ml.g6.12xlarge", tensor_parallel_degree=1), need(QWEN_8B, "ml.g6.12xlarge")
    assert one.weights is not None
    assert one.per_token is not None
    assert four.weights == one.weights / 4
    assert four.per_token == one.per_token / 4


def test_key_and_value_heads_are_copied_where_there_are_fewer_than_shards() -> None:
    four = need(MIXTURE, "ml.g6.48xlarge", tensor_parallel_degree=4)
    eight = need(MIXTURE, "ml.g6.48xlarge", tensor_parallel_degree=8)
    assert four.per_token == eight.per_token  # the model has four such heads


def test_a_compressed_cache_has_one_vector_per_token() -> None:
    assert need("deepseek-ai/DeepSeek-V3", "ml.p5en.48xlarge").per_token == 61 * (512 + 64) * 2


def test_vllm_before_0_7_1_compresses_no_cache() -> None:
    old = need("deepseek-ai/DeepSeek-V2", "ml.p5.48xlarge", version="0.29.0-lmi11")
    assert old.per_token == 2 * 60 * 128 * 192 * 2 / 8


def test_of_heads_that_are_not_stated_no_cache_follows() -> None:
    assert need("nvidia/Llama-3_3-Nemotron-Super-49B-v1", "ml.g6e.12xlarge").per_token is None


def test_an_8_bit_cache_is_half_as_large() -> None:
    small = need(QWEN_4B, environment={"OPTION_KV_CACHE_DTYPE": "fp8"}).per_token
    assert small == 2 * 36 * 8 * 128


@pytest.mark.parametrize(
    ("model", "serving", "bytes_per_parameter"),
    [
        ({"id": QWEN_8B}, {}, 2),
        ({"id": QWEN_8B, "dtype": "fp32"}, {}, 4),
        ({"id": QWEN_8B, "quantization": "fp8"}, {}, 1),
        ({"id": QWEN_8B, "quantization": "fp8", "dtype": "fp32"}, {}, 1),
        ({"id": QWEN_8B}, {"environment": {"OPTION_QUANTIZE": "fp8"}}, 1),
        ({"id": QWEN_8B}, {"environment": {"OPTION_DTYPE": "auto"}}, 2),
        ({"id": QWEN_8B}, {"environment": {"OPTION_QUANTIZE": "bitsandbytes"}}, 0.6),  # four bits in vLLM
        ({"id": QWEN_8B}, {"engine": "tgi", "environment": {"HF_MODEL_QUANTIZE": "bitsandbytes"}}, 1.05),  # eight
        ({"id": QWEN_8B}, {"engine": "lmi-huggingface", "environment": {"OPTION_LOAD_IN_8BIT": "true"}}, 1.05),
        ({"id": QWEN_8B}, {"engine": "lmi-fastertransformer"}, 4),  # its own default
        ({"id": QWEN_8B, "dtype": "fp16"}, {"engine": "lmi-fastertransformer"}, 2),
    ],
)
def test_bytes_per_parameter_follow_from_type_and_format(
    model: Changes, serving: Changes, bytes_per_parameter: float
) -> None:
    assert need(model, **serving).weights == pytest.approx(8.19e9 * bytes_per_parameter, rel=0.01)


def test_of_weights_that_are_stored_quantized_the_files_say_the_size() -> None:
    shape = model_shape("Qwen/Qwen2.5-7B-Instruct-AWQ")
    assert shape is not None
    assert shape.weights_in_gb is not None
    assert need("Qwen/Qwen2.5-7B-Instruct-AWQ").weights == shape.weights_in_gb * GB


def test_an_unknown_model_or_format_has_no_estimate() -> None:
    assert need("nobody/knows-this").weights is None
    assert need("nobody/knows-this").cached_tokens is None
    assert need("nobody/knows-this-7b").weights is None
    given = {"id": "nobody/knows-this", "parameters_in_billions": 7}
    assert (need(given).weights, need(given).per_token) == (14e9, None)
    assert need(QWEN_8B, environment={"OPTION_QUANTIZE": "hqq"}).weights is None
    assert weights_in_files(placement("nobody/knows-this").container) is None


@pytest.mark.parametrize(
    ("model", "instance_type", "share", "blocks"),
    [
        ("Qwen/Qwen3.5-27B-FP8", "ml.p5.4xlarge", {SHARE: "0.95"}, 856),  # vllm-project/recipes#551
        ("Qwen/Qwen3.5-27B-FP8", "ml.g7e.2xlarge", {}, 939),  # vllm-project/recipes#831
        ("Qwen/Qwen3.5-27B", "ml.g7e.2xlarge", {SHARE: "0.95"}, 556),  # the same
        ("nvidia/NVIDIA-Nemotron-Nano-12B-v2", "ml.p5.4xlarge", {SHARE: "0.6"}, 658),  # NVIDIA-NeMo/RL#2620
    ],
)
def test_no_more_states_of_a_hybrid_model_fit_than_estimated(
    model: str, instance_type: str, share: Changes, blocks: int
) -> None:
    estimate = need(model, instance_type, engine="vllm", environment=share)
    assert blocks <= estimate.most_running < 1.45 * blocks


def test_a_request_takes_its_state_beside_its_tokens() -> None:
    estimate = need("Qwen/Qwen3.5-9B", engine="vllm", max_model_len=4096)
    assert estimate.per_request == 24 * (3 * 8192 * 2 + 32 * 128 * 128 * 4)
    assert estimate.per_token == 8 * 2 * 4 * 256 * 2
    assert estimate.left_for_cache is not None
    each = 4096 * estimate.per_token + estimate.per_request
    assert estimate.requests_at_full_length == pytest.approx(estimate.left_for_cache / each)
    assert estimate.per_running_request == estimate.per_request / 3  # as many layers as have attention
    assert need("Qwen/Qwen3.5-9B", engine="sglang").per_running_request == 0
    assert need("tiiuae/Falcon-H1-7B-Instruct", engine="vllm").per_running_request == 44 * 1_594_368
    assert (need(QWEN_8B).per_request, need(QWEN_8B).most_running) == (0, 0)


@pytest.mark.parametrize(
    ("engine", "instance_type", "variables", "requests"),
    [
        ("vllm", "ml.p5.4xlarge", {}, 1024),
        ("vllm", "ml.g6e.2xlarge", {}, 256),
        ("vllm", "ml.p4de.24xlarge", {}, 256),  # the A100 is left out, whatever its memory
        ("vllm", "ml.p5.4xlarge", {"SM_VLLM_MAX_NUM_SEQS": "64"}, 64),
        ("vllm", "ml.p5.4xlarge", {"SM_VLLM_MAX_NUM_BATCHED_TOKENS": "512"}, 512),
        ("vllm", "ml.p5.4xlarge", {"SM_VLLM_MAX_NUM_BATCHED_TOKENS": "8192"}, 1024),
        ("vllm", "ml.p5.4xlarge", {"SM_VLLM_MAX_NUM_BATCHED_TOKENS": "512", "SM_VLLM_MAX_NUM_SEQS": "600"}, 600),
        ("lmi-vllm", "ml.p5.4xlarge", {}, 32),
        ("lmi-vllm", "ml.p5.4xlarge", {"OPTION_ROLLING_BATCH": "vllm"}, 256),
        ("lmi-vllm", "ml.p5.4xlarge", {"OPTION_ROLLING_BATCH": "disable"}, 32),
    ],
)
def test_as_many_requests_may_run_as_the_server_says(
    engine: str, instance_type: str, variables: Changes, requests: int
) -> None:
    found = placement(QWEN_8B, instance_type, engine=engine, environment=variables)
    assert requests_at_once(found.container, found.instance) == requests


def test_layers_without_a_window_may_have_heads_of_their_own() -> None:
    estimate = need("google/gemma-4-31B-it", "ml.p5.4xlarge", engine="vllm", max_model_len=32_768)
    whole = 10 * 2 * 4 * 512 * 2
    assert estimate.least_per_token == whole
    assert estimate.per_token == pytest.approx(whole + 50 * 2 * 16 * 256 * 2 * 1024 / 32_768)


def test_an_early_vllm_takes_a_prompt_in_one_piece() -> None:
    """At the whole context, zephyr-7b left a cache of 1.16 GB on an A10G (djl-serving#1724)."""
    estimate = need("HuggingFaceH4/zephyr-7b-beta", "ml.g5.2xlarge", version="0.30.0-lmi12", max_model_len=32_768)
    assert estimate.left_for_cache == pytest.approx(1.16e9, abs=0.5e9)
    newer = need("HuggingFaceH4/zephyr-7b-beta", "ml.g5.2xlarge", version="0.33.0-lmi15", max_model_len=32_768)
    assert newer.left_for_cache == pytest.approx(6.4e9, abs=0.5e9)
    longer = need("HuggingFaceH4/zephyr-7b-beta", "ml.g5.2xlarge", version="0.30.0-lmi12", max_model_len=32_769)
    assert longer.left_for_cache == newer.left_for_cache  # in pieces, above 32,768


GPU_TYPES = [instance for instance in instances().values() if instance.kind == "gpu" and instance.arch == "x86_64"]
GPU_VERSIONS = [version for version in VERSIONS if version.platform == "gpu" and version.settings_in == "environment"]


def served(version_index: int) -> Changes:
    version = GPU_VERSIONS[version_index]
    return {"engine": version.engine, "version": version.label}


versions = st.integers(0, len(GPU_VERSIONS) - 1).map(served)
models = st.sampled_from(HUB_IDS)
lengths = st.integers(128, 200_000)


def does_not_fit(model: str, instance_type: str, serving: Changes) -> set[str]:
    changes = {"model": {"id": model}, "serving": serving, "hosting": {"instance_type": instance_type}}
    return {each.rule for each in findings(changes) if each.level == "error" and each.rule in NOT_FITTING}


def is_larger(one: InstanceType, other: InstanceType) -> bool:
    """Whether the first type has the same accelerator, and at least as much of everything."""
    return (
        one.accelerator == other.accelerator
        and one.accelerator_memory_in_mib == other.accelerator_memory_in_mib
        and other.accelerator_count <= one.accelerator_count
        and other.memory_in_gib <= one.memory_in_gib
        and (other.local_nvme_in_gb or 0) <= (one.local_nvme_in_gb or 0)
    )


LARGER = [(small, large) for small in GPU_TYPES for large in GPU_TYPES if small != large and is_larger(large, small)]


@given(types=st.sampled_from(LARGER), model=models, serving=versions)
@settings(max_examples=50)
def test_a_larger_type_refuses_nothing_that_fits_a_smaller_one(
    types: tuple[InstanceType, InstanceType], model: str, serving: Changes
) -> None:
    small, large = types
    assume(not does_not_fit(model, small.type, serving))
    assert not does_not_fit(model, large.type, serving)


@given(degree=st.sampled_from([1, 2, 4]), model=models, serving=versions)
@settings(max_examples=100)
def test_more_shards_never_need_more_of_each_accelerator(degree: int, model: str, serving: Changes) -> None:
    fewer = need(model, "ml.g6.48xlarge", tensor_parallel_degree=degree, **serving)
    more = need(model, "ml.g6.48xlarge", tensor_parallel_degree=2 * degree, **serving)
    assert (more.weights or 0) <= (fewer.weights or 0)
    assert (more.per_token or 0) <= (fewer.per_token or 0)
    assert more.overhead <= fewer.overhead


@given(model=models, serving=versions, types=st.permutations(["fp32", "fp16", "int8"]))
@settings(max_examples=100)
def test_a_smaller_type_of_numbers_never_needs_more(model: str, serving: Changes, types: list[str]) -> None:
    sizes = {"fp32": 4, "fp16": 2, "int8": 1}
    small, large = sorted(types[:2], key=lambda name: sizes[name])
    smaller, larger = (need({"id": model, "dtype": name}, **serving) for name in (small, large))
    assert (smaller.weights or 0) <= (larger.weights or 0)


@given(model=models, serving=versions, few=lengths, many=lengths, instance=st.sampled_from(GPU_TYPES))
@settings(max_examples=50)
def test_a_shorter_context_refuses_nothing_that_fits_with_a_longer_one(
    model: str, serving: Changes, few: int, many: int, instance: InstanceType
) -> None:
    few, many = min(few, many), max(few, many)
    # From 0.6 to 0.8 vLLM cuts prompts to pieces only above 32,768 tokens: below, it may need more.
    vllm = placement(model, instance.type, **serving).container.vllm
    cuts_long_only = is_before(vllm, "0.8") and not is_before(vllm, "0.6")
    assume(not (cuts_long_only and few <= 32_768 < many))
    assume(not does_not_fit(model, instance.type, serving | {"max_model_len": many}))
    assert not does_not_fit(model, instance.type, serving | {"max_model_len": few})
