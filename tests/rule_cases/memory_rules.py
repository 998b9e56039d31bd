"""Of memory: of accelerators and machines."""

from typing import Any

from rule_cases import Broken, Changes, Kept

CPU = "2.6.0-transformers4.51.3-cpu"


def on(instance_type: str | list[str], model: str, **serving: Any) -> Changes:
    return {"model": {"id": model}, "serving": serving, "hosting": {"instance_type": instance_type}}


def sized(parameters_in_billions: float, instance_type: str = "ml.g6.2xlarge", **serving: Any) -> Changes:
    changes = on(instance_type, "nobody/knows-this", **serving)
    return changes | {"model": {"id": "nobody/knows-this", "parameters_in_billions": parameters_in_billions}}


def fp8(engine: str, version: str | None = None, model: str = "Qwen/Qwen3-14B", **environment: str) -> Changes:
    changes = on("ml.g6.2xlarge", model, engine=engine, version=version, max_model_len=2048, environment=environment)
    return changes | {"model": {"id": model, "quantization": "fp8"}}


def concurrent(requests: int) -> Changes:
    scaling = {"concurrent_requests_per_instance": requests}
    changes = on("ml.g6.2xlarge", "Qwen/Qwen3-8B", max_model_len=8192)
    return changes | {"hosting": {"instance_type": "ml.g6.2xlarge", "scaling": scaling}}


BROKEN = [
    Broken(
        "tokens-fit-memory",
        "warning",
        "serving.environment.MAX_BATCH_TOTAL_TOKENS",
        on(
            "ml.g5.2xlarge",
            "NousResearch/Llama-2-7b-hf",
            engine="tgi",
            environment={"MAX_TOTAL_TOKENS": "4096", "MAX_BATCH_TOTAL_TOKENS": "40000"},
        ),
        "40,000 tokens are likely to need 21.0 GB of KV cache on each accelerator of ml.g5.2xlarge, where",
    ),
    Broken(
        "prefill-fits-memory",
        "warning",
        "serving.environment.MAX_BATCH_PREFILL_TOKENS",
        {
            "model": {"id": "Qwen/Qwen2.5-14B-Instruct"},
            "serving": {
                "engine": "tgi",
                "version": "2.3.1",
                "environment": {"MAX_INPUT_TOKENS": "20000", "MAX_TOTAL_TOKENS": "20100"},
            },
            "hosting": {"instance_type": "ml.g5.12xlarge"},
        },
        "20,000 tokens at once are likely to need",
    ),
    Broken(  # 16,000 tokens by default
        "prefill-fits-memory",
        "warning",
        "serving.environment.MAX_BATCH_PREFILL_TOKENS",
        on("ml.g5.2xlarge", "huggyllama/llama-7b", engine="tgi", version="0.9.3"),
        "4,096 tokens at once, with a cache of 16,000, are likely to need",
    ),
    Broken(
        "weights-fit-memory",
        "error",
        "hosting.instance_type",
        sized(10.8),
        "'ml.g6.2xlarge' gives the engine 21.6 GB; the 16-bit weights of nobody/knows-this need 21.6 GB there and the "
        "engine ",
    ),
    Broken(
        "weights-fit-memory",
        "error",
        "hosting.instance_type",
        sized(22, "ml.g6.12xlarge", tensor_parallel_degree=2),
        " beside; use a higher serving.tensor_parallel_degree, a type with more memory, or quantized weights",
    ),
    Broken(
        "weights-fit-memory",
        "error",
        "model.quantization",
        fp8("vllm", "0.14.0"),
        "fp8 is made of the weights of Qwen/Qwen3-14B once all are loaded: 29.5 GB for each accelerator of "
        "ml.g6.2xlarge, which has 23.6 GB; use a serving.version with vLLM 0.15 or newer, which does so layer by "
        "layer, weights that are in FP8 already, or a type with more memory",
    ),
    Broken("weights-fit-memory", "error", "model.quantization", fp8("sglang"), "fp8 is made of the weights of"),
    Broken(
        "weights-barely-fit",
        "warning",
        "hosting.instance_type",
        sized(10.2),
        " beside, which may not start; use a type with more memory, or quantized weights",
    ),
    Broken(  # a name says less than a figure: one that exceeds the memory by as much would be refused
        "weights-barely-fit",
        "warning",
        "hosting.instance_type",
        on("ml.g6.2xlarge", "nobody/knows-this-11b"),
        "the 16-bit weights of nobody/knows-this-11b, going by its name, need 22.0 GB there",
    ),
    Broken(
        "size-is-known",
        "unknown",
        "model.parameters_in_billions",
        on("ml.g6.2xlarge", "nobody/knows-this"),
        "is not known for nobody/knows-this: set it to have memory, disk and start-up checked",
        frozenset({"shape-is-known"}),
    ),
    Broken(
        "size-is-known",
        "unknown",
        "model.quantization",
        on("ml.g6.2xlarge", "Qwen/Qwen3-32B", environment={"OPTION_QUANTIZE": "hqq"}),
        "'hqq' is a format whose size is not known, so memory is not checked",
    ),
    Broken(
        "size-is-known",
        "unknown",
        "model.quantization",
        on("ml.g5.2xlarge", "kaitchup/Qwen2.5-7B-Instruct-AutoRound-4bit", max_model_len=8192),
        "'AutoRound' is a format whose size is not known, so memory is not checked",
        frozenset({"shape-is-known"}),
    ),
    Broken(
        "size-is-known",
        "unknown",
        "model.id",
        on("ml.g6.2xlarge", "turboderp/Llama-3.1-8B-Instruct-exl2", engine="lmi-huggingface", handler="mine"),
        "holds weights for ExLlama, whose size is not known, so memory is not checked",
    ),
    Broken(
        "shape-is-known",
        "unknown",
        "model.id",
        sized(7),
        "'nobody/knows-this' is not in the catalog, so its KV cache, and whether lmi-vllm runs it, are not checked; "
        "docs/models.md shows how to add it",
    ),
    Broken(
        "answer-fits-context",
        "error",
        "serving.max_new_tokens",
        on("ml.g6.2xlarge", "Qwen/Qwen3-4B", max_model_len=256, max_new_tokens=256),
        "256 leaves no room for a prompt in 256 tokens (serving.max_model_len); use fewer, or a longer context",
    ),
    Broken(
        "context-fits-memory",
        "error",
        "serving.max_model_len",
        on("ml.g6.2xlarge", "Qwen/Qwen3-8B"),
        "40,960 (not set, so the context of the model) tokens need 6.0 GB of KV cache on each accelerator of "
        "ml.g6.2xlarge, where 4.",
    ),
    Broken(
        "context-fits-memory",
        "error",
        "serving.max_model_len",
        on("ml.g6.2xlarge", "Qwen/Qwen3-8B", max_model_len=32_000),
        " or less, or a type with more memory",
    ),
    Broken(
        "context-fits-memory",
        "error",
        "serving.max_model_len",
        on(
            "ml.inf2.8xlarge",
            "unsloth/mistral-7b-v0.3",
            engine="lmi-neuronx",
            tensor_parallel_degree=1,
            max_model_len=32768,
        ),
        "32,768 tokens need 4.3 GB of KV cache on each accelerator of ml.inf2.8xlarge",
    ),
    Broken(
        "context-fits-memory",
        "error",
        "serving.max_model_len",
        on(
            "ml.inf2.8xlarge",
            "NousResearch/Llama-2-7b-hf",
            engine="lmi-neuronx",
            max_model_len=4096,
            environment={"OPTION_MAX_ROLLING_BATCH_SIZE": "32"},
        ),
        "32 requests of 4,096 tokens need 34.4 GB of KV cache on each accelerator of ml.inf2.8xlarge, where",
    ),
    Broken(
        "images-fit-memory",
        "warning",
        "serving.max_batch_size",
        on("ml.g6e.12xlarge", "unsloth/Llama-3.2-11B-Vision-Instruct", version="0.31.0-lmi13", max_model_len=4096),
        "not set, so 256 requests at once are likely to need more memory than there is for the images of",
    ),
    Broken(
        "requests-fit-memory",
        "warning",
        "hosting.scaling.concurrent_requests_per_instance",
        concurrent(4),
        "4 requests of the whole context do not fit the KV cache of ml.g6.2xlarge, which holds 3.",
    ),
    Broken(
        "host-memory",
        "error",
        "hosting.instance_type",
        on("ml.m7i.2xlarge", "Qwen/Qwen3-14B", engine="huggingface", version=CPU),
        "'ml.m7i.2xlarge' has 32 GiB of memory; the weights of Qwen/Qwen3-14B need 59.1 GB of it; use a type with more "
        "memory, or a smaller model",
    ),
]

KEPT = [
    Kept(  # the type of the cache says nothing of the file
        "weights-fit-memory",
        on(
            "ml.g5.2xlarge",
            "Qwen/Qwen2.5-32B-Instruct-GGUF",
            engine="llama-cpp",
            environment={
                "SM_LLAMA_CPP_CACHE_TYPE_K": "q8_0",
                "SM_LLAMA_CPP_HF_FILE": "qwen2.5-32b-instruct-q4_k_m.gguf",
            },
        ),
    ),
    Kept("weights-fit-memory", fp8("vllm", "0.15.1")),
    Kept("weights-fit-memory", fp8("vllm", "0.14.0") | {"hosting": {"instance_type": "ml.m5.24xlarge"}}),
    Kept("weights-fit-memory", fp8("vllm", "0.14.0", "Qwen/Qwen3-14B-FP8")),
    Kept("weights-fit-memory", fp8("vllm", "0.14.0", SM_VLLM_CPU_OFFLOAD_GB="16")),
    Kept(  # how much of it nobody knows
        "weights-fit-memory",
        on(
            "ml.g5.8xlarge",
            "unsloth/gpt-oss-120b-GGUF",
            engine="llama-cpp",
            environment={"SM_LLAMA_CPP_CPU_MOE": "true"},
        ),
    ),
    Kept(
        "weights-fit-memory",
        on(
            "ml.g5.2xlarge",
            "nobody/a-70b-GGUF",
            engine="llama-cpp",
            environment={"SM_LLAMA_CPP_N_GPU_LAYERS": "20"},
        ),
    ),
    Kept(  # LMI's own branch was TGI's then, and takes all of the memory
        "weights-fit-memory",
        on(
            "ml.g5.48xlarge",
            "tiiuae/falcon-40b",
            engine="lmi-deepspeed",
            version="0.23.0",
            tensor_parallel_degree=4,
            environment={"OPTION_ROLLING_BATCH": "lmi-dist"},
        ),
    ),
    Kept(  # 1.5 bits each, over four GPUs
        "weights-fit-memory",
        on(
            "ml.g6e.12xlarge",
            "unsloth/DeepSeek-R1-GGUF",
            engine="llama-cpp",
            environment={"SM_LLAMA_CPP_MODEL": "/opt/ml/model/DeepSeek-R1-UD-IQ1_S-00001-of-00003.gguf"},
        ),
    ),
    Kept(  # a few layers on the GPU
        "weights-fit-memory",
        on(
            "ml.g5.4xlarge",
            "bartowski/Qwen2.5-72B-Instruct-GGUF",
            engine="llama-cpp",
            environment={"SM_LLAMA_CPP_N_GPU_LAYERS": "20"},
        ),
    ),
    Kept(
        "tokens-fit-memory",
        on("ml.g5.2xlarge", "NousResearch/Llama-2-7b-hf", engine="tgi", environment={"MAX_TOTAL_TOKENS": "4096"}),
    ),
    Kept(
        "prefill-fits-memory",
        {
            "model": {"id": "Qwen/Qwen2.5-14B-Instruct"},
            "serving": {"engine": "tgi", "version": "2.3.1"},
            "hosting": {"instance_type": "ml.g5.12xlarge"},
        },
    ),
    Kept(
        "prefill-fits-memory",
        on(
            "ml.g5.2xlarge",
            "huggyllama/llama-7b",
            engine="tgi",
            version="0.9.3",
            environment={"MAX_BATCH_TOTAL_TOKENS": "8192"},
        ),
    ),
    Kept(  # two stages of pipeline parallelism on two GPUs each
        "weights-fit-memory",
        {
            "model": {"id": "Qwen/Qwen3-32B"},
            "serving": {
                "engine": "vllm",
                "tensor_parallel_degree": 2,
                "max_model_len": 4096,
                "environment": {"SM_VLLM_PIPELINE_PARALLEL_SIZE": "2"},
            },
            "hosting": {"instance_type": "ml.g6.12xlarge"},
        },
    ),
    Kept(  # vLLM takes what fits
        "context-fits-memory",
        {"model": {"id": "Qwen/Qwen3-8B"}, "serving": {"environment": {"OPTION_MAX_MODEL_LEN": "-1"}}},
    ),
    Kept("weights-fit-memory", sized(10.2)),
    Kept("weights-fit-memory", sized(22, "ml.g6.12xlarge", tensor_parallel_degree=4)),
    Kept("weights-fit-memory", on("ml.g6.2xlarge", "nobody/knows-this-11b")),
    Kept("weights-fit-memory", on("ml.g6.2xlarge", "nobody/knows-this-13b-awq")),
    Kept("weights-fit-memory", on("ml.g6.2xlarge", "Qwen/Qwen3-14B", environment={"OPTION_QUANTIZE": "bitsandbytes"})),
    Kept("weights-fit-memory", on("ml.m7i.2xlarge", "Qwen/Qwen3-14B", engine="huggingface", version=CPU)),
    Kept("weights-barely-fit", sized(9.4)),
    Kept("size-is-known", on("ml.g6.2xlarge", "nobody/knows-this-7b")),
    Kept("size-is-known", sized(7)),
    Kept("context-fits-memory", on("ml.g6.2xlarge", "Qwen/Qwen3-8B", max_model_len=26_000)),
    Kept(
        "context-fits-memory",
        on(
            "ml.g5.2xlarge",
            "meta-llama/Llama-3.1-8B-Instruct",
            version="0.29.0-lmi11",
            environment={"OPTION_ROLLING_BATCH": "auto"},  # LMI's own branch of vLLM checks no context
        ),
    ),
    Kept("context-fits-memory", on("ml.g6.2xlarge", "Qwen/Qwen3-8B", engine="tgi")),  # computes its limits from memory
    Kept("context-fits-memory", on("ml.g6.2xlarge", "Qwen/Qwen3-8B", environment={"OPTION_MAX_MODEL_LEN": "8192"})),
    Kept(
        "images-fit-memory",
        on("ml.g6e.12xlarge", "unsloth/Llama-3.2-11B-Vision-Instruct", version="0.31.0-lmi13", max_batch_size=16),
    ),
    Kept("requests-fit-memory", concurrent(3)),
    Kept("requests-fit-memory", on("ml.g6.2xlarge", "Qwen/Qwen3-8B", max_model_len=8192)),  # the default is no promise
    Kept("host-memory", on("ml.m7i.4xlarge", "Qwen/Qwen3-14B", engine="huggingface", version=CPU)),
    Kept("shape-is-known", on("ml.g6.2xlarge", "Qwen/Qwen3-4B")),
    Kept("answer-fits-context", on("ml.g6.2xlarge", "Qwen/Qwen3-4B", max_model_len=257, max_new_tokens=256)),
    Kept("answer-fits-context", on("ml.g6.2xlarge", "Qwen/Qwen3-4B", max_new_tokens=256)),
]
