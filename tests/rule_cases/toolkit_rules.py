"""Of Hugging Face's inference toolkit."""

from typing import Any

from rule_cases import Broken, Changes, Kept
from rule_cases.memory_rules import on


def serving(**settings: Any) -> Changes:
    return {"serving": settings}


BROKEN = [
    Broken(
        "task-is-known",
        "warning",
        "serving.environment",
        {"model": {"id": "BAAI/bge-m3"}, "serving": {"engine": "huggingface"}},
        "says no HF_TASK, so 'text-generation' is taken, which BAAI/bge-m3 (XLMRobertaModel) was not made for",
    ),
    Broken(
        "task-is-known",
        "warning",
        "serving.environment.HF_TASK",
        serving(engine="huggingface", environment={"HF_TASK": "sentence-similarity"}),
        "'sentence-similarity' is no task of the toolkit's pipelines; use text-generation, or another",
    ),
    Broken(
        "task-is-known",
        "warning",
        "serving.environment.HF_TASK",
        serving(engine="huggingface", environment={"HF_TASK": "summarization"}),
        "'summarization' has no pipeline in transformers 5 any more; use version 4.51.3",
    ),
    Broken(
        "pipelines-load-32-bits",
        "warning",
        "serving.version",
        on("ml.g5.2xlarge", "NousResearch/Llama-2-7b-hf", engine="huggingface", version="4.37.0-gpu"),
        "loads NousResearch/Llama-2-7b-hf in 32 bits: 27.0 GB, where ml.g5.2xlarge gives 23.6 GB",
    ),
    Broken(
        "weights-fit-root-disk",
        "warning",
        "serving.engine",
        on("ml.p4d.24xlarge", "nobody/knows-this-16b", engine="huggingface", environment={"DTYPE": "fp16"}),
        "'huggingface' copies the 32.0 GB of nobody/knows-this-16b to a root disk of about 30 GB, where larger models "
        "did not fit; use another engine",
    ),
]

KEPT = [
    Kept("task-is-known", serving(engine="huggingface", environment={"HF_TASK": "text-to-image"})),
    Kept(
        "task-is-known",
        serving(engine="huggingface", version="4.51.3", environment={"HF_TASK": "translation_en_to_de"}),
    ),
    Kept(
        "task-is-known",
        {
            "model": {"weights": "s3://bucket/prefix/"},
            "serving": {"engine": "huggingface", "environment": {"HF_TASK": "of-our-own"}},
        },
    ),
    Kept(
        "pipelines-load-32-bits",
        on("ml.g5.2xlarge", "NousResearch/Llama-2-7b-hf", engine="huggingface", version="2.6.0-transformers5.5.3-gpu"),
    ),
    Kept("weights-fit-root-disk", on("ml.g6.12xlarge", "nobody/knows-this-14b", engine="tgi")),
    Kept("weights-fit-root-disk", on("ml.g6.12xlarge", "nobody/knows-this-13b", engine="huggingface")),
]
