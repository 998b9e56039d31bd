"""The preflight as a whole: what may be silenced, good deployments, and any deployment at all."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from llm_hosting.catalog.instances import instances
from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.paths import spoken_name
from llm_hosting.preflight.rules.rule import RULES
from llm_hosting.preflight.validation import load, validate
from llm_hosting.resolution import resolve
from llm_hosting.resolution.description import describe
from llm_hosting.sources import handler_names
from support.deployments.any_deployments import deployments
from support.deployments.good_one import ASYNC, GOOD, OWN_REGISTRY, Changes, findings
from support.deployments.known_deployments import SHIPPED_FILES
from support.repository import ROOT

REASON = "the callers have no AWS credentials"
# Warnings, questions and notes that files of release 0.1.0 may silence.
SILENCED_IN_0_1_0 = """
accelerator-is-used answer-fits-route arns-pin-the-region batch-fits-compilation chats-have-a-template
context-with-windows-fits-memory deadline-outlasts-start environment-wins gguf-needs-llama-cpp host-image-is-derived
image-answers-sagemaker image-is-pinned image-is-published-there image-tag-is-known jobs-alone-scale-out
key-has-not-expired kv-cache-fits-accelerator legacy-engine machine-reads-setting model-generates-text
model-id-is-spelt-right model-is-known open-to-the-internet openai-without-chat option-is-read
pipelines-load-32-bits playground-needs-a-key remote-code-needs-consent settings-agree-with-lock
settings-have-an-effect settings-reach-engine shared-secret silenced-rules-exist start-may-outlast-timeout
support-is-known token-is-readable token-limits-have-an-effect tokens-fit-memory variable-is-misspelt
variable-is-read version-is-in-catalog weights-barely-fit weights-can-be-read weights-need-a-volume
""".split()  # noqa: SIM905


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"hosting": ASYNC},
        {"serving": {"engine": "vllm"}},
        {"serving": {"engine": "sglang"}},
        {"serving": {"engine": "tgi"}},
        {"serving": {"engine": "lmi-huggingface", "handler": "mine"}},
        {"serving": {"image_uri": f"{OWN_REGISTRY}/djl-inference:0.36.0-lmi28.0.0-cu130"}},
        {"hosting": {"instance_type": "ml.g6.12xlarge"}},
        {"hosting": {"instance_type": ["ml.g6.2xlarge", "ml.g5.2xlarge"]}},
        {"model": {"id": "openai-community/gpt2"}, "serving": {"engine": "tgi", "version": "1.4.0"}},
        {
            "model": {"id": "nomic-ai/gpt4all-j", "dtype": "fp16"},
            "serving": {"engine": "lmi-neuronx", "max_model_len": 512},
            "hosting": {"instance_type": "ml.inf2.8xlarge", "startup_timeout_in_seconds": 3600},
        },
        {
            "model": {"id": "openai-community/gpt2"},
            "serving": {"engine": "huggingface", "version": "2.6.0-transformers4.51.3-cpu"},
            "hosting": {"instance_type": "ml.m5.xlarge"},
        },
    ],
    ids=lambda changes: str(changes)[:60],
)
def test_of_a_good_deployment_there_is_nothing_to_say_but_notes(changes: Changes) -> None:
    assert [finding for finding in findings(changes) if finding.level != "note"] == []


@pytest.mark.parametrize("path", SHIPPED_FILES.values(), ids=SHIPPED_FILES)
def test_a_shipped_deployment_is_not_refused(path: Path) -> None:
    _, found = load(path, handler_names(ROOT))
    assert [finding for finding in found if finding.level == "error"] == []


def test_a_silenced_warning_is_left_out() -> None:
    useless: Changes = {"api": {"playground": True}}
    assert "playground-needs-a-key" in {finding.rule for finding in findings(useless)}
    silenced = useless | {"preflight": {"silenced": {"playground-needs-a-key": REASON}}}
    assert "playground-needs-a-key" not in {finding.rule for finding in findings(silenced)}


def test_what_a_file_of_an_earlier_release_silences_is_no_mistake() -> None:
    found = findings({"preflight": {"silenced": dict.fromkeys(SILENCED_IN_0_1_0, REASON)}})
    assert [each.field for each in found if each.field.startswith("preflight")] == []


def test_the_id_of_an_earlier_release_silences_its_part_of_a_rule() -> None:
    environment = {"OPTION_MAX_MODEL_LNE": "8192", "SM_VLLM_DTYPE": "bfloat16"}
    silenced = {"preflight": {"silenced": {"variable-is-misspelt": REASON}}}
    found = findings({"serving": {"environment": environment}} | silenced)
    assert [each.field for each in found if each.rule == "settings-are-read"] == ["serving.environment"]


def test_an_error_cannot_be_silenced() -> None:
    silenced = {"degree-fits-instance": "four are enough for us"}
    changes: Changes = {"serving": {"tensor_parallel_degree": 4}, "preflight": {"silenced": silenced}}
    assert {"degree-fits-instance", "errors-are-not-silenced"} <= {each.rule for each in findings(changes)}


def test_unknowns_can_be_silenced_too() -> None:
    silenced = {"model-is-known": "it is a model of our own"}
    changes: Changes = {"model": {"id": "nobody/knows-this"}, "preflight": {"silenced": silenced}}
    assert [finding for finding in findings(changes) if finding.level != "note"] == []


def test_each_variable_that_a_version_does_not_know_is_named() -> None:
    environment = {"OPTION_S3URL": "s3://bucket/prefix/", "OPTION_ROLLING_BATCH": "scheduler"}
    found = [each.field for each in findings({"serving": {"environment": environment}}) if each.level == "error"]
    assert found == ["serving.environment.OPTION_S3URL", "serving.environment.OPTION_ROLLING_BATCH"]


def test_types_of_a_pool_that_break_a_law_in_the_same_words_are_one_finding() -> None:
    pool = {"instance_type": ["ml.g6.12xlarge", "ml.g5.12xlarge", "ml.g4dn.12xlarge"]}
    found = findings({"serving": {"tensor_parallel_degree": 3}, "hosting": pool})
    assert [each.rule for each in found if each.level == "error"] == ["heads-divisible-by-degree"]


def test_rules_have_names_of_their_own() -> None:
    names = [rule.id for rule in RULES]
    assert sorted(set(names)) == sorted(names)


def test_a_finding_never_repeats_a_secret() -> None:
    found = findings({"serving": {"environment": {"EXTRA": "hf_abcdefghij"}}})
    assert "no-secret-in-environment" in {finding.rule for finding in found}
    assert "hf_abcdefghij" not in str(found)


def test_a_disk_that_cannot_be_made_larger_asks_for_another_type() -> None:
    changes = {"model": {"id": "bigscience/bloom"}, "hosting": {"instance_type": "ml.g6.xlarge"}}
    (finding,) = (each for each in findings(changes) if each.rule == "weights-fit-disk")
    assert finding.field == "hosting.instance_type"
    assert "250 GB of disk on ml.g6.xlarge can't hold the 352.5 GB" in finding.message
    assert finding.message.endswith(
        "use a type with more disk, such as ml.p4de.24xlarge (more than EC2's 27.45 USD an hour)."
    )


def test_a_type_that_lacks_disk_itself_is_not_offered() -> None:
    serving = {"environment": {"OPTION_CPU_OFFLOAD_GB": "1000"}}
    changes = {"model": {"id": "bigscience/bloom"}, "serving": serving, "hosting": {"instance_type": "ml.g6.xlarge"}}
    (finding,) = (each for each in findings(changes) if each.rule == "weights-fit-disk")
    offered = finding.fix.partition("such as ")[2].partition(" ")[0]
    assert (instances()[offered].local_nvme_in_gb or 0) > 352


def written(folder: Path, **serving: Any) -> Path:
    (path := folder / "chat.yaml").write_text(yaml.safe_dump({**GOOD, "serving": serving}))
    return path


def test_an_own_handler_has_to_be_one_of_those_there_are(tmp_path: Path) -> None:
    path = written(tmp_path, engine="lmi-huggingface", handler="mine")
    found, _ = load(path, ["mine"])
    assert found.deployment.serving.handler == "mine"
    with pytest.raises(DeploymentError, match=r"serving.handler: 'mine' is not a folder with a model.py; use mini\."):
        load(path, ["mini", "transformers"])
    with pytest.raises(DeploymentError, match="use one that exists"):
        load(path, [])


def test_the_command_of_a_fix_names_the_deployment(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("model: {id: nobody/knows-this}\nhosting: {instance_type: ml.g6.xlarge}\n")
    _, found = load(path, [])
    (finding,) = (each for each in found if each.rule == "model-is-known")
    assert f"run `slipway lock {path}`" in finding.message
    assert spoken_name(ROOT / "deployments/qwen3-4b/prod.yaml") == "qwen3-4b/prod"


@pytest.mark.slow
@given(any_deployment=deployments())
@settings(max_examples=60)
def test_any_deployment_gets_findings_and_never_an_exception(any_deployment: Deployment) -> None:
    resolution = resolve(any_deployment)
    found = validate(resolution)
    assert all(finding.field and not finding.problem.endswith(".") for finding in found)
    assert not [each for each in found if re.search(r"None|  | [,;.:]|\(\)", each.message)]
    if not any(finding.level == "error" for finding in found):
        describe("any", resolution, [])
