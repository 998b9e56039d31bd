"""Of the disk."""

from rule_cases import Broken, Changes, Kept
from rule_cases.memory_rules import on


def with_volume(size_in_gb: int) -> Changes:
    changes = on("ml.inf2.24xlarge", "facebook/opt-66b", engine="lmi-neuronx")
    return changes | {"hosting": {"instance_type": "ml.inf2.24xlarge", "volume_size_in_gb": size_in_gb}}


BROKEN = [
    Broken(
        "weights-need-a-volume",
        "warning",
        "hosting.volume_size_in_gb",
        on("ml.inf2.48xlarge", "NousResearch/Llama-2-70b-hf", engine="tgi-neuronx"),
        "is not set, and SageMaker's default of about 30 GB on ml.inf2.48xlarge does not hold the 138.0 GB",
    ),
    Broken(
        "weights-fit-disk",
        "error",
        "hosting.volume_size_in_gb",
        with_volume(131),
        "131 GB of disk on ml.inf2.24xlarge do not hold the 131.7 GB of facebook/opt-66b; set "
        "hosting.volume_size_in_gb above it",
    ),
]

KEPT = [
    Kept("weights-need-a-volume", on("ml.g6e.12xlarge", "NousResearch/Llama-2-70b-hf")),
    Kept("weights-need-a-volume", on("ml.inf2.8xlarge", "NousResearch/Llama-2-7b-hf", engine="tgi-neuronx")),
    Kept("weights-fit-disk", with_volume(132)),
]
