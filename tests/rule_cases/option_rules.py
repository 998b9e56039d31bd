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
    return {"model": model, "serving": {"engine": engine, **settings}, "hosting": {"instance_type": "ml.inf2.8xlarge"}}


def djl(engine: str, version: str, **environment: str) -> Changes:
    known = "nobody/knows-this-1b" if engine == "lmi-fastertransformer" else "facebook/opt-6.7b"
    serving = {"engine": engine, "version": version, "environment": environment}
    return {"model": {"id": known, "dtype": "fp16"}, "serving": serving}


BROKEN = [
    Broken(
        "setting-is-read",
        "warning",
        "serving.environment.OPTION_QUANTIZATION",
        {
            "serving": {"version": "0.32.0-lmi14", "environment": {"OPTION_QUANTIZATION": "fp8"}},
            "model": {"id": "Qwen/Qwen2.5-7B-Instruct"},
        },
        "is not read by lmi-vllm 0.32.0-lmi14; use OPTION_QUANTIZE",
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
        "handler-fits-engine",
        "error",
        "serving.handler",
        serving(engine="vllm", handler="mine"),
        "'mine' does not run on vllm: only DJL Serving takes a model.py; use an engine lmi-...",
    ),
    Broken(
        "handler-takes-single-requests",
        "error",
        "serving.max_batch_size",
        serving(engine="lmi-huggingface", handler="mine", max_batch_size=2),
        "2 is refused with serving.handler; remove it",
    ),
    Broken(
        "handler-fits-version",
        "error",
        "serving.environment.OPTION_ENTRYPOINT",
        neuron(version="0.24.0", environment={"OPTION_ENTRYPOINT": "djl_python.transformers-neuronx"}),
        "is no handler of lmi-neuronx 0.24.0; use djl_python.transformers_neuronx",
    ),
    Broken(
        "handler-fits-version",
        "error",
        "serving.environment.OPTION_ENTRYPOINT",
        djl("lmi-fastertransformer", "0.21.0", OPTION_ENTRYPOINT="djl_python.fastertransformer"),
        "is no handler of lmi-fastertransformer 0.21.0",
    ),
    Broken(
        "option-fits-version",
        "error",
        "serving.environment.OPTION_S3URL",
        djl("lmi-vllm", "0.28.0-lmi10", OPTION_S3URL="s3://bucket/prefix/"),
        "option.s3url ended with 0.27; set model.weights instead",
    ),
    Broken(
        "option-fits-version",
        "error",
        "serving.environment.OPTION_ROLLING_BATCH",
        djl("lmi-vllm", "0.33.0-lmi15", OPTION_ROLLING_BATCH="lmi-dist"),
        "'lmi-dist' is gone from the image of lmi-vllm 0.33.0-lmi15; remove it",
    ),
    Broken(
        "option-fits-version",
        "error",
        "serving.environment.OPTION_ROLLING_BATCH",
        djl("lmi-deepspeed", "0.22.1", OPTION_ROLLING_BATCH="deepspeed"),
        "rolling batches came with 0.23; use a newer version",
    ),
    Broken(
        "option-fits-version",
        "error",
        "serving.environment.OPTION_ASYNC_MODE",
        djl("lmi-vllm", "0.32.0-lmi14", OPTION_ASYNC_MODE="true"),
        "it came with LMI 15 (0.33); use a newer version",
    ),
    Broken(
        "fastertransformer-needs-code",
        "error",
        "serving.version",
        djl("lmi-fastertransformer", "0.21.0"),
        "'0.21.0' of lmi-fastertransformer has no built-in handler; use 0.22.1 or newer, or bring your own",
    ),
    Broken(
        "tgi-limits",
        "error",
        "serving.environment.MAX_INPUT_LENGTH",
        tgi("1.4.0", MAX_INPUT_LENGTH="2048"),
        "2,048 tokens of input leave none of 2,048 (MAX_TOTAL_TOKENS) for the answer; TGI wants input < total: use "
        "2,047 or less",
    ),
    Broken(
        "tgi-limits",
        "error",
        "serving.environment.MAX_BATCH_PREFILL_TOKENS",
        tgi("1.4.0", MAX_INPUT_LENGTH="4097", MAX_TOTAL_TOKENS="4200"),
        "4,096 is less than the longest input, 4,097 (MAX_INPUT_LENGTH), at which TGI ends; use 4,097 or more",
    ),
    Broken(
        "tgi-limits",
        "error",
        "serving.environment.MAX_BATCH_TOTAL_TOKENS",
        tgi("2.0.2", MAX_TOTAL_TOKENS="2048", MAX_BATCH_TOTAL_TOKENS="2047"),
        "2,047 is less than MAX_TOTAL_TOKENS, 2,048",
    ),
    Broken(
        "tgi-limits",
        "error",
        "serving.environment.MAX_INPUT_LENGTH",
        tgi("2.0.2", MAX_INPUT_LENGTH="2000", MAX_INPUT_TOKENS="2000"),
        "is refused beside MAX_INPUT_TOKENS, its new name; remove one",
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
    Broken(
        "setting-is-read",
        "warning",
        "serving.environment.MESSAGES_API_ENABLED",
        tgi("2.4.0", MESSAGES_API_ENABLED="true"),
        "has no effect on TGI 2.4.0: it is read from 1.4 to 2.3",
    ),
    Broken(
        "setting-is-read",
        "warning",
        "serving.environment.MAX_INPUT_LENGTH",
        tgi("3.0.1", MAX_INPUT_LENGTH="2000"),
        "is called MAX_INPUT_TOKENS since TGI 3; rename it",
    ),
]

KEPT = [
    Kept("memory-share-is-possible", {"serving": {"environment": {"OPTION_GPU_MEMORY_UTILIZATION": "1"}}}),
    Kept("settings-reach-engine", serving(engine="huggingface", tensor_parallel_degree=1)),
    Kept("settings-reach-engine", serving(engine="lmi-huggingface", max_batch_delay_in_ms=5)),
    Kept("values-fit-engine", {"model": {"quantization": "fp8", "dtype": "bf16"}}),
    Kept("values-fit-engine", {"model": {"dtype": "int8"}, "serving": {"engine": "lmi-deepspeed"}}),
    Kept("handler-fits-engine", serving(engine="lmi-huggingface", handler="mine")),
    Kept("handler-takes-single-requests", serving(engine="lmi-huggingface", handler="mine", max_batch_size=1)),
    Kept("handler-takes-single-requests", serving(engine="lmi-huggingface", max_batch_size=2)),
    Kept(
        "handler-fits-version",
        neuron(version="0.23.0", environment={"OPTION_ENTRYPOINT": "djl_python.transformers-neuronx"}),
    ),
    Kept("handler-fits-version", variables(OPTION_ENTRYPOINT="my_package.model")),
    Kept(
        "handler-fits-version",
        serving(engine="lmi-huggingface", handler="mine", environment={"OPTION_ENTRYPOINT": "djl_python.none"}),
    ),
    Kept("option-fits-version", djl("lmi-deepspeed", "0.27.0", OPTION_S3URL="s3://bucket/prefix/")),
    Kept("option-fits-version", djl("lmi-vllm", "0.32.0-lmi14", OPTION_ROLLING_BATCH="lmi-dist")),
    Kept("option-fits-version", djl("lmi-deepspeed", "0.23.0", OPTION_ROLLING_BATCH="deepspeed")),
    Kept("option-fits-version", djl("lmi-deepspeed", "0.22.1", OPTION_ROLLING_BATCH="disable")),
    Kept("option-fits-version", djl("lmi-vllm", "0.33.0-lmi15", OPTION_ASYNC_MODE="true")),
    Kept("fastertransformer-needs-code", djl("lmi-fastertransformer", "0.22.1")),
    Kept("fastertransformer-needs-code", serving(engine="lmi-fastertransformer", version="0.21.0", handler="mine")),
    Kept("tgi-limits", tgi("1.4.0", MAX_INPUT_LENGTH="2047")),
    Kept("tgi-limits", tgi("1.4.0", MAX_INPUT_LENGTH="4096", MAX_TOTAL_TOKENS="4097")),
    Kept("tgi-limits", tgi("1.4.0", MAX_INPUT_LENGTH="8k")),
    Kept("tgi-limits", tgi("2.0.2", MAX_TOTAL_TOKENS="2048", MAX_BATCH_TOTAL_TOKENS="2048")),
    Kept("tgi-limits", {"model": LLAMA, "serving": {"engine": "tgi", "version": "1.4.0", "max_model_len": 8192}}),
    Kept(  # the limit by its new name keeps away the one that we would derive
        "tgi-limits",
        {
            "model": LLAMA,
            "serving": {
                "engine": "tgi",
                "version": "2.0.2",
                "max_model_len": 4096,
                "environment": {"MAX_INPUT_TOKENS": "4000"},
            },
        },
    ),
    Kept("legacy-engine", {"serving": {"engine": "vllm"}}),
    Kept("custom-needs-image", serving(engine="custom", image_uri=f"{OWN_REGISTRY}/own:1")),
    Kept("setting-is-read", serving(engine="huggingface", environment={"HF_TASK": "summarization"})),
    Kept("setting-is-read", tgi("2.3.1", MESSAGES_API_ENABLED="true")),
    Kept("setting-is-read", tgi("2.4.0", MAX_INPUT_LENGTH="2000")),
    Kept(
        "setting-is-read",
        serving(engine="custom", image_uri=f"{OWN_REGISTRY}/own:1", environment={"SM_VLLM_DTYPE": "auto"}),
    ),
]
