"""Of the model: engines that run it, formats, files."""

from rule_cases import Broken, Changes, Kept


def gpt2_on_four_gpus(version: str, degree: int) -> Changes:
    return {
        "model": {"id": "openai-community/gpt2"},
        "serving": {"engine": "tgi", "version": version, "tensor_parallel_degree": degree},
        "hosting": {"instance_type": "ml.g5.12xlarge"},
    }


BROKEN = [
    Broken(  # the task is read by other engines
        "architecture-fits-engine",
        "error",
        "serving.engine",
        {"model": {"id": "google/flan-t5-base"}, "serving": {"environment": {"HF_TASK": "feature-extraction"}}},
        "does not run google/flan-t5-base",
    ),
    Broken(
        "architecture-needs-code",
        "warning",
        "serving.version",
        {
            "model": {"id": "Qwen/Qwen3-VL-2B-Instruct", "weights": "s3://bucket/prefix/"},
            "serving": {"engine": "huggingface", "version": "4.49.0"},
            "hosting": {"instance_type": "ml.g5.4xlarge"},
        },
        "use another version, unless code/inference.py and its requirements.txt bring what is needed",
    ),
    Broken(
        "files-fit-engine",
        "error",
        "model.id",
        {"model": {"id": "unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit"}, "serving": {"engine": "tgi"}},
        "use the model that they were made from, with model.quantization: bitsandbytes4",
    ),
    Broken(
        "files-fit-engine",
        "error",
        "model.id",
        {"model": {"id": "somebody/ct2-small-1b"}, "serving": {"engine": "huggingface"}},
        "holds weights for CTranslate2, which huggingface does not load",
    ),
    Broken(
        "remote-code-needs-consent",
        "warning",
        "serving.environment",
        {
            "model": {"id": "internlm/internlm2_5-7b-chat"},
            "serving": {"engine": "tgi", "version": "2.2.0"},
            "hosting": {"instance_type": "ml.g5.2xlarge"},
        },
        "brings code of its own, which the engine refuses to run unasked",
    ),
    Broken(
        "files-fit-engine",
        "error",
        "serving.version",
        {
            "model": {"id": "google/flan-t5-xl"},
            "serving": {"engine": "huggingface", "version": "1.10.2-transformers4.17.0-cpu"},
            "hosting": {"instance_type": "ml.m5.12xlarge"},
        },
        "comes in shards; use an image with 4.18 or newer",
        frozenset({"architecture-fits-engine"}),
    ),
    Broken(
        "files-fit-engine",
        "error",
        "model.id",
        {"model": {"id": "somebody/small-7b-ggml"}, "serving": {"engine": "tgi"}},
        "holds weights for llama.cpp of 2023 (GGML), which tgi does not load",
    ),
    Broken(
        "model-generates-text",
        "warning",
        "model.id",
        {"model": {"id": "BAAI/bge-large-en-v1.5"}, "serving": {"engine": "tgi"}},
        "does not look like a model that generates text (BertModel)",
    ),
    Broken(
        "model-generates-text",
        "warning",
        "model.id",
        {"model": {"id": "google-bert/bert-base-uncased"}, "serving": {"engine": "tgi"}},
        "does not look like a model that generates text (bert-)",
    ),
    Broken(
        "gguf-needs-llama-cpp",
        "warning",
        "model.id",
        {"model": {"id": "bartowski/Qwen2.5-7B-Instruct-GGUF"}, "serving": {"max_model_len": 8192}},
        "use llama-cpp, or the model that they were made from",
    ),
    Broken(
        "length-fits-model",
        "error",
        "serving.max_model_len",
        {"serving": {"max_model_len": 40_961}, "hosting": {"instance_type": "ml.g6e.2xlarge"}},
        "40,961 is more than the 40,960 tokens of Qwen/Qwen3-4B; use 40960 or less",
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
    Broken(  # by its name
        "architecture-fits-engine",
        "error",
        "serving.version",
        {"model": {"id": "nobody/qwen2.5-vl-tuned"}, "serving": {"version": "0.31.0-lmi13"}},
        "does not run nobody/qwen2.5-vl-tuned (Qwen2_5_VLForConditionalGeneration)",
    ),
    Broken(
        "architecture-fits-engine",
        "error",
        "serving.engine",
        {"model": {"id": "Alibaba-NLP/gte-large-en-v1.5"}},
        "vLLM calls this class GteNewModel since 0.9.0, which HF_OVERRIDES can say",
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
]

KEPT = [
    Kept(
        "architecture-fits-engine",
        {
            "model": {"id": "google/flan-t5-base"},
            "serving": {"engine": "huggingface", "environment": {"HF_TASK": "feature-extraction"}},
        },
    ),
    Kept("files-fit-engine", {"model": {"id": "liuhaotian/llava-v1.5-7b"}, "serving": {"engine": "sglang"}}),
    Kept(
        "architecture-fits-engine",
        {
            "model": {"id": "NousResearch/Llama-2-7b-hf"},
            "serving": {
                "engine": "lmi-fastertransformer",
                "version": "0.24.0",
                "environment": {"OPTION_ENTRYPOINT": "djl_python.huggingface"},
            },
            "hosting": {"instance_type": "ml.g5.12xlarge"},
        },
    ),
    Kept(
        "architecture-fits-engine",
        {
            "model": {"id": "bigcode/starcoder"},
            "serving": {"engine": "lmi-neuronx", "version": "0.29.0"},
            "hosting": {"instance_type": "ml.inf2.48xlarge"},
        },
    ),
    Kept("model-generates-text", {"model": {"id": "nobody/liberta-7b"}}),
    Kept("gguf-needs-llama-cpp", {"model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "serving": {"max_model_len": 8192}}),
    Kept(
        "files-fit-engine",
        {
            "model": {"id": "acme/own-1b", "weights": "s3://bucket/prefix/"},
            "serving": {"engine": "llama-cpp"},
            "hosting": {"instance_type": "ml.c7i.2xlarge"},
        },
    ),
    Kept("length-fits-model", {"serving": {"max_model_len": 40_960}, "hosting": {"instance_type": "ml.g6e.2xlarge"}}),
    Kept(
        "length-fits-model",
        {"serving": {"max_model_len": 65_536, "environment": {"OPTION_ROPE_SCALING": "yarn"}}},
    ),
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
    Kept(  # a Llama, and a Phi
        "architecture-fits-engine",
        {"model": {"id": "nobody/DeepSeek-R1-Medical"}, "serving": {"version": "0.31.0-lmi13"}},
    ),
    Kept(
        "architecture-fits-engine",
        {"model": {"id": "nobody/gpt-oss-distill-phi-4"}, "serving": {"version": "0.33.0-lmi15"}},
    ),
    Kept(
        "architecture-fits-engine",
        {
            "model": {"id": "Alibaba-NLP/gte-large-en-v1.5"},
            "serving": {"environment": {"OPTION_HF_OVERRIDES": '{"architectures": ["GteNewModel"]}'}},
        },
    ),
    Kept("architecture-is-known", {"model": {"id": "nobody/knows-this"}}),
    Kept("model-can-be-split", gpt2_on_four_gpus("2.0.2", 1)),
    Kept("model-can-be-split", gpt2_on_four_gpus("2.2.0", 4)),
    Kept(
        "files-fit-engine",
        {"model": {"id": "bartowski/Qwen2.5-7B-Instruct-GGUF"}, "serving": {"engine": "llama-cpp"}},
    ),
    Kept("files-fit-engine", {"model": {"id": "meta-llama/Llama-2-7b-hf"}}),
    Kept(  # whose archive may hold code that loads them
        "files-fit-engine",
        {
            "model": {"id": "somebody/ct2-small-1b", "weights": "s3://bucket/prefix/"},
            "serving": {"engine": "huggingface"},
        },
    ),
    Kept(  # which a requirements.txt beside the script may bring
        "architecture-fits-engine",
        {
            "model": {"id": "Qwen/Qwen3-VL-2B-Instruct", "weights": "s3://bucket/prefix/"},
            "serving": {
                "engine": "huggingface",
                "version": "4.49.0",
                "environment": {"SAGEMAKER_PROGRAM": "inference.py"},
            },
        },
    ),
    Kept("files-fit-engine", {"model": {"id": "ggml-org/gpt-oss-20b-GGUF"}, "serving": {"engine": "llama-cpp"}}),
    Kept("files-fit-engine", {"model": {"id": "somebody/llama-7b-exl2"}, "serving": {"engine": "tgi"}}),
    Kept("files-fit-engine", {"model": {"id": "somebody/t5-ct2"}, "serving": {"handler": "own"}}),
    Kept(  # transformers computes, not vLLM
        "architecture-fits-engine",
        {
            "model": {"id": "google/flan-t5-xl"},
            "serving": {"version": "0.30.0", "environment": {"OPTION_ROLLING_BATCH": "disable"}},
        },
    ),
    Kept(
        "model-can-be-split",
        {
            "model": {"id": "baichuan-inc/Baichuan2-13B-Chat"},
            "serving": {"engine": "tgi", "version": "1.1.0", "tensor_parallel_degree": 4},
            "hosting": {"instance_type": "ml.g5.12xlarge"},
        },
    ),
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
]
