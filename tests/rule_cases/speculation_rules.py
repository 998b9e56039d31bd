"""Of draft models."""

from rule_cases import Broken, Changes, Kept

DRAFT = '{"model": "Qwen/Qwen3-0.6B", "num_speculative_tokens": 5}'
QWEN_7B, QWEN_1B = "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"


def drafted(model: str, draft: str, version: str = "0.32.0-lmi14") -> Changes:
    """By LMI's own name."""
    environment = {"OPTION_ROLLING_BATCH": "vllm", "OPTION_SPECULATIVE_DRAFT_MODEL": draft}
    serving = {"version": version, "max_model_len": 8192, "environment": environment}
    return {"model": {"id": model}, "serving": serving, "hosting": {"instance_type": "ml.g5.2xlarge"}}


def configured(config: str, version: str = "0.13.0") -> Changes:
    """As vLLM's option is written."""
    environment = {"SM_VLLM_SPECULATIVE_CONFIG": config}
    return {"serving": {"engine": "vllm", "version": version, "max_model_len": 8192, "environment": environment}}


BROKEN = [
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
