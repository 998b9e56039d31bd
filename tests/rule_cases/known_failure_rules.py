"""Of what others reported as failing."""

from rule_cases import Broken, Kept
from rule_cases.hardware_rules import image, on

BROKEN = [
    Broken(
        "published-failure",
        "warning",
        "serving.version",
        on(
            "ml.g5.2xlarge",
            {"id": "Alibaba-NLP/gte-large-en-v1.5"},
            engine="custom",
            **image("tei:1-tei1.2.3"),
        ),
        "tei 1.2.3 does not know the model's architecture",
    ),
    Broken(
        "published-failure",
        "warning",
        "serving.version",
        on("ml.g5.12xlarge", {"id": "microsoft/Phi-3-medium-4k-instruct"}, engine="tgi", version="2.0.2"),
        "tgi 2.0.2 loads the attention weights of Phi-3-medium as if it had no grouped queries",
        beside=frozenset({"accelerator-is-used"}),
    ),
    Broken(
        "published-failure",
        "warning",
        "hosting.instance_type",
        on("ml.g4dn.2xlarge"),
        "ml.g4dn.2xlarge with lmi-vllm 0.36.0-lmi28 failed on T4 GPUs, where ml.g6.2xlarge was the smallest type "
        "that worked (aws/sagemaker-python-sdk#6141); use ml.g6.xlarge or ml.g5.xlarge",
    ),
    Broken(
        "published-failure",
        "warning",
        "hosting.instance_type",
        on("ml.g6.2xlarge", engine="lmi-tensorrt-llm", version="0.33.0"),
        "(aws/deep-learning-containers#5253); use lmi-vllm",
    ),
]

KEPT = [
    Kept(
        "published-failure",
        on("ml.g5.2xlarge", {"id": "BAAI/bge-base-en-v1.5"}, engine="custom", **image("tei:1-tei1.2.3")),
    ),
    Kept("published-failure", on("ml.g5.2xlarge")),
    Kept(
        "published-failure",
        on("ml.g5.12xlarge", {"id": "microsoft/Phi-3-medium-4k-instruct"}, engine="tgi", version="2.2.0"),
    ),
    Kept("published-failure", on("ml.g6.2xlarge", engine="lmi-tensorrt-llm", version="0.32.0")),
]
