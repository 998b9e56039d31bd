"""Of LoRA adapters."""

from rule_cases import Broken, Changes, Kept

ADAPTER = {"id": "somebody/summaries-lora", "parameters_in_billions": 8}


def beside(
    model: str = "NousResearch/Llama-2-7b-hf",
    version: str = "3.3.6",
    instance_type: str = "ml.g5.2xlarge",
    **environment: str,
) -> Changes:
    """An adapter beside a model on TGI."""
    variables = {"LORA_ADAPTERS": "somebody/summaries-lora", **environment}
    serving = {"engine": "tgi", "version": version, "environment": variables}
    return {"model": {"id": model}, "serving": serving, "hosting": {"instance_type": instance_type}}


BROKEN = [
    Broken(
        "adapter-needs-its-model",
        "warning",
        "model.id",
        {"model": ADAPTER},
        "looks like an adapter (lora), which lmi-vllm can't load as a model",
    ),
    Broken(
        "adapter-needs-its-model",
        "warning",
        "model.id",
        {"model": ADAPTER, "serving": {"engine": "tgi", "version": "0.9.3"}},
        "looks like an adapter (lora), which tgi can't load as a model",
    ),
    Broken(
        "adapters-fit-engine",
        "warning",
        "serving.environment.LORA_ADAPTERS",
        beside(version="2.0.2"),
        "is not read by TGI 2.0.2; use 2.2.0 or newer",
    ),
    Broken(
        "adapters-fit-engine",
        "warning",
        "serving.environment.LORA_ADAPTERS",
        beside(USE_FLASH_ATTENTION="False"),
        "is likely to end TGI at its start: without flash attention it loads none",
    ),
    Broken(
        "adapters-fit-engine",
        "warning",
        "serving.environment.LORA_ADAPTERS",
        beside("facebook/opt-1.3b", instance_type="ml.p3.2xlarge"),
        "the NVIDIA V100 has no flash attention",
    ),
    Broken(
        "adapters-fit-engine",
        "warning",
        "serving.environment.LORA_ADAPTERS",
        beside("Qwen/Qwen2.5-VL-3B-Instruct"),
        "it loads none for Qwen2_5_VLForConditionalGeneration",
    ),
    Broken(
        "adapters-fit-engine",
        "warning",
        "serving.environment.LORA_ADAPTERS",
        beside("TheBloke/Llama-2-7B-Chat-GPTQ"),
        "it loads none for GPTQ weights",
    ),
    Broken(
        "adapters-fit-engine",
        "warning",
        "serving.environment.OPTION_ENABLE_LORA",
        {
            "model": {"id": "facebook/opt-1.3b"},
            "serving": {"version": "0.32.0-lmi14", "environment": {"OPTION_ENABLE_LORA": "true"}},
        },
        "vLLM 0.7.1 of this image adds no adapters to OPTForCausalLM",
    ),
]

KEPT = [
    Kept("adapter-needs-its-model", {"model": {"id": "somebody/llama-2-7b-qlora-merged"}}),
    Kept("adapters-fit-engine", {"serving": {"environment": {"OPTION_ENABLE_LORA": "true"}}}),
    Kept("adapter-needs-its-model", {"model": {"id": "somebody/exploration-8b"}}),
    Kept("adapter-needs-its-model", {"model": {"id": "somebody/summaries-lora"}, "serving": {"engine": "tgi"}}),
    Kept("adapters-fit-engine", beside()),
    Kept("adapters-fit-engine", beside(USE_FLASH_ATTENTION="true")),
]
