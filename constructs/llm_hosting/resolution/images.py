"""The images that a deployment takes: the model's, the engine's and the file's part in it."""

from .container import Container

_READ_IMAGES = ("vllm", "djl", "sglang", "tgi", "llama-cpp")
_TEXTS_ONLY = ("ForCausalLM", "LMHeadModel", "T5ForConditionalGeneration", "TextModel")
# Those of the registries of vLLM and SGLang that read images or sound, and whose names end like a text model's.
_WITH_IMAGES = (
    "DeepseekOCRForCausalLM",
    "DeepseekOCR2ForCausalLM",
    "DeepseekVLV2ForCausalLM",
    "DeepseekVL2ForCausalLM",
    "DotsOCRForCausalLM",
    "FuyuForCausalLM",
    "GLM4VForCausalLM",
    "HCXVisionForCausalLM",
    "HCXVisionV2ForCausalLM",
    "LlavaLlamaForCausalLM",
    "LlavaMistralForCausalLM",
    "LlavaQwenForCausalLM",
    "LlavaVidForCausalLM",
    "MolmoForCausalLM",
    "MoonshotKimiaForCausalLM",
    "Phi3VForCausalLM",
    "Phi4MMForCausalLM",
    "Phi4MultimodalForCausalLM",
    "QWenLMHeadModel",
    "TransformersMultiModalForCausalLM",
    "TransformersMultiModalMoEForCausalLM",
    "YiVLForCausalLM",
)


def takes_images(container: Container) -> bool | None:
    """Whether callers may send images; None = not known, and the engine decides."""
    shape = container.shape
    if container.deployment.serving.images_per_prompt == 0:
        return False
    if container.may_have_own_code or container.server == "own":
        return None
    if container.server not in _READ_IMAGES:
        return False
    if shape is None or shape.vision:
        return True if shape else None
    is_text = shape.architecture.endswith(_TEXTS_ONLY) and shape.architecture not in _WITH_IMAGES
    return False if is_text and not shape.wrapper else None


def image_rules(container: Container) -> dict[str, object] | None:
    """Return the values of inference_api's ImageRules that differ from its defaults; None = texts only."""
    if takes_images(container) is False:
        return None
    deployment, vision = container.deployment, container.shape.vision if container.shape else None
    rules: dict[str, object] = {
        "most": deployment.serving.images_per_prompt,
        "hosts": deployment.api.fetch_urls,
        "law": vision.law_of_tokens if vision else {},
        "context": container.context if vision else None,
        "in_texts": container.server == "tgi",
    }
    return {name: value for name, value in rules.items() if value not in (None, [], {}, False)}
