"""Which engine an image holds: its repository and tag, as AWS and Hugging Face name them."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class ContainerEngine:
    """An engine of the model server, and its version; empty where the tag does not say."""

    name: str
    version: str = ""


# What the model server takes for a container that it does not know, an image of one's own included.
UNKNOWN = ContainerEngine("lmi")

# repository -> (pattern of the tag, engine); \1 is the version, (?P<kind>...) what the engine's name ends in.
_REPOSITORIES = {
    "djl-inference": (
        r"(\d+\.\d+\.\d+)-(?P<kind>deepspeed|fastertransformer|neuronx|tensorrtllm|lmi|cpu-full)",
        "djl-",
    ),
    "huggingface-pytorch-tgi-inference": (r".*-(?:tgi|(?P<kind>optimum))(\d+\.\d+\.\d+)-", "tgi"),
    "huggingface-pytorch-inference": (r".*-transformers(\d+\.\d+\.\d+)-", "huggingface"),
    "huggingface-pytorch-inference-neuronx": (r".*-transformers(\d+\.\d+\.\d+)-", "huggingface"),
    "vllm": (r"(\d+\.\d+\.\d+)-", "vllm"),
    "huggingface-vllm": (r"(\d+\.\d+\.\d+)-", "huggingface-vllm"),
    "huggingface-vllm-inference-neuronx": (r"(\d+\.\d+\.\d+)-", "huggingface-vllm"),
    "sglang": (r"(\d+\.\d+\.\d+)-", "sglang"),
    "huggingface-sglang": (r"(\d+\.\d+\.\d+)-", "sglang"),
    "llama-cpp": (r".*-v(\d+\.\d+\.\d+)", "llama-cpp"),
    "llama-cpp-arm64": (r".*-v(\d+\.\d+\.\d+)", "llama-cpp"),
    "huggingface-llamacpp": (r"", "llama-cpp"),
}


def engine_of(image: str) -> ContainerEngine:
    """The engine of an image URI; a tag without a version gives the engine's newest behaviour."""
    repository, _, tag = image.partition("/")[2].partition(":")
    if repository not in _REPOSITORIES:
        return UNKNOWN
    pattern, name = _REPOSITORIES[repository]
    match = re.match(pattern, tag)
    kind = match.groupdict().get("kind") if match else None
    if repository == "djl-inference":
        return ContainerEngine(name + kind, match[1]) if match and kind else UNKNOWN
    if kind == "optimum":
        name = "tgi-neuronx"
    versions = [group for group in match.groups() if group and group[0].isdecimal()] if match else []
    return ContainerEngine(name, versions[0] if versions else "")
