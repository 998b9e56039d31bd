"""An overlay: merged over its base, resolved, named, and refused in one sentence that names the file."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_hosting.deployment.file import DeploymentError, parse, sets_over_base
from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.paths import UnknownDeploymentError, find, names, stack_name
from llm_hosting.preflight.validation import load
from local_cloud.assembly import _digest
from support.repository import ROOT

BASE: dict[str, Any] = {
    "model": {"id": "Qwen/Qwen3-4B"},
    "serving": {"max_model_len": 8192, "environment": {"OPTION_DTYPE": "bf16", "OPTION_ENFORCE_EAGER": "true"}},
    "hosting": {"instance_type": ["ml.g6.2xlarge", "ml.g5.2xlarge"], "startup_timeout_in_seconds": 1200},
    "api": {"auth": "api-key", "quota": {"limit": 5, "period": "WEEK"}},
    "alarms": {"idle_in_hours": 48},
}


def written(folder: Path, own: Any, *, base: Any = None, name: str = "chat/prod") -> Path:
    """Write an overlay and its base beside its folder, and return the overlay's path."""
    path = folder / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    base_file = folder / f"{name.rpartition('/')[0]}.yaml"
    if not base_file.exists():
        base_file.write_text(yaml.safe_dump(BASE if base is None else base))
    path.write_text(own if isinstance(own, str) else yaml.safe_dump({"extends": path.parent.name, **own}))
    return path


def merged(folder: Path, own: dict[str, Any]) -> Deployment:
    deployment, problems, _ = parse(written(folder, own))
    assert deployment
    assert problems == []
    return deployment


def problems(path: Path) -> str:
    with pytest.raises(DeploymentError) as caught:
        load(path, ())
    return str(caught.value)


def test_an_overlay_without_settings_is_its_base(tmp_path: Path) -> None:
    assert merged(tmp_path, {}) == Deployment.model_validate(BASE)


def test_mappings_are_merged_and_everything_else_replaces(tmp_path: Path) -> None:
    own = {
        "serving": {"environment": {"OPTION_DTYPE": "fp16"}},
        "hosting": {"instance_type": ["ml.g6.12xlarge"], "instance_count": {"max": 3}},
    }
    deployment = merged(tmp_path, own)
    assert deployment.serving.environment == {"OPTION_DTYPE": "fp16", "OPTION_ENFORCE_EAGER": "true"}
    assert deployment.serving.max_model_len == 8192
    assert deployment.hosting.instance_types == ("ml.g6.12xlarge",)
    assert (deployment.hosting.instance_count.min, deployment.hosting.instance_count.max) == (1, 3)


def test_null_is_the_default_of_a_setting_a_section_and_a_variable(tmp_path: Path) -> None:
    own = {
        "serving": {"max_model_len": None, "environment": {"OPTION_DTYPE": None}},
        "hosting": {"startup_timeout_in_seconds": None, "scaling": {"backlog_per_instance": None}},
        "api": None,
    }
    deployment = merged(tmp_path, own)
    assert deployment.serving.max_model_len is None
    assert deployment.serving.environment == {"OPTION_ENFORCE_EAGER": "true"}
    assert deployment.hosting.startup_timeout_in_seconds == 900
    assert deployment.hosting.scaling.backlog_per_instance == 16
    assert (deployment.api.auth, deployment.api.quota) == ("iam", None)


def test_null_keeps_its_own_meaning_where_a_setting_has_one(tmp_path: Path) -> None:
    assert merged(tmp_path, {"alarms": {"idle_in_hours": None}}).alarms.idle_in_hours is None


def test_a_required_setting_has_no_default_to_go_back_to(tmp_path: Path) -> None:
    path = written(tmp_path, {"model": {"id": None}})
    assert "model.id (chat/prod.yaml): is missing; set it: Model id on the Hugging Face Hub" in problems(path)


def test_the_sets_of_an_overlay_are_resolved(tmp_path: Path) -> None:
    own = {"hosting": {"instance_count": {"min": 2, "max": 2}, "startup_timeout_in_seconds": 1200}, "api": None}
    deployment, overlay = merged(tmp_path, own), parse(tmp_path / "chat" / "prod.yaml").overlay
    assert overlay
    assert {each.field: (each.base, each.value) for each in sets_over_base(overlay, deployment)} == {
        "hosting.instance_count.min": (1, 2),
        "hosting.instance_count.max": (1, 2),
        "hosting.startup_timeout_in_seconds": (1200, 1200),
        "api.auth": ("api-key", "iam"),
        "api.quota.limit": (5, None),
        "api.quota.period": ("WEEK", None),
    }


@pytest.mark.parametrize(
    ("own", "base", "said"),
    [
        ({"hosting": {"volume": 5}}, None, "hosting.volume (chat/prod.yaml): is not a known key"),
        ({"hosting": {"volume": None}}, None, "hosting.volume (chat/prod.yaml): is not a known key"),
        ({}, {**BASE, "hosting": {"volume": 5}}, "hosting.volume (chat.yaml): is not a known key"),
        ("extends: chat\nmodel: [", None, "file (chat/prod.yaml): is not valid YAML"),
        ("", None, "file (chat/prod.yaml): must hold a mapping"),
        ({}, "model: [", "file (chat.yaml): must hold a mapping"),
        (
            {"hosting": {"instance_type": "ml.g5.xlarge"}},
            {**BASE, "hosting": {"instance_type": "ml.m5.xlarge", "volume_size_in_gb": 64}},
            "hosting.volume_size_in_gb (chat.yaml): 64 is refused on ml.g5.xlarge",
        ),
        (
            {"hosting": {"volume_size_in_gb": 64}},
            {**BASE, "hosting": {"instance_type": "ml.g5.xlarge"}},
            "hosting.volume_size_in_gb (chat/prod.yaml): 64 is refused on ml.g5.xlarge",
        ),
    ],
)
def test_an_error_names_the_file_that_holds_the_setting(tmp_path: Path, own: Any, base: Any, said: str) -> None:
    assert said in problems(written(tmp_path, own, base=base))


def test_an_error_of_shape_has_its_file_before_any_rule_runs(tmp_path: Path) -> None:
    path = written(tmp_path, {}, base={**BASE, "hosting": {"volume": 5}})
    assert {problem.file for problem in parse(path).problems if problem.field == "hosting.volume"} == {"chat.yaml"}


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ("logs: {}\n", "extends: is missing in an overlay of chat.yaml; write `extends: chat`, or move"),
        ("extends: gpt2\n", "extends: 'gpt2' is not the base of this file; write `extends: chat`"),
        ("extends: null\n", "extends: None is not the base of this file"),
    ],
)
def test_a_missing_or_wrong_extends_is_refused(tmp_path: Path, own: str, said: str) -> None:
    assert said in problems(written(tmp_path, own))


@pytest.mark.parametrize(
    ("name", "extends", "said"),
    [
        ("chat/prod", "chat", "there is no chat.yaml beside the folder chat/; add the base"),
        ("prod", "chat", "move the file into the folder chat/ beside chat.yaml"),
        ("prod", "prod", "'prod' is this file itself"),
        ("prod", "[chat]", "['chat'] is not the name of a deployment"),
    ],
)
def test_extends_away_from_the_base_is_refused(tmp_path: Path, name: str, extends: str, said: str) -> None:
    (path := tmp_path / f"{name}.yaml").parent.mkdir(exist_ok=True)
    path.write_text(f"extends: {extends}\n")
    assert said in problems(path)


def test_an_overlay_of_an_overlay_and_a_cycle_are_refused(tmp_path: Path) -> None:
    written(tmp_path, {})
    assert "'prod' extends another deployment itself" in problems(written(tmp_path, {}, name="chat/prod/eu"))
    cycle = written(tmp_path, {}, base={**BASE, "extends": "prod"}, name="talk/prod")
    assert "'talk' extends another deployment itself; extend a deployment that is not an overlay" in problems(cycle)


def test_two_files_for_one_stack_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {})
    (tmp_path / "chat-prod.yaml").write_text(yaml.safe_dump(BASE))
    assert "name: 'chat-prod' is also the stack of chat-prod.yaml; rename one of the two files" in problems(path)
    written(tmp_path, {}, name="talk/to-me")
    assert "is also the stack of talk/to-me.yaml" in problems(written(tmp_path, {}, name="talk-to/me"))


def test_the_name_of_the_stack_has_at_most_50_characters(tmp_path: Path) -> None:
    written(tmp_path, {}, name=f"chat/{'x' * 45}")
    assert load(tmp_path / "chat" / f"{'x' * 45}.yaml", ())
    said = problems(written(tmp_path, {}, name=f"chat/{'x' * 46}"))
    assert "can't be a stack's name" in said
    assert "at most 50 characters together with those of the base" in said


def test_a_value_that_leads_back_to_itself_is_refused(tmp_path: Path) -> None:
    assert "is not a known key" in problems(written(tmp_path, "extends: chat\nserving: &s {serving: *s}\n"))


def test_editors_ask_an_overlay_for_its_base_alone() -> None:
    schema = json.loads((ROOT / "deployments" / "overlay.schema.json").read_text())
    sections = schema["$defs"].values()
    assert schema["required"] == ["extends"]
    assert not any("required" in section for section in sections)
    assert all({"type": "null"} in each["anyOf"] for section in sections for each in section["properties"].values())


@pytest.mark.slow
def test_a_synth_on_the_local_cloud_sees_an_edit_of_the_base(tmp_path: Path) -> None:
    path = written(tmp_path, {})
    before = _digest([str(path)])
    (tmp_path / "chat.yaml").write_text(yaml.safe_dump(BASE | {"logs": {"retention_in_days": 7}}))
    assert _digest([str(path)]) != before


def test_the_command_line_names_an_overlay_by_its_base_or_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, {})
    assert names(tmp_path) == ["chat", "chat/prod"]
    assert find("chat/prod", tmp_path) == find(str(path), tmp_path) == path
    monkeypatch.chdir(path.parent)
    assert stack_name(path) == stack_name(Path("prod.yaml")) == "chat-prod"
    with pytest.raises(UnknownDeploymentError, match="Did you mean chat/prod"):
        find("chat/pord", tmp_path)
    with pytest.raises(UnknownDeploymentError, match="Did you mean chat/prod"):
        find("chat-prod", tmp_path)
