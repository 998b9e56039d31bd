"""Of what vLLM is told: steps and draft models."""

from typing import Any

from rule_cases import Broken, Changes, Kept

DRAFT = '{"model": "Qwen/Qwen3-0.6B", "num_speculative_tokens": 5}'
QWEN_7B, QWEN_1B = "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"
WHOLE_PROMPTS = {"SM_VLLM_MAX_NUM_BATCHED_TOKENS": "2048", "SM_VLLM_NO_ENABLE_CHUNKED_PREFILL": "true"}


def drafted(model: str, draft: str, version: str = "0.32.0-lmi14") -> Changes:
    """By LMI's own name."""
    environment = {"OPTION_ROLLING_BATCH": "vllm", "OPTION_SPECULATIVE_DRAFT_MODEL": draft}
    serving = {"version": version, "max_model_len": 8192, "environment": environment}
    return {"model": {"id": model}, "serving": serving, "hosting": {"instance_type": "ml.g5.2xlarge"}}


def configured(config: str, version: str = "0.13.0") -> Changes:
    """As vLLM's option is written."""
    environment = {"SM_VLLM_SPECULATIVE_CONFIG": config}
    return {"serving": {"engine": "vllm", "version": version, "max_model_len": 8192, "environment": environment}}


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
        prefill("0.24.0", engine="vllm", environment=WHOLE_PROMPTS),
        "2,048 is less than the 8,192 of the longest prompt",
    ),
    Broken(
        "batched-tokens-fit-requests",
        "error",
        "serving.environment.SM_VLLM_MAX_NUM_BATCHED_TOKENS",
        {
            "serving": {
                "engine": "vllm",
                "max_batch_size": 512,
                "environment": {"SM_VLLM_MAX_NUM_BATCHED_TOKENS": "256"},
            }
        },
        "256 is less than the 512 requests that run together",
    ),
    Broken(
        "draft-fits-model",
        "error",
        "serving.environment.OPTION_SPECULATIVE_DRAFT_MODEL",
        drafted(QWEN_7B, QWEN_1B),
        "with a vocabulary of 151,936, where deepseek-ai/DeepSeek-R1-Distill-Qwen-7B has 152,064",
    ),
    Broken(
        "draft-fits-model",
        "error",
        "serving.environment.SM_VLLM_SPECULATIVE_CONFIG",
        configured(DRAFT),
        "names a draft model, Qwen/Qwen3-0.6B, which vLLM 0.13.0 of this image does not take; use ngram or eagle",
    ),
    Broken(
        "draft-fits-model",
        "error",
        "serving.environment.SM_VLLM_SPECULATIVE_CONFIG",
        configured('{"method": "draft_model", "model": "somebody/small"}', "0.11.2"),
        "names a draft model, somebody/small",
    ),
]

KEPT = [
    Kept("batched-tokens-fit-requests", prefill("0.33.0-lmi15")),
    Kept("batched-tokens-fit-requests", prefill("0.11.2", engine="vllm", environment=WHOLE_PROMPTS)),
    Kept("batched-tokens-fit-requests", prefill("0.33.0-lmi15", "SM_VLLM_MAX_NUM_BATCHED_TOKENS", max_batch_size=4096)),
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
    Kept("draft-fits-model", drafted("Qwen/Qwen2.5-1.5B-Instruct", "Qwen/Qwen2.5-0.5B-Instruct")),
    Kept("draft-fits-model", drafted("Qwen/Qwen3-4B", "/opt/ml/additional-model-data-sources/draft", "0.34.0-lmi16")),
    Kept("draft-fits-model", configured(DRAFT, "0.15.1")),
    Kept("draft-fits-model", configured('{"method": "ngram", "num_speculative_tokens": 5}')),
    Kept("draft-fits-model", configured('{"method": "eagle3", "model": "Qwen/Qwen3-0.6B"}')),
    Kept("draft-fits-model", configured('{"model": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"}')),
    Kept("draft-fits-model", configured('{"model": null}')),
    Kept("draft-fits-model", configured("no JSON")),
    Kept("draft-fits-model", configured("[" * 1024)),
    Kept(  # which vLLM's own image does not read
        "draft-fits-model",
        {"serving": {"engine": "vllm", "environment": {"OPTION_SPECULATIVE_DRAFT_MODEL": QWEN_1B}}},
    ),
]
