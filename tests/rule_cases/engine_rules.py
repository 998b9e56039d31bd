"""Of engine and model: what a version runs, and what it calls its settings."""

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


def gpt2_on_four_gpus(version: str, degree: int) -> Changes:
    return {
        "model": {"id": "openai-community/gpt2"},
        "serving": {"engine": "tgi", "version": version, "tensor_parallel_degree": degree},
        "hosting": {"instance_type": "ml.g5.12xlarge"},
    }


BROKEN = [
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
        "architecture-fits-engine",
        "error",
        "serving.version",
        {"model": {"id": "google/gemma-4-E4B-it"}, "serving": {"version": "0.36.0-lmi23"}},
        "does not run google/gemma-4-E4B-it (Gemma4ForConditionalGeneration): vLLM runs it from 0.19.0 on; use another",
    ),
    Broken(
        "architecture-fits-engine",
        "error",
        "serving.engine",
        {"model": {"id": "google/flan-t5-xl"}},
        "T5",
    ),
    Broken(  # the architecture is old, the model's own settings are not
        "architecture-fits-engine",
        "error",
        "serving.version",
        {"model": {"id": "unsloth/Meta-Llama-3.1-8B-Instruct"}, "serving": {"engine": "tgi", "version": "2.0.2"}},
        "TGI runs it from 2.2.0 on",
    ),
    Broken(
        "architecture-is-known",
        "unknown",
        "serving.engine",
        {"model": {"id": "stabilityai/stablelm-zephyr-3b"}, "serving": {"engine": "tgi"}},
        "whether tgi runs StableLmForCausalLM is not in the catalog; look at its list of models",
    ),
    Broken(
        "model-can-be-split",
        "error",
        "serving.tensor_parallel_degree",
        gpt2_on_four_gpus("2.0.2", 4),
        "4: tgi 2.0.2 does not split GPT2LMHeadModel; use 1, or a newer version",
    ),
    Broken(
        "files-fit-engine",
        "error",
        "model.id",
        {"model": {"id": "bartowski/Qwen2.5-7B-Instruct-GGUF"}, "serving": {"engine": "tgi"}},
        "holds GGUF files, which tgi does not load; use llama-cpp",
    ),
    Broken(
        "files-fit-engine",
        "error",
        "model.id",
        {"model": {"id": "meta-llama/Llama-2-7b", "weights": "s3://bucket/prefix/"}},
        "without config.json; use meta-llama/Llama-2-7b-hf",
    ),
    Broken(
        "quantization-fits-engine",
        "error",
        "model.dtype",
        {
            "model": {"id": "Qwen/Qwen2.5-7B-Instruct-AWQ", "dtype": "bf16"},
            "serving": {"environment": {"OPTION_QUANTIZE": "awq"}},
        },
        "bf16 is refused with AWQ, whose kernels compute in fp16; use fp16",
    ),
    Broken(
        "remote-code-needs-consent",
        "warning",
        "serving.environment",
        {"model": {"id": "internlm/internlm2-chat-7b"}, "serving": {"max_model_len": 8192}},
        "pin model.revision, and set OPTION_TRUST_REMOTE_CODE to 'true'",
    ),
    Broken(
        "remote-code-needs-consent",
        "warning",
        "serving.environment",
        {"model": {"id": "internlm/internlm2-chat-7b"}, "serving": {"engine": "sglang", "max_model_len": 8192}},
        "SM_SGLANG_TRUST_REMOTE_CODE",
    ),
    Broken(  # transformers did not have it yet
        "remote-code-needs-consent",
        "warning",
        "serving.environment",
        {"model": {"id": "tiiuae/falcon-7b"}, "serving": {"engine": "tgi", "version": "0.9.3"}},
        "set HF_MODEL_TRUST_REMOTE_CODE to 'true'",
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
        "cores-form-a-topology",
        "error",
        "serving.tensor_parallel_degree",
        {
            "model": NEURON_MODEL,
            "serving": {"engine": "lmi-neuronx", "tensor_parallel_degree": 4},
            "hosting": {"instance_type": "ml.trn1.32xlarge"},
        },
        "4 cores are no topology of ml.trn1.32xlarge; use one of 1, 2, 8, 16, 32",
    ),
    Broken(
        "neuron-positions",
        "error",
        "serving.max_model_len",
        neuron(max_model_len=2049),
        "2,049 positions are more than the 2,048 of nomic-ai/gpt4all-j; use 2048 or less",
    ),
    Broken(
        "batch-fits-neuron",
        "warning",
        "serving.max_batch_size",
        neuron(version="0.23.0", max_batch_size=2, max_batch_delay_in_ms=5),
        "2 is a batch that has to be full on lmi-neuronx 0.23.0, which refuses fewer prompts; use serving.version "
        "0.24.0 or newer, which pads, or 1",
    ),
    Broken(
        "batch-fits-neuron",
        "warning",
        "serving.max_batch_size",
        neuron(version="0.24.0", max_batch_size=2),
        "set a delay, so that calls share a batch, or use 1",
    ),
    Broken(
        "batch-fits-neuron",
        "warning",
        "serving.environment.MAX_BATCH_SIZE",
        neuron("tgi-neuronx", environment={"HF_BATCH_SIZE": "4"}),
        "is not set, but the model is compiled for batches of 4 (HF_BATCH_SIZE); set both to the same number",
    ),
    Broken(
        "batch-fits-neuron",
        "warning",
        "serving.environment.MAX_BATCH_SIZE",
        neuron("tgi-neuronx", environment={"HF_BATCH_SIZE": "4", "MAX_BATCH_SIZE": "8"}),
        "is 8, but the model is compiled for batches of 4",
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
    Kept(
        "architecture-fits-engine", {"model": {"id": "google/gemma-4-E4B-it"}, "serving": {"version": "0.36.0-lmi24"}}
    ),
    Kept("architecture-fits-engine", {"model": {"id": "google/flan-t5-xl"}, "serving": {"engine": "tgi"}}),
    Kept("architecture-fits-engine", {"model": {"id": "google/flan-t5-xl"}, "serving": {"handler": "mine"}}),
    Kept(
        "architecture-fits-engine",
        {"model": {"id": "unsloth/Meta-Llama-3.1-8B-Instruct"}, "serving": {"engine": "tgi", "version": "2.2.0"}},
    ),
    Kept("architecture-fits-engine", {"model": {"id": "nobody/knows-this"}}),
    Kept("architecture-is-known", {"model": {"id": "nobody/knows-this"}}),
    Kept("model-can-be-split", gpt2_on_four_gpus("2.0.2", 1)),
    Kept("model-can-be-split", gpt2_on_four_gpus("2.2.0", 4)),
    Kept(
        "files-fit-engine",
        {"model": {"id": "bartowski/Qwen2.5-7B-Instruct-GGUF"}, "serving": {"engine": "llama-cpp"}},
    ),
    Kept("files-fit-engine", {"model": {"id": "meta-llama/Llama-2-7b-hf"}}),
    Kept(
        "quantization-fits-engine",
        {
            "model": {"id": "Qwen/Qwen2.5-7B-Instruct-AWQ", "dtype": "fp16"},
            "serving": {"environment": {"OPTION_QUANTIZE": "awq"}},
        },
    ),
    Kept("quantization-fits-engine", {"model": {"id": "Qwen/Qwen2.5-7B-Instruct-AWQ", "dtype": "bf16"}}),
    Kept(
        "remote-code-needs-consent",
        {
            "model": {"id": "internlm/internlm2-chat-7b"},
            "serving": {"environment": {"OPTION_TRUST_REMOTE_CODE": "true"}},
        },
    ),
    Kept(
        "remote-code-needs-consent",
        {"model": {"id": "tiiuae/falcon-7b"}, "serving": {"engine": "tgi", "version": "1.0.3"}},
    ),
    Kept("remote-code-needs-consent", {"model": {"id": "internlm/internlm2-chat-7b"}, "serving": {"engine": "tgi"}}),
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
    Kept(
        "cores-form-a-topology",
        {
            "model": NEURON_MODEL,
            "serving": {"engine": "lmi-neuronx", "tensor_parallel_degree": 8},
            "hosting": {"instance_type": "ml.trn1.32xlarge"},
        },
    ),
    Kept("neuron-positions", neuron(max_model_len=2048)),
    Kept("batch-fits-neuron", neuron(version="0.24.0", max_batch_size=2, max_batch_delay_in_ms=5)),
    Kept(
        "batch-fits-neuron",
        neuron(version="0.24.0", max_batch_size=2, environment={"SERVING_MAX_BATCH_DELAY": "5"}),
    ),
    Kept("batch-fits-neuron", neuron(version="0.23.0", max_batch_size=1)),
    Kept("batch-fits-neuron", neuron("tgi-neuronx", environment={"HF_BATCH_SIZE": "4", "MAX_BATCH_SIZE": "4"})),
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
