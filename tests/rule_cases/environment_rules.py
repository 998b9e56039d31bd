"""Of the container's variables."""

from typing import Any

from rule_cases import SECRET, Broken, Changes, Kept


def serving(**settings: Any) -> Changes:
    return {"serving": settings}


def variables(**environment: str) -> Changes:
    return {"serving": {"environment": environment}}


BROKEN = [
    Broken(
        "variable-is-misspelt",
        "warning",
        "serving.environment.SM_NUM_GPU",
        serving(engine="tgi", environment={"SM_NUM_GPU": "1"}),
        "looks like a misspelt SM_NUM_GPUS; rename it",
    ),
    Broken(
        "no-secret-in-environment",
        "error",
        "serving.environment.HF_TOKEN",
        variables(HF_TOKEN="hf_AbCdEfGhIjKlMnOpQrStUvWxYz01234567"),
        "looks like a secret, which anyone who may describe the model could read; copy gated weights to S3 once and "
        "set model.weights instead",
    ),
    Broken(
        "no-secret-in-environment",
        "error",
        "serving.environment.EXTRA",
        variables(EXTRA="hf_abcdefghij"),
        "looks like a secret",
    ),
    Broken(
        "no-secret-in-environment",
        "error",
        "serving.environment.EXTRA",
        variables(EXTRA="{{resolve:secretsmanager:token}}"),
        "looks like a secret",
    ),
    Broken(
        "placeholder-in-environment",
        "warning",
        "serving.environment.HF_TOKEN",
        variables(HF_TOKEN="<your token>"),
        "'<your token>' stands for a secret, which does not belong here; name it in model.hub_token_secret_arn",
    ),
    Broken(
        "environment-fits",
        "error",
        "serving.environment",
        variables(**{f"V{n}": "x" * 1000 for n in range(33)}),
        "SageMaker takes 32,768: move long values into a file beside the weights",
    ),
    Broken(
        "environment-fits",
        "error",
        "serving.environment",
        variables(**{f"V{n}": "x" for n in range(100)}),
        "SageMaker takes 100: move some into a file",
    ),
    Broken(
        "environment-wins",
        "warning",
        "serving.environment.SERVING_FAIL_FAST",
        variables(SERVING_FAIL_FAST="false"),
        "wins over 'true', which the deployment says or would set itself; remove one of them",
    ),
    Broken(
        "environment-wins",
        "warning",
        "serving.environment.OPTION_MAX_MODEL_LEN",
        serving(max_model_len=8192, environment={"OPTION_MAX_MODEL_LEN": "4096"}),
        "wins over '8192'",
    ),
    Broken(  # under its other name
        "environment-wins",
        "warning",
        "serving.environment.OPTION_TENSOR_PARALLEL_DEGREE",
        serving(tensor_parallel_degree=1, environment={"OPTION_TENSOR_PARALLEL_DEGREE": "max"}),
        "wins over '1'",
    ),
    Broken(
        "environment-wins",
        "warning",
        "serving.environment.HF_MODEL_ID",
        variables(HF_MODEL_ID="Qwen/Qwen3-0.6B"),
        "wins over 'Qwen/Qwen3-4B'",
    ),
]

KEPT = [
    Kept("variable-is-misspelt", serving(engine="tgi", environment={"SM_NUM_GPUS": "1", "SM_NUM_CPUS": "4"})),
    Kept("variable-is-misspelt", variables(OPTION_MAX_LORAS="4")),
    Kept("no-secret-in-environment", variables(HF_TOKEN="<your token>")),
    Kept("no-secret-in-environment", variables(HF_TOKEN="hf_x")),
    Kept("no-secret-in-environment", variables(HUGGING_FACE_HUB_TOKEN="REDACTED")),
    Kept("no-secret-in-environment", variables(TOKENIZERS_PARALLELISM="false")),
    Kept("no-secret-in-environment", {"model": {"hub_token_secret_arn": SECRET}}),
    Kept("placeholder-in-environment", variables(GREETING="<your name>")),
    Kept("environment-fits", variables(**{f"V{n}": "x" * 1000 for n in range(31)})),
    Kept("environment-fits", variables(**{f"V{n}": "x" for n in range(90)})),
    Kept("environment-wins", variables(SERVING_FAIL_FAST="true")),
    Kept("environment-wins", variables(TENSOR_PARALLEL_DEGREE="max")),  # the file says nothing else
    Kept("environment-wins", variables(OPTION_MODEL_LOADING_TIMEOUT="600")),  # loading-fits-timeout
    Kept("environment-wins", serving(max_model_len=8192, environment={"OPTION_MAX_MODEL_LEN": "8192"})),
]
