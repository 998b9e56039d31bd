"""Of where the weights come from."""

from rule_cases import KEY, Broken, Kept
from rule_cases.environment_rules import variables

WEIGHTS = "s3://bucket/prefix/"


BROKEN = [
    Broken(
        "hub-id-is-no-address",
        "error",
        "serving.environment.HF_MODEL_ID",
        variables(HF_MODEL_ID="https://huggingface.co/Qwen/Qwen3-4B"),
        "'https://huggingface.co/Qwen/Qwen3-4B' is an address, not owner/name; use model.id instead",
    ),
    Broken(
        "weights-can-be-read",
        "warning",
        "serving.environment.HF_MODEL_ID",
        variables(HF_MODEL_ID="s3://bucket/prefix/"),
        "'s3://bucket/prefix/' can't be read by the endpoint's role; set model.weights to it instead",
        beside=frozenset({"environment-wins"}),
    ),
    Broken(
        "isolation-needs-no-installation",
        "error",
        "hosting.network_isolation",
        {
            "model": {"weights": WEIGHTS},
            "serving": {"engine": "lmi-huggingface", "handler": "mine"},
            "hosting": {"network_isolation": True},
        },
        "true keeps serving.handler from its packages and from S3; use false",
    ),
    Broken(
        "key-needs-weights",
        "error",
        "model.weights_kms_key_arn",
        {"region": "us-east-1", "model": {"weights_kms_key_arn": KEY}},
        "has nothing to decrypt: model.weights is not set; set it or remove the key",
    ),
    Broken(
        "revision-needs-hub",
        "warning",
        "model.revision",
        {"model": {"revision": "main", "weights": WEIGHTS}},
        "'main' has no effect: the weights come from s3://bucket/prefix/",
    ),
]

KEPT = [
    Kept("hub-id-is-no-address", variables(HF_MODEL_ID="Qwen/Qwen3-8B")),
    Kept("hub-id-is-no-address", variables(SERVING_LOAD_MODELS="https://models.example.com/own.zip")),  # DJL's own
    Kept("weights-can-be-read", variables(HF_MODEL_ID="Qwen/Qwen3-8B")),
    Kept(
        "isolation-needs-no-installation",
        {"model": {"weights": WEIGHTS}, "hosting": {"network_isolation": True}},
    ),
    Kept("key-needs-weights", {"model": {"weights_kms_key_arn": KEY, "weights": WEIGHTS}}),
    Kept("revision-needs-hub", {"model": {"revision": "main"}}),
]
