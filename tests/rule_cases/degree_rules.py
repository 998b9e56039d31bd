"""Of the degree of tensor parallelism."""

from rule_cases import Broken, Kept
from rule_cases.memory_rules import on

BROKEN = [
    Broken(
        "degree-fits-instance",
        "error",
        "serving.tensor_parallel_degree",
        on("ml.g6.12xlarge", "Qwen/Qwen3-4B", tensor_parallel_degree=8),
        "8 is more than the 4 accelerator(s) of ml.g6.12xlarge; use at most 4 or a larger type",
    ),
    Broken(
        "degree-fits-instance",
        "error",
        "serving.tensor_parallel_degree",
        on("ml.inf2.8xlarge", "nomic-ai/gpt4all-j", engine="lmi-neuronx", tensor_parallel_degree=4),
        "4 is more than the 2 NeuronCores of ml.inf2.8xlarge",
    ),
    Broken(  # as the container reads it
        "degree-fits-instance",
        "error",
        "serving.tensor_parallel_degree",
        on("ml.g6.2xlarge", "Qwen/Qwen3-4B", environment={"OPTION_TENSOR_PARALLEL_DEGREE": "4"}),
        "4 is more than the 1 accelerator(s)",
    ),
    Broken(
        "degree-is-said-for-pools",
        "error",
        "serving.tensor_parallel_degree",
        on(["ml.g6.12xlarge", "ml.g6.48xlarge"], "Qwen/Qwen3-4B"),
        "is needed: the types of hosting.instance_type have 4, 8 accelerators; use 4, or types",
    ),
    Broken(
        "heads-divisible-by-degree",
        "error",
        "serving.tensor_parallel_degree",
        on("ml.g6.48xlarge", "Qwen/Qwen2.5-7B-Instruct", tensor_parallel_degree=8),
        "8 does not divide the 28 attention heads of Qwen/Qwen2.5-7B-Instruct; use one of 1, 2, 4.",
    ),
    Broken(
        "heads-divisible-by-degree",
        "error",
        "serving.tensor_parallel_degree",
        on(
            "ml.g6.12xlarge",
            "microsoft/Phi-3-medium-128k-instruct",
            tensor_parallel_degree=4,
            max_model_len=8192,
        ),
        "4 does not divide the 10 key and value heads of microsoft/Phi-3-medium-128k-instruct; use one of 1, 2.",
    ),
    Broken(
        "heads-divisible-by-degree",
        "error",
        "serving.tensor_parallel_degree",
        on("ml.g5.12xlarge", "tiiuae/falcon-7b", engine="tgi", tensor_parallel_degree=4),
        "4 does not divide the 71 attention heads of tiiuae/falcon-7b; use 1.",
    ),
]

KEPT = [
    Kept(  # llama.cpp spreads layers over what there is
        "degree-is-said-for-pools",
        {
            "model": {"id": "bartowski/Qwen2.5-7B-Instruct-GGUF"},
            "serving": {"engine": "llama-cpp"},
            "hosting": {"instance_type": ["ml.g5.xlarge", "ml.g5.12xlarge"]},
        },
    ),
    Kept("degree-fits-instance", on("ml.g6.12xlarge", "Qwen/Qwen3-4B", tensor_parallel_degree=4)),
    Kept("degree-fits-instance", on("ml.g6.2xlarge", "Qwen/Qwen3-4B", environment={"TENSOR_PARALLEL_DEGREE": "max"})),
    Kept(
        "degree-is-said-for-pools",
        on(["ml.g6.12xlarge", "ml.g6.48xlarge"], "Qwen/Qwen3-4B", tensor_parallel_degree=4),
    ),
    Kept(
        "degree-is-said-for-pools",
        on(["ml.g6.12xlarge", "ml.g6.48xlarge"], "Qwen/Qwen3-4B", environment={"TENSOR_PARALLEL_DEGREE": "max"}),
    ),
    Kept("degree-is-said-for-pools", on(["ml.g6.12xlarge", "ml.g5.12xlarge"], "Qwen/Qwen3-4B")),
    Kept(
        "heads-divisible-by-degree",
        on("ml.g6.48xlarge", "Qwen/Qwen2.5-7B-Instruct", tensor_parallel_degree=4),
    ),
    Kept("heads-divisible-by-degree", on("ml.g6.48xlarge", "Qwen/Qwen2.5-7B-Instruct")),  # the degree follows the heads
    Kept("heads-divisible-by-degree", on("ml.g6.12xlarge", "microsoft/Phi-3-medium-128k-instruct")),
    Kept(  # 4 key and value heads are copied to 8 accelerators
        "heads-divisible-by-degree",
        on("ml.g6.48xlarge", "Qwen/Qwen3-30B-A3B", tensor_parallel_degree=8),
    ),
    Kept(  # transformers-neuronx pads
        "heads-divisible-by-degree",
        on("ml.inf2.24xlarge", "facebook/opt-30b", engine="lmi-neuronx", tensor_parallel_degree=12),
    ),
]
