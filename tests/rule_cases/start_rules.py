"""Of the way to the first answer, and the time of each."""

from typing import Any

from rule_cases import ASYNC, SECRET, Broken, Changes, Kept

GATED, OPEN = "meta-llama/Llama-3.1-8B-Instruct", "unsloth/Meta-Llama-3.1-8B-Instruct"
WEIGHTS = "s3://bucket/prefix/"


def loading(model: Changes, **hosting: Any) -> Changes:
    return {"model": model, "serving": {"max_model_len": 8192}, "hosting": hosting}


def answering(tokens: int, **hosting: Any) -> Changes:
    return {"serving": {"max_new_tokens": tokens}, "hosting": hosting}


def opt_30b(tokens: int, startup_timeout_in_seconds: int = 2400) -> Changes:
    """On the machine of which AWS published times: 239 s to load, 11.6 s at p99 for 256 tokens."""
    return {
        "model": {"id": "facebook/opt-30b", "dtype": "fp16"},
        "serving": {"engine": "lmi-deepspeed", "max_new_tokens": tokens},
        "hosting": {"instance_type": "ml.g5.24xlarge", "startup_timeout_in_seconds": startup_timeout_in_seconds},
    }


QWEN_8B = {"id": "Qwen/Qwen3-8B"}  # 16.4 GB

BROKEN = [
    Broken(
        "gated-model-needs-token",
        "error",
        "model.hub_token_secret_arn",
        loading({"id": GATED}),
        "is missing: meta-llama/Llama-3.1-8B-Instruct is gated on the Hub; copy the weights to S3 once (`python -m "
        "slipway stage`) and set model.weights, or name the secret that holds a token",
    ),
    Broken(
        "model-became-gated",
        "warning",
        "model.hub_token_secret_arn",
        {"model": {"id": "mistralai/Mistral-7B-v0.1"}, "serving": {"max_model_len": 4096}},
        "mistralai/Mistral-7B-v0.1 was open once and then gated; name the secret with a token",
    ),
    Broken(
        "token-is-readable",
        "warning",
        "model.hub_token_secret_arn",
        loading({"id": GATED, "hub_token_secret_arn": SECRET}),
        "weights staged to S3 (`python -m slipway stage`) need none",
    ),
    Broken(
        "start-fits-timeout",
        "error",
        "hosting.startup_timeout_in_seconds",
        loading(QWEN_8B, startup_timeout_in_seconds=62),
        "62 s are too short: to download and load Qwen/Qwen3-8B takes 63 s at the very least; use 300 or more",
    ),
    Broken(
        "start-fits-timeout",
        "error",
        "hosting.download_timeout_in_seconds",
        loading(
            {"id": "nobody/knows-this", "parameters_in_billions": 18, "weights": WEIGHTS},
            instance_type="ml.g6e.4xlarge",
            download_timeout_in_seconds=71,
        ),
        "71 s are too short: to download nobody/knows-this takes 72 s at the very least; use 300 or more",
    ),
    Broken(
        "start-may-outlast-timeout",
        "warning",
        "hosting.startup_timeout_in_seconds",
        loading(QWEN_8B, startup_timeout_in_seconds=64),
        "64 s may be too short: to download and load Qwen/Qwen3-8B is likely to take 218 s (16 GB from the Hub at 250 "
        "MB/s, then loaded at 500 MB/s); use 300 or more",
    ),
    Broken(
        "start-may-outlast-timeout",
        "warning",
        "hosting.startup_timeout_in_seconds",
        loading(QWEN_8B | {"weights": WEIGHTS}, startup_timeout_in_seconds=150),
        "to load Qwen/Qwen3-8B is likely to take 153 s (loaded at 500 MB/s)",
    ),
    Broken(  # as measured
        "start-fits-timeout",
        "error",
        "hosting.startup_timeout_in_seconds",
        opt_30b(100, startup_timeout_in_seconds=280),
        "takes 287 s at the very least; use 600 or more",
    ),
    Broken(
        "start-may-outlast-timeout",
        "warning",
        "hosting.startup_timeout_in_seconds",
        opt_30b(100, startup_timeout_in_seconds=300),
        "is likely to take 479 s (60 GB from the Hub at 250 MB/s, then loaded in 239 s, as AWS measured it (2022-11))",
    ),
    Broken(
        "loading-fits-timeout",
        "warning",
        "hosting.startup_timeout_in_seconds",
        {"serving": {"environment": {"OPTION_MODEL_LOADING_TIMEOUT": "901"}}},
        "900 s end the start before the model's own loading timeout (901 s); use 901 or more",
    ),
    Broken(
        "answer-fits-route",
        "warning",
        "serving.max_new_tokens",
        answering(500),
        "500 tokens take about 27 s (each token reads 8.0 GB at up to 300 GB/s), longer than POST /generate waits (25 "
        "s; the gateway's limit is 29 s); have such answers fetched by POST /jobs, or ask for fewer tokens",
    ),
    Broken(
        "answer-fits-route",
        "warning",
        "serving.max_new_tokens",
        answering(1200),
        "1200 tokens take about 64 s (each token reads 8.0 GB at up to 300 GB/s), longer than a real-time endpoint may "
        "(60 s); use hosting.mode: async",
    ),
    Broken(
        "answer-fits-route",
        "warning",
        "serving.max_new_tokens",
        opt_30b(600),
        "600 tokens take about 27 s (11.6 s at p99 for 256 tokens, as AWS measured it (2022-11))",
    ),
    Broken(  # as measured, at the median
        "answer-fits-endpoint",
        "error",
        "serving.max_new_tokens",
        opt_30b(1400),
        "1400 tokens take at least 62 s",
    ),
    Broken(
        "answer-fits-endpoint",
        "error",
        "serving.max_new_tokens",
        answering(2300),
        "2300 tokens take at least 62 s (each token reads 8.0 GB at up to 300 GB/s), longer than a real-time endpoint "
        "may (60 s); use hosting.mode: async, which serves jobs, or ask for fewer tokens",
    ),
]

KEPT = [
    Kept("gated-model-needs-token", loading({"id": OPEN})),
    Kept("gated-model-needs-token", loading({"id": GATED, "weights": WEIGHTS})),
    Kept("gated-model-needs-token", loading({"id": GATED, "hub_token_secret_arn": SECRET})),
    Kept("gated-model-needs-token", {"model": {"id": GATED}, "serving": {"environment": {"HF_MODEL_ID": OPEN}}}),
    Kept("model-became-gated", {"model": {"id": "mistralai/Mistral-7B-v0.1", "hub_token_secret_arn": SECRET}}),
    Kept("model-became-gated", {"model": {"id": "mistralai/Mistral-Small-3.1-24B-Instruct-2503"}}),
    Kept("token-is-readable", loading({"id": GATED, "hub_token_secret_arn": SECRET, "weights": WEIGHTS})),
    Kept("start-fits-timeout", loading(QWEN_8B, startup_timeout_in_seconds=63)),
    Kept("start-fits-timeout", loading(QWEN_8B | {"weights": WEIGHTS}, startup_timeout_in_seconds=60)),
    Kept("start-fits-timeout", {"model": {"id": "nobody/knows-this"}, "hosting": {"startup_timeout_in_seconds": 60}}),
    Kept("start-may-outlast-timeout", loading(QWEN_8B, startup_timeout_in_seconds=219)),
    Kept("start-may-outlast-timeout", loading(QWEN_8B | {"weights": WEIGHTS}, startup_timeout_in_seconds=154)),
    Kept("start-may-outlast-timeout", loading(QWEN_8B, startup_timeout_in_seconds=62)),  # an error, then
    Kept("loading-fits-timeout", {"serving": {"environment": {"OPTION_MODEL_LOADING_TIMEOUT": "900"}}}),
    Kept("loading-fits-timeout", {"serving": {"environment": {"OPTION_MODEL_LOADING_TIMEOUT": "long"}}}),
    Kept("answer-fits-route", answering(460)),
    Kept("answer-fits-route", answering(500, **ASYNC)),
    Kept("answer-fits-route", opt_30b(500)),
    Kept("answer-fits-endpoint", answering(2200)),
    Kept("answer-fits-endpoint", opt_30b(1300)),
    Kept("answer-fits-endpoint", answering(2300, **ASYNC)),
]
