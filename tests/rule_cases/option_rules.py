"""Of what the container is told."""

from typing import Any

from rule_cases import OWN_REGISTRY, Broken, Changes, Kept

LLAMA = {"id": "NousResearch/Llama-2-7b-hf"}

NEURON_MODEL = {"id": "nomic-ai/gpt4all-j", "dtype": "fp16"}


def serving(**settings: Any) -> Changes:
    return {"serving": settings}


def variables(**environment: str) -> Changes:
    return {"serving": {"environment": environment}}


def tgi(version: str, **environment: str) -> Changes:
    return {"model": LLAMA, "serving": {"engine": "tgi", "version": version, "environment": environment}}


def neuron(engine: str = "lmi-neuronx", **settings: Any) -> Changes:
    model = NEURON_MODEL if engine == "lmi-neuronx" else LLAMA
    hosting = {"instance_type": "ml.inf2.8xlarge", "startup_timeout_in_seconds": 1800}
    return {"model": model, "serving": {"engine": engine, **settings}, "hosting": hosting}


def djl(engine: str, version: str, **environment: str) -> Changes:
    known = "nobody/knows-this-1b" if engine == "lmi-fastertransformer" else "facebook/opt-6.7b"
    serving = {"engine": engine, "version": version, "environment": environment}
    return {"model": {"id": known, "dtype": "fp16"}, "serving": serving}


BROKEN = [
    Broken(
        "memory-share-is-possible",
        "error",
        "serving.environment.OPTION_GPU_MEMORY_UTILIZATION",
        {"serving": {"environment": {"OPTION_GPU_MEMORY_UTILIZATION": "95"}}},
        "95 is no share of the memory; use more than 0 and at most 1",
    ),
    Broken(
        "settings-reach-engine",
        "warning",
        "serving.max_batch_delay_in_ms",
        serving(max_batch_delay_in_ms=5),
        "5 does not reach lmi-vllm 0.36.0-lmi28, which has no such setting; remove it",
    ),
    Broken(
        "settings-reach-engine",
        "warning",
        "serving.tensor_parallel_degree",
        {
            "serving": {"engine": "huggingface", "tensor_parallel_degree": 4},
            "hosting": {"instance_type": "ml.g6.12xlarge"},
        },
        "4 does not reach huggingface",
    ),
    Broken(
        "values-fit-engine",
        "error",
        "model.quantization",
        {"model": {"quantization": "bitsandbytes8"}},
        "'bitsandbytes8' is no value for lmi-vllm 0.36.0-lmi28; use one of awq,",
    ),
    Broken(
        "values-fit-engine",
        "error",
        "model.dtype",
        {"model": {"dtype": "int8"}},
        "use one of fp32, fp16, bf16, or remove it",
    ),
    Broken(
        "legacy-engine",
        "warning",
        "serving.engine",
        {"serving": {"engine": "tgi"}, "preflight": {"silenced": {}}},
        "'tgi' is legacy since 2025-12",
    ),
    Broken(
        "custom-needs-image",
        "error",
        "serving.image_uri",
        serving(engine="custom"),
        "is needed with serving.engine: custom; name the image in Amazon ECR",
    ),
    Broken(
        "setting-is-read",
        "warning",
        "serving.environment.HF_TASK",
        variables(HF_TASK="text-generation"),
        "has no effect on lmi-vllm; remove it",
    ),
    Broken(
        "setting-is-read",
        "warning",
        "serving.environment.SM_VLLM_MAX_MODEL_LEN",
        variables(SM_VLLM_MAX_MODEL_LEN="8192"),
        "has no effect on lmi-vllm; remove it",
    ),
]

KEPT = [
    Kept("memory-share-is-possible", {"serving": {"environment": {"OPTION_GPU_MEMORY_UTILIZATION": "1"}}}),
    Kept("settings-reach-engine", serving(engine="huggingface", tensor_parallel_degree=1)),
    Kept("settings-reach-engine", serving(engine="lmi-huggingface", max_batch_delay_in_ms=5)),
    Kept("values-fit-engine", {"model": {"quantization": "fp8", "dtype": "bf16"}}),
    Kept("values-fit-engine", {"model": {"dtype": "int8"}, "serving": {"engine": "lmi-deepspeed"}}),
    Kept("legacy-engine", {"serving": {"engine": "vllm"}}),
    Kept("custom-needs-image", serving(engine="custom", image_uri=f"{OWN_REGISTRY}/own:1")),
    Kept("setting-is-read", serving(engine="huggingface", environment={"HF_TASK": "summarization"})),
    Kept(
        "setting-is-read",
        serving(engine="custom", image_uri=f"{OWN_REGISTRY}/own:1", environment={"SM_VLLM_DTYPE": "auto"}),
    ),
]
