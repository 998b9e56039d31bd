"""Of compiled models on Neuron."""

from typing import Any

from rule_cases import OWN_REGISTRY, Broken, Changes, Kept

LLAMA = {"id": "NousResearch/Llama-2-7b-hf"}

NEURON_MODEL = {"id": "nomic-ai/gpt4all-j", "dtype": "fp16"}


def neuron(engine: str = "lmi-neuronx", **settings: Any) -> Changes:
    model = NEURON_MODEL if engine == "lmi-neuronx" else LLAMA
    hosting = {"instance_type": "ml.inf2.8xlarge", "startup_timeout_in_seconds": 1800}
    return {"model": model, "serving": {"engine": engine, **settings}, "hosting": hosting}


def toolkit(instance_type: str, **environment: str) -> Changes:
    image = f"{OWN_REGISTRY}/huggingface-pytorch-inference-neuron:1.9.1-transformers4.12.3-neuron-py37-sdk1.17.1"
    return {
        "serving": {"engine": "custom", "image_uri": image, "environment": environment},
        "hosting": {"instance_type": instance_type},
    }


BROKEN = [
    Broken(
        "workers-fit-cores",
        "warning",
        "serving.environment.SAGEMAKER_MODEL_SERVER_WORKERS",
        toolkit("ml.inf1.24xlarge"),
        "96 workers need a core each, and ml.inf1.24xlarge has 64: the runtime then does not start; set it to 64 or "
        "less",
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
        "heads-fit-cores",
        "warning",
        "serving.tensor_parallel_degree",
        {
            "model": {"id": "NousResearch/Meta-Llama-3-8B"},
            "serving": {"engine": "lmi-neuronx", "tensor_parallel_degree": 12, "max_model_len": 2048},
            "hosting": {"instance_type": "ml.inf2.24xlarge", "startup_timeout_in_seconds": 1800},
        },
        "12 cores can't share the 8 key and value heads of NousResearch/Meta-Llama-3-8B evenly; such models were seen "
        "to fail: use one of 1, 2, 4, 8",
    ),
    Broken(
        "heads-fit-cores",
        "warning",
        "serving.tensor_parallel_degree",
        {
            "model": {"id": "NousResearch/Meta-Llama-3-8B"},
            "serving": {
                "engine": "lmi-neuronx",
                "tensor_parallel_degree": 24,
                "environment": {"OPTION_ROLLING_BATCH": "vllm"},
            },
            "hosting": {"instance_type": "ml.inf2.48xlarge", "startup_timeout_in_seconds": 1800},
        },
        "24 cores don't divide the 32 heads of NousResearch/Meta-Llama-3-8B, on which vLLM insists; use a divisor",
        beside=frozenset({"environment-wins"}),
    ),
    Broken(
        "weights-pass-host-memory",
        "warning",
        "hosting.instance_type",
        neuron() | {"model": LLAMA, "hosting": {"instance_type": "ml.inf2.xlarge", "startup_timeout_in_seconds": 1800}},
        "'ml.inf2.xlarge' has 16 GiB of memory beside its cores, through which the 13.5 GB of",
    ),
    Broken(
        "compilation-fits-timeout",
        "warning",
        "hosting.startup_timeout_in_seconds",
        neuron() | {"hosting": {"instance_type": "ml.inf2.8xlarge", "startup_timeout_in_seconds": 600}},
        "600 s may be too short to compile nomic-ai/gpt4all-j at the start; use 1800 or more",
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
]

KEPT = [
    Kept(
        "compilation-fits-timeout",
        neuron() | {"hosting": {"instance_type": "ml.inf2.8xlarge", "startup_timeout_in_seconds": 1800}},
    ),
    Kept(
        "heads-fit-cores",
        neuron(max_model_len=2048)
        | {"hosting": {"instance_type": "ml.inf2.24xlarge", "startup_timeout_in_seconds": 1800}},
    ),
    Kept(
        "heads-fit-cores",
        {
            "model": {"id": "NousResearch/Meta-Llama-3-8B"},
            "serving": {"engine": "lmi-neuronx", "tensor_parallel_degree": 24},
            "hosting": {"instance_type": "ml.inf2.48xlarge"},
        },
    ),
    Kept("weights-pass-host-memory", neuron() | {"model": LLAMA}),
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
    Kept("workers-fit-cores", toolkit("ml.inf1.xlarge")),
    Kept("workers-fit-cores", toolkit("ml.inf1.24xlarge", SAGEMAKER_MODEL_SERVER_WORKERS="16")),
]
