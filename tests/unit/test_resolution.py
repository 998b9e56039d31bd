"""What a deployment resolves to: image, host image, environment."""

from typing import Any

import pytest

from llm_hosting.container_settings import invocation_timeout_in_seconds
from llm_hosting.deployment import Deployment
from llm_hosting.resolution import Resolution, describe, resolve


def resolved(
    instance_type: str = "ml.g6.2xlarge", model: Any = None, mode: str = "realtime", **serving: Any
) -> Resolution:
    content = {
        "model": model or {"id": "Qwen/Qwen3-4B"},
        "serving": serving,
        "hosting": {"instance_type": instance_type, "mode": mode},
        "jobs": {"invocation_timeout_in_seconds": 1200},
    }
    return resolve(Deployment.model_validate(content))


def test_lmi_is_told_the_model_the_degree_and_to_fail_fast() -> None:
    environment = resolved("ml.g5.12xlarge", max_model_len=4096).environment
    assert environment == {
        "HF_MODEL_ID": "Qwen/Qwen3-4B",
        "TENSOR_PARALLEL_DEGREE": "4",
        "OPTION_MAX_MODEL_LEN": "4096",
        "SERVING_FAIL_FAST": "true",
    }


def test_lmi_may_take_as_long_for_a_job_as_sagemaker_allows() -> None:
    assert resolved(mode="async").environment["PREDICT_TIMEOUT"] == "1200"


def test_weights_from_s3_are_read_where_sagemaker_puts_them() -> None:
    model = {"id": "Qwen/Qwen3-4B", "weights": "s3://bucket/prefix/"}
    assert resolved(model=model).environment["HF_MODEL_ID"] == "/opt/ml/model"


def test_an_old_tgi_gets_limits_it_can_start_with() -> None:
    environment = resolved(engine="tgi", version="1.4.0", max_model_len=1024).environment
    assert int(environment["MAX_INPUT_LENGTH"]) < int(environment["MAX_TOTAL_TOKENS"]) == 1024
    assert int(environment["MAX_BATCH_PREFILL_TOKENS"]) >= int(environment["MAX_INPUT_LENGTH"])


def test_a_new_tgi_computes_its_limits_itself() -> None:
    assert set(resolved(engine="tgi", max_model_len=1024).environment) == {
        "HF_MODEL_ID",
        "SM_NUM_GPUS",
        "MAX_TOTAL_TOKENS",
    }


def test_the_environment_of_the_deployment_wins() -> None:
    assert resolved(environment={"SERVING_FAIL_FAST": "false"}).environment["SERVING_FAIL_FAST"] == "false"


@pytest.mark.parametrize(
    ("instance_type", "serving", "expected"),
    [
        ("ml.g6.2xlarge", {"version": "0.36.0-lmi28"}, "al2023-ami-sagemaker-inference-gpu-4-1"),
        ("ml.g6.2xlarge", {"version": "0.36.0-lmi20"}, None),
        ("ml.g5.xlarge", {"version": "0.36.0-lmi20"}, "al2-ami-sagemaker-inference-gpu-3-1"),
        ("ml.g5.xlarge", {"engine": "tgi", "version": "0.9.3"}, None),
        ("ml.g6.xlarge", {"image_uri": "444455556666.dkr.ecr.us-west-2.amazonaws.com/lmi:1"}, None),
    ],
)
def test_the_host_image_follows_the_cuda_version_of_the_container(
    instance_type: str, serving: dict[str, Any], expected: str | None
) -> None:
    assert resolved(instance_type, **serving).inference_ami_version == expected


def test_people_are_told_what_bills_all_night() -> None:
    content = {"model": {"id": "Qwen/Qwen3-4B"}, "hosting": {"instance_type": "ml.g6.2xlarge"}}
    lines = describe("chat", Deployment.model_validate(content))
    assert any("bills every hour" in line and "never reaches zero" in line for line in lines)


def test_people_are_told_what_an_endpoint_costs_that_goes_to_zero() -> None:
    hosting = {"instance_type": "ml.g6.2xlarge", "mode": "async", "instance_count": {"min": 0, "max": 2}}
    lines = describe("chat", Deployment.model_validate({"model": {"id": "Qwen/Qwen3-4B"}, "hosting": hosting}))
    assert any("0 to 2 x ml.g6.2xlarge" in line for line in lines)
    assert any("1 x ml.g6.2xlarge bills while jobs run" in line and "to zero when idle" in line for line in lines)


def test_a_real_time_call_has_sagemakers_own_limit_whatever_the_file_says() -> None:
    content: dict[str, Any] = {
        "model": {"id": "a/b"},
        "hosting": {"instance_type": "ml.g6.2xlarge"},
        "jobs": {"invocation_timeout_in_seconds": 900},
    }
    assert invocation_timeout_in_seconds(Deployment.model_validate(content)) == 60
    content["hosting"]["mode"] = "async"
    assert invocation_timeout_in_seconds(Deployment.model_validate(content)) == 900
