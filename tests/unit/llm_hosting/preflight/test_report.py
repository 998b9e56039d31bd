"""The report of a check: every rule accounted for, and the figures behind the verdict."""

import dataclasses
import json

import pytest
from hypothesis import given, settings

from llm_hosting.catalog.instances import instances
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report, build_report
from llm_hosting.preflight.rules.rule import RULES
from llm_hosting.preflight.validation import validate
from llm_hosting.resolution import resolve
from llm_hosting.resolution.memory import GB
from slipway.account.findings import CHECKS
from support.deployments.any_deployments import deployments
from support.deployments.good_one import ASYNC, ON_EC2, OWN_REGISTRY, SECRET, Changes, deployment, resolved

DEFAULT = "SageMaker's default for the type"


def report_on(any_deployment: Deployment) -> Report:
    resolution = resolve(any_deployment)
    return build_report("chat", resolution, validate(resolution))


def report(changes: Changes) -> Report:
    return report_on(deployment(changes))


def test_a_deployment_that_no_rule_objects_to_is_ready() -> None:
    found = report({})
    assert (found.name, found.model, found.verdict) == ("chat", "Qwen/Qwen3-4B", "ready")
    assert found.image == "djl-inference:0.36.0-lmi28.0.0-cu130"


def test_neither_warnings_nor_unknowns_refuse() -> None:
    assert report({"api": {"playground": True}}).verdict == "ready"
    assert report({"model": {"id": "stabilityai/stablelm-zephyr-3b"}, "serving": {"engine": "tgi"}}).verdict == "ready"


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"id": "nobody/knows-this"}},
        {"model": {"id": "nobody/knows-this", "parameters_in_billions": 7}},
        {"model": {"id": "nobody/knows-this"}, "lock": {"architecture": "Qwen3ForCausalLM"}},
        {"model": {"id": "nobody/knows-this"}, "preflight": {"silenced": {"model-is-known": "it is one of our own"}}},
    ],
    ids=["unknown", "of a size set by hand", "of unknown size", "silenced"],
)
def test_a_model_that_nobody_knows_is_not_checked(changes: Changes) -> None:
    assert report(changes).verdict == "not checked"


def test_an_error_of_an_unknown_model_refuses() -> None:
    changes: Changes = {"model": {"id": "nobody/knows-this"}, "serving": {"tensor_parallel_degree": 2}}
    assert report(changes).verdict == "refused"


def test_one_error_refuses() -> None:
    assert report({"serving": {"tensor_parallel_degree": 2}}).verdict == "refused"


def test_the_worst_comes_first() -> None:
    model = {"hub_token_secret_arn": SECRET}
    found = report({"model": model, "api": {"playground": True}, "serving": {"tensor_parallel_degree": 2}})
    assert [finding.level for finding in found.findings] == ["error", "warning", "note"]


def test_a_silenced_rule_neither_speaks_nor_passes() -> None:
    silenced = {"playground-needs-a-key": "we only look at the page"}
    found = report({"api": {"playground": True}, "preflight": {"silenced": silenced}})
    assert found.silenced == silenced
    assert "playground-needs-a-key" not in {*found.passed, *(finding.rule for finding in found.findings)}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "al2023-ami-sagemaker-inference-gpu-4-1, derived from CUDA 13 of the image"),
        (
            {"hosting": {"inference_ami_version": "al2-ami-sagemaker-inference-gpu-3-1"}},
            "al2-ami-sagemaker-inference-gpu-3-1, as hosting.inference_ami_version says",
        ),
        ({"serving": {"version": "0.36.0-lmi18"}}, DEFAULT),
        (
            {"hosting": {"instance_type": "ml.p6-b200.48xlarge"}},
            f"{DEFAULT}; set hosting.inference_ami_version if its driver is older than 570",
        ),
        (
            {"serving": {"engine": "custom", "image_uri": f"{OWN_REGISTRY}/own:1"}},
            f"{DEFAULT}; set hosting.inference_ami_version if you know the CUDA version of serving.image_uri",
        ),
        ({"serving": {"engine": "llama-cpp"}, "hosting": {"instance_type": "ml.c7i.2xlarge"}}, ""),
        (ON_EC2, ""),
    ],
)
def test_it_says_where_the_host_image_comes_from(changes: Changes, says: str) -> None:
    assert report(changes).host_image == says


def test_it_says_what_to_take_instead_of_a_legacy_engine() -> None:
    assert report({}).legacy == ""
    said = report({"serving": {"engine": "tgi"}}).legacy
    assert said.startswith("tgi since 2025-12: ")
    assert said.endswith("; prefer its successor, vllm"), said


def test_an_arn_pins_a_deployment_of_any_region() -> None:
    alarms = {"alarms": {"topic_arn": "arn:aws:sns:us-east-1:111122223333:on-call"}}
    assert report(alarms).only_in == "us-east-1, because of alarms.topic_arn"
    assert report(alarms | {"region": "us-east-1"}).only_in == report({}).only_in == ""


@pytest.mark.slow
@given(any_deployment=deployments())
@settings(max_examples=50)
def test_every_rule_has_spoken_passed_or_is_silenced(any_deployment: Deployment) -> None:
    found = report_on(any_deployment)
    spoken = {finding.rule for finding in found.findings}
    assert {*spoken, *found.passed, *found.silenced} >= {rule.id for rule in RULES}
    assert not spoken & set(found.passed)
    assert (found.verdict == "refused") == any(finding.level == "error" for finding in found.findings)


@pytest.mark.slow
@given(any_deployment=deployments())
@settings(max_examples=50)
def test_a_report_is_plain_data(any_deployment: Deployment) -> None:
    found = dataclasses.asdict(report_on(any_deployment))
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_there_are_figures_for_each_type_of_a_pool() -> None:
    found = report({"hosting": {"instance_type": ["ml.g6.2xlarge", "ml.g5.2xlarge"]}})
    assert [figures.instance_type for figures in found.figures] == ["ml.g6.2xlarge", "ml.g5.2xlarge"]
    assert [quota.name for quota in found.quotas] == [
        "ml.g6.2xlarge for endpoint usage",
        "ml.g5.2xlarge for endpoint usage",
    ]


def test_the_figures_are_those_of_the_rules() -> None:
    changes: Changes = {"serving": {"max_model_len": 8192}, "hosting": {"instance_type": "ml.g6.12xlarge"}}
    (figures,), need = report(changes).figures, resolved(changes).placements[0].memory
    assert need.weights is not None
    assert need.cached_tokens is not None
    assert figures.accelerators == "4 x NVIDIA L4"
    assert (figures.degree, figures.copies) == (4, 1)
    assert figures.memory_in_gb == pytest.approx(need.available / GB, abs=0.05)
    assert figures.weights_in_gb == pytest.approx(need.weights / GB, abs=0.05)
    assert (figures.cached_tokens, figures.context) == (need.cached_tokens, 8192)
    assert figures.requests_at_full_length == pytest.approx(need.cached_tokens / 8192, abs=0.05)
    assert figures.download_in_gb == pytest.approx(8.0, abs=0.1)
    assert figures.disk_in_gb == instances()["ml.g6.12xlarge"].local_nvme_in_gb
    assert figures.start_timeout_in_seconds == 900
    assert figures.host_image == "al2023-ami-sagemaker-inference-gpu-4-1"
    assert figures.usd_per_hour == instances()["ml.g6.12xlarge"].usd_per_hour
    assert figures.answer_in_seconds is None  # nothing says how long the answers are


def test_a_machine_of_ec2_has_a_price_asleep_a_start_and_a_quota_of_vcpus() -> None:
    said = report(ON_EC2)
    (figures,) = said.figures
    assert (figures.disk_in_gb, figures.asleep_usd_per_month) == (17, 1.36)
    assert figures.start_in_seconds == pytest.approx(120 + 0.548 / 0.125, abs=0.1)
    assert figures.usd_per_hour == 0.17
    assert [(quota.name[:26], quota.instances) for quota in said.quotas] == [("Running On-Demand Standard", 8)]
    assert report({}).figures[0].asleep_usd_per_month is None


def test_two_copies_of_a_model_share_an_instance() -> None:
    (figures,) = report(
        {"serving": {"tensor_parallel_degree": 2}, "hosting": {"instance_type": "ml.g6.12xlarge"}}
    ).figures
    assert (figures.degree, figures.copies) == (2, 2)


def test_a_longest_answer_has_an_estimate() -> None:
    (figures,) = report({"serving": {"max_new_tokens": 300}}).figures
    # GB per token, GB/s, the share of them that is reached; seconds of a layer
    assert figures.answer_in_seconds == pytest.approx(300 * (8.04 / 300 / 0.75 + 36 * 80e-6), rel=0.01)


def test_a_token_passes_only_some_of_the_experts() -> None:
    changes: Changes = {
        "model": {"id": "Qwen/Qwen3-30B-A3B"},
        "serving": {"max_new_tokens": 1000, "max_model_len": 8192},
        "hosting": {"instance_type": "ml.g6.12xlarge"},
    }
    (figures,) = report(changes).figures
    assert figures.answer_in_seconds == pytest.approx(1000 * 3.3 * 2 / 4 / 300 * 2, rel=0.05)


def test_of_an_unknown_model_the_figures_are_empty() -> None:
    (figures,) = report({"model": {"id": "nobody/knows-this"}}).figures
    assert (figures.weights_in_gb, figures.cached_tokens, figures.download_in_gb, figures.start_in_seconds) == (
        None,
        None,
        None,
        None,
    )


def test_an_update_needs_two_fleets() -> None:
    (quota,) = report({"hosting": ASYNC}).quotas  # two instances at most
    assert quota.instances == 4


def test_copies_that_are_replaced_need_the_instances_on_which_a_batch_of_them_fits() -> None:
    model, serving = {"adapters": {"legal": "s3://bucket/legal/"}}, {"tensor_parallel_degree": 1}
    hosting = {"instance_type": "ml.g6.12xlarge", "instance_count": {"min": 3, "max": 3}}  # four copies on each

    def needed(rollout: object) -> list[int]:
        changes: Changes = {"model": model, "serving": serving, "hosting": {**hosting, "rollout": rollout}}
        return [quota.instances for quota in report(changes).quotas]

    assert [needed({"rolling": {"batch": copies}}) for copies in (4, 5)] == [[4], [5]]
    assert needed("all-at-once") == [6]


@pytest.mark.parametrize(("rollout", "needed"), [({"canary": {}}, 16), ({"rolling": {"batch": 2}}, 10)])
def test_an_update_in_batches_needs_one_batch_more_and_a_canary_as_many_again(rollout: Changes, needed: int) -> None:
    hosting = {"instance_count": {"min": 4, "max": 8}, "rollout": rollout}
    assert [quota.instances for quota in report({"hosting": hosting}).quotas] == [needed]


def test_questions_for_the_account_are_named() -> None:
    assert [line.partition(":")[0] for line in report({}).not_checked] == list(CHECKS)


@pytest.mark.parametrize("changes", [{"serving": {"version": "9.9"}}, {"serving": {"engine": "custom"}}])
def test_an_image_that_cannot_be_named_is_empty(changes: Changes) -> None:
    assert report(changes).image == ""


def test_an_instance_type_that_nobody_knows_has_no_figures() -> None:
    found = report({"hosting": {"instance_type": "ml.g6.3xlarge"}})
    assert (found.verdict, found.figures) == ("refused", [])
