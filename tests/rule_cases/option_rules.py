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


def prefill(version: str, name: str = "OPTION_MAX_ROLLING_BATCH_PREFILL_TOKENS", **settings: Any) -> Changes:
    """A step of 2,048 tokens."""
    changes = {"engine": "lmi-vllm", "version": version, "max_model_len": 8192, "environment": {name: "2048"}}
    return {"serving": changes | settings, "model": {"id": "Qwen/Qwen2.5-0.5B-Instruct"}}


BROKEN = [
    Broken(
        "batched-tokens-fit-requests",
        "error",
        "serving.environment.OPTION_MAX_ROLLING_BATCH_PREFILL_TOKENS",
        prefill("0.31.0-lmi13"),
        "2,048 is less than the 8,192 of the longest prompt, at which vLLM 0.6.3.post1 ends; use 8192 or more",
    ),
    Broken(
        "batched-tokens-fit-requests",
        "error",
        "serving.environment.SM_VLLM_MAX_NUM_BATCHED_TOKENS",
        serving(engine="vllm", max_batch_size=512, environment={"SM_VLLM_MAX_NUM_BATCHED_TOKENS": "256"}),
        "256 is less than the 512 requests that run together",
    ),
    Broken(
        "task-is-known",
        "warning",
        "serving.environment",
        {"model": {"id": "BAAI/bge-m3"}, "serving": {"engine": "huggingface"}},
        "says no HF_TASK, so 'text-generation' is taken, which BAAI/bge-m3 (XLMRobertaModel) was not made for",
    ),
    Broken(
        "task-is-known",
        "warning",
        "serving.environment.HF_TASK",
        serving(engine="huggingface", environment={"HF_TASK": "sentence-similarity"}),
        "'sentence-similarity' is no task of the toolkit's pipelines; use text-generation, or another",
    ),
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
    Kept("batched-tokens-fit-requests", prefill("0.33.0-lmi15")),
    Kept("batched-tokens-fit-requests", prefill("0.33.0-lmi15", "SM_VLLM_MAX_NUM_BATCHED_TOKENS", max_batch_size=4096)),
    Kept("task-is-known", serving(engine="huggingface", environment={"HF_TASK": "text-to-image"})),
    Kept(
        "batched-tokens-fit-requests",
        {
            "model": {"id": "tiiuae/falcon-7b-instruct"},
            "serving": {
                "engine": "lmi-deepspeed",
                "version": "0.26.0",
                "environment": {
                    "OPTION_ROLLING_BATCH": "lmi-dist",
                    "OPTION_MAX_ROLLING_BATCH_PREFILL_TOKENS": "1024",
                },
            },
        },
    ),
    Kept("batched-tokens-fit-requests", prefill("0.31.0-lmi13", max_model_len=2048)),
    Kept("batched-tokens-fit-requests", prefill("0.31.0-lmi13", "OPTION_MAX_NUM_BATCHED_TOKENS")),  # not passed on
    Kept("task-is-known", serving(engine="huggingface", environment={"HF_TASK": "translation_en_to_de"})),
    Kept(
        "task-is-known",
        {
            "model": {"weights": "s3://bucket/prefix/"},
            "serving": {"engine": "huggingface", "environment": {"HF_TASK": "of-our-own"}},
        },
    ),
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
