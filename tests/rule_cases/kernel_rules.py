"""Of kernels of quantized weights and caches: GPUs and degrees."""

from rule_cases import Broken, Kept
from rule_cases.hardware_rules import image, on

BROKEN = [
    Broken(
        "quantization-fits-accelerator",
        "error",
        "model.quantization",
        on("ml.p5en.48xlarge", {"id": "nvidia/DeepSeek-R1-FP4"}, version="0.33.0-lmi15", max_model_len=8192),
        "nvfp4 needs compute capability 10.0",
    ),
    Broken(
        "kv-cache-fits-accelerator",
        "warning",
        "serving.environment.SM_VLLM_KV_CACHE_DTYPE",
        on("ml.g5.2xlarge", engine="vllm", environment={"SM_VLLM_KV_CACHE_DTYPE": "fp8"}),
        "fp8 for the KV cache needs compute capability 8.9",
    ),
    Broken(
        "blocks-fit-degree",
        "error",
        "serving.tensor_parallel_degree",
        on("ml.g5.48xlarge", {"id": "zai-org/GLM-4.5-Air-FP8"}, version="0.34.0-lmi16", max_model_len=8192),
        "8 splits the 1,408 rows of zai-org/GLM-4.5-Air-FP8 into parts that the tiles of Marlin do not fit",
    ),
    Broken(  # by the second type of a pool
        "blocks-fit-degree",
        "error",
        "serving.tensor_parallel_degree",
        on(
            ["ml.g6e.48xlarge", "ml.g5.48xlarge"],
            {"id": "zai-org/GLM-4.5-Air-FP8"},
            version="0.34.0-lmi16",
            max_model_len=8192,
            tensor_parallel_degree=8,
        ),
        "by which the NVIDIA A10G of ml.g5.48xlarge computes FP8",
    ),
    Broken(
        "blocks-fit-degree",
        "error",
        "serving.tensor_parallel_degree",
        on("ml.p5.48xlarge", {"id": "Qwen/Qwen3-235B-A22B-FP8"}, engine="vllm"),
        "use a lower degree, or expert parallelism, or weights that are not quantized",
    ),
    Broken(
        "quantization-fits-accelerator",
        "error",
        "model.quantization",
        on("ml.p4de.24xlarge", {"id": "Qwen/Qwen3-30B-A3B-FP8"}, version="0.33.0-lmi15", tensor_parallel_degree=2),
        "fp8 needs compute capability 8.9 or more here; the NVIDIA A100",
    ),
    Broken(
        "quantization-fits-accelerator",
        "error",
        "model.quantization",
        on("ml.g5.4xlarge", {"id": "Qwen/Qwen3-4B-FP8"}, engine="huggingface", version="4.51.3"),
        "fp8 needs compute capability 8.9 or more here; the NVIDIA A10G of ml.g5.4xlarge has 8.6",
    ),
    Broken(
        "quantization-fits-accelerator",
        "error",
        "model.quantization",
        on("ml.g4dn.2xlarge", {"id": "Qwen/Qwen3-4B-FP8"}, engine="vllm", version="0.12.0"),
        "fp8 needs compute capability 8.0 or more here; the NVIDIA T4 of ml.g4dn.2xlarge has 7.5: use a newer type",
    ),
    Broken(
        "quantization-fits-accelerator",
        "error",
        "model.quantization",
        on("ml.p3.2xlarge", {"id": "TheBloke/Llama-2-7B-AWQ"}, version="0.33.0-lmi15", max_model_len=2048),
        "awq needs compute capability 7.5",
    ),
    Broken(  # before vLLM 0.10.2
        "quantization-fits-accelerator",
        "error",
        "model.quantization",
        on(
            "ml.g6.12xlarge",
            {"id": "nobody/knows-this", "parameters_in_billions": 20, "quantization": "mxfp4"},
            version="0.33.0-lmi15",
        ),
        "mxfp4 needs compute capability 9.0",
    ),
    Broken(
        "quantization-fits-accelerator",
        "error",
        "model.quantization",
        on(
            "ml.p4de.24xlarge",
            {"id": "huggyllama/llama-7b", "quantization": "fp8"},
            engine="lmi-tensorrt-llm",
            version="0.27",
        ),
        "fp8 needs compute capability 8.9 or more here; the NVIDIA A100",
    ),
    Broken(
        "quantization-fits-accelerator",
        "error",
        "model.quantization",
        on(
            "ml.p3.2xlarge",
            {"id": "RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8"},
            engine="vllm",
            version="0.12",
            max_model_len=4096,
        ),
        "int8 needs compute capability 7.5",
    ),
    Broken(
        "quantization-fits-accelerator",
        "error",
        "model.quantization",
        on(
            "ml.g4dn.xlarge",
            {"id": "cyankiwi/Qwen3-4B-Instruct-2507-AWQ-4bit"},
            engine="vllm",
            version="0.11.2",
            max_model_len=4096,
        ),
        "awq needs compute capability 8.0 or more here; the NVIDIA T4 of ml.g4dn.xlarge has 7.5: use a newer type, a "
        "newer image, or other weights",
    ),
]

KEPT = [
    Kept(
        "quantization-fits-accelerator",
        on("ml.g4dn.xlarge", {"id": "cyankiwi/Qwen3-4B-Instruct-2507-AWQ-4bit"}, engine="vllm", version="0.14.0"),
    ),
    Kept(  # whose groups are small
        "blocks-fit-degree",
        on("ml.g6.12xlarge", {"id": "cpatonn/Qwen3-30B-A3B-Instruct-2507-AWQ-4bit"}, engine="vllm"),
    ),
    Kept(  # of an owner whose other models are compressed tensors
        "quantization-fits-accelerator",
        on("ml.g4dn.2xlarge", {"id": "RedHatAI/Llama-3.2-1B-Instruct", "dtype": "fp16"}, engine="vllm"),
    ),
    Kept(  # a flag
        "blocks-fit-degree",
        on(
            "ml.p5.48xlarge",
            {"id": "Qwen/Qwen3-235B-A22B-FP8"},
            engine="vllm",
            environment={"SM_VLLM_ENABLE_EXPERT_PARALLEL": ""},
        ),
    ),
    Kept("blocks-fit-degree", on("ml.g5.48xlarge", {"id": "Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8"}, max_model_len=4096)),
    Kept(
        "kv-cache-fits-accelerator", on("ml.g6.2xlarge", engine="vllm", environment={"SM_VLLM_KV_CACHE_DTYPE": "fp8"})
    ),
    Kept("blocks-fit-degree", on("ml.p5.48xlarge", {"id": "zai-org/GLM-4.5V-FP8"}, tensor_parallel_degree=4)),
    Kept(
        "blocks-fit-degree",
        on(
            "ml.p5.48xlarge",
            {"id": "Qwen/Qwen3-235B-A22B-FP8"},
            engine="vllm",
            environment={"SM_VLLM_ENABLE_EXPERT_PARALLEL": "true"},
        ),
    ),
    Kept(
        "quantization-fits-accelerator",
        on(
            "ml.g5.4xlarge",
            {"id": "Qwen/Qwen3-4B-FP8", "weights": "s3://bucket/prefix/"},
            engine="huggingface",
            version="4.51.3",
        ),
    ),
    Kept(  # an own image may hold kernels of its own
        "quantization-fits-accelerator",
        on("ml.g4dn.xlarge", {"id": "somebody/gemma-w4a16"}, engine="vllm", **image("vllm:0.30.0-sm75")),
    ),
    Kept(
        "quantization-fits-accelerator",
        on("ml.g6.4xlarge", {"id": "Qwen/Qwen3-4B-FP8"}, engine="huggingface", version="4.51.3"),
    ),
    Kept(
        "quantization-fits-accelerator",
        on("ml.g5.4xlarge", {"id": "Qwen/Qwen3-4B-FP8"}, engine="huggingface", version="5.5.3"),
    ),
    Kept("quantization-fits-accelerator", on("ml.g4dn.2xlarge", {"id": "Qwen/Qwen3-4B-FP8"}, engine="vllm")),
    Kept("quantization-fits-accelerator", on("ml.g5.2xlarge", {"id": "Qwen/Qwen3-4B-FP8"}, engine="vllm")),
    Kept(
        "quantization-fits-accelerator",
        on("ml.g4dn.2xlarge", {"id": "TheBloke/Llama-2-7B-AWQ"}, version="0.33.0-lmi15"),
    ),
    Kept("quantization-fits-accelerator", on("ml.g6.12xlarge", {"id": "openai/gpt-oss-20b"}, version="0.34.0-lmi16")),
]
