"""Of quantized weights: formats against engines, files and GPUs."""

from rule_cases import Broken, Kept
from rule_cases.hardware_rules import image, on

BROKEN = [
    Broken(
        "quantization-fits-files",
        "error",
        "model.quantization",
        on("ml.g6e.2xlarge", {"id": "unsloth/gpt-oss-20b-BF16", "quantization": "mxfp4"}, engine="vllm"),
        "mxfp4 needs weights that are quantized already, and those of unsloth/gpt-oss-20b-BF16 are not",
    ),
    Broken(
        "quantization-fits-engine",
        "error",
        "serving.environment.OPTION_KV_CACHE_DTYPE",
        on(
            "ml.g6e.2xlarge",
            {"id": "neuralmagic/Meta-Llama-3-8B-Instruct-FP8"},
            version="0.30.0-lmi12",
            environment={"OPTION_KV_CACHE_DTYPE": "fp8_e5m2"},
        ),
        "fp8_e5m2 is refused with weights in FP8; use fp8_e4m3",
    ),
    Broken(
        "quantization-fits-engine",
        "error",
        "serving.version",
        on(
            "ml.g5.2xlarge",
            {"id": "TheBloke/Llama-2-7B-Chat-GPTQ", "quantization": "gptq"},
            engine="lmi-deepspeed",
            version="0.25.0",
            environment={"OPTION_ROLLING_BATCH": "vllm"},
        ),
        "holds vLLM 0.2.1, which does not know GPTQ yet; use a newer version",
    ),
    Broken(
        "quantization-fits-engine",
        "error",
        "model.quantization",
        on("ml.g5.2xlarge", {"id": "unsloth/Qwen2-7B-Instruct-bnb-4bit"}, version="0.31.0-lmi13", max_model_len=8192),
        "bitsandbytes is not made for Qwen2ForCausalLM in vLLM 0.6.3.post1 of this image; use a newer version",
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
        "quantization-fits-tgi",
        "error",
        "model.quantization",
        on(
            "ml.g6.2xlarge", {"id": "NousResearch/Llama-2-7b-hf", "quantization": "int8"}, engine="tgi", version="1.1.0"
        ),
        "int8 is not known to TGI 1.1.0; use a newer version, or one of bitsandbytes8, gptq, bitsandbytes4",
    ),
    Broken(
        "quantization-fits-tgi",
        "error",
        "model.quantization",
        on(
            "ml.g6.2xlarge",
            {"id": "openai-community/gpt2", "quantization": "bitsandbytes4"},
            engine="tgi",
            version="2.0.2",
        ),
        "TGI 2.0.2 leaves openai-community/gpt2 to transformers",
    ),
    Broken(
        "quantization-fits-tgi",
        "error",
        "serving.environment.HF_MODEL_QUANTIZE",
        on("ml.g6.2xlarge", engine="tgi", version="0.9.3", environment={"HF_MODEL_QUANTIZE": "true"}),
        "'true' is no format of TGI, which ends at once; remove it, or use one of awq, bitsandbytes",
        beside=frozenset({"size-is-known"}),
    ),
    Broken(
        "quantization-fits-engine",
        "error",
        "serving.tensor_parallel_degree",
        on(
            "ml.g5.12xlarge",
            {"id": "NousResearch/Meta-Llama-3-8B", "quantization": "bitsandbytes4"},
            version="0.29.0",
            tensor_parallel_degree=4,
            max_model_len=4096,
        ),
        "4: vLLM 0.5.3.post1 of this image does not split weights that bitsandbytes quantizes; use 1, or a newer",
    ),
    Broken(
        "quantization-fits-engine",
        "error",
        "model.dtype",
        on(
            "ml.g5.2xlarge",
            {"id": "TheBloke/Llama-2-7B-GPTQ", "quantization": "gptq", "dtype": "bf16"},
            version="0.27.0",
            max_model_len=4096,
        ),
        "bf16 is refused with GPTQ, whose kernels compute in fp16; use fp16",
    ),
    Broken(
        "quantization-fits-files",
        "error",
        "model.id",
        on("ml.g5.2xlarge", {"id": "TheBloke/CodeLlama-13B-AWQ"}, engine="lmi-tensorrt-llm", version="0.25.0"),
        "holds awq weights, of which TensorRT-LLM in 0.25.0 can't build an engine; use the model",
    ),
    Broken(
        "quantization-fits-files",
        "error",
        "model.quantization",
        on("ml.g6.2xlarge", {"id": "TheBloke/Llama-2-7B-GPTQ", "quantization": "awq"}),
        "awq is not how TheBloke/Llama-2-7B-GPTQ is quantized (gptq); use gptq",
    ),
    Broken(
        "quantization-fits-files",
        "error",
        "model.quantization",
        on("ml.g6.2xlarge", {"id": "NousResearch/Llama-2-7b-hf", "quantization": "gptq"}),
        "those of NousResearch/Llama-2-7b-hf are not; use a repository with such weights",
    ),
    Broken(
        "quantization-is-said",
        "error",
        "model.quantization",
        on("ml.g6.2xlarge", {"id": "TheBloke/Llama-2-7B-GPTQ"}, engine="tgi", version="1.4.5"),
        "is missing: TGI 1.4.5 does not read from the files of TheBloke/Llama-2-7B-GPTQ that they are quantized",
    ),
    Broken(
        "quantization-fits-tgi",
        "error",
        "model.id",
        on(
            "ml.g6e.2xlarge",
            {"id": "RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8"},
            engine="tgi",
            version="2.4.0",
        ),
        "holds compressed tensors, which TGI 2.4.0 can't read; use 3.0.1 or newer, or vllm",
    ),
]

KEPT = [
    Kept(
        "quantization-fits-engine",
        on(
            "ml.g5.2xlarge",
            {"id": "TheBloke/Llama-2-7B-Chat-GPTQ", "quantization": "gptq"},
            engine="lmi-deepspeed",
            version="0.25.0",
            environment={"OPTION_ROLLING_BATCH": "lmi-dist"},
        ),
    ),
    Kept(
        "quantization-fits-engine",
        on("ml.g5.2xlarge", {"id": "unsloth/Qwen2-7B-Instruct-bnb-4bit"}, version="0.32.0-lmi14", max_model_len=8192),
    ),
    Kept("quantization-fits-engine", on("ml.g6.2xlarge", {"id": "TheBloke/Llama-2-7B-GPTQ", "dtype": "bf16"})),
    Kept(  # a scale for each channel, not for each block
        "quantization-fits-engine",
        on("ml.g6.12xlarge", {"id": "neuralmagic/Qwen2-72B-Instruct-FP8"}, version="0.33.0", tensor_parallel_degree=4),
    ),
    Kept(
        "quantization-is-said", on("ml.g6.2xlarge", {"id": "TheBloke/Llama-2-7B-GPTQ"}, engine="tgi", version="2.0.2")
    ),
    Kept(
        "quantization-fits-tgi",
        on("ml.g6.2xlarge", engine="tgi", version="0.6.0", environment={"HF_MODEL_QUANTIZE": "true"}),
    ),
    Kept(
        "quantization-fits-engine",
        {
            "model": {"id": "Qwen/Qwen2.5-7B-Instruct-AWQ", "dtype": "fp16"},
            "serving": {"environment": {"OPTION_QUANTIZE": "awq"}},
        },
    ),
    Kept("quantization-fits-engine", {"model": {"id": "Qwen/Qwen2.5-7B-Instruct-AWQ", "dtype": "bf16"}}),
    Kept(
        "quantization-fits-files",
        on("ml.g6.2xlarge", {"id": "TheBloke/Llama-2-7B-AWQ", "quantization": "gptq"}, engine="tgi", version="2.0.2"),
    ),
    Kept("quantization-is-said", on("ml.g6.2xlarge", {"id": "TheBloke/Llama-2-7B-GPTQ"}, engine="tgi")),
    Kept(
        "quantization-is-said",
        on("ml.g6.2xlarge", {"id": "TheBloke/Llama-2-7B-GPTQ"}, engine="tgi", **image("tgi:own")),
    ),
    Kept(
        "quantization-fits-files",
        on(
            "ml.g6.2xlarge", {"id": "NousResearch/Llama-2-7b-hf", "quantization": "gptq", "weights": "s3://bucket/own/"}
        ),
    ),
    Kept("quantization-fits-files", on("ml.g6.2xlarge", {"id": "nobody/own-7b", "quantization": "awq"})),
    Kept(
        "quantization-fits-tgi",
        on(
            "ml.g6.2xlarge",
            {"id": "openai-community/gpt2", "quantization": "bitsandbytes8"},
            engine="tgi",
            version="2.0.2",
        ),
    ),
]
