"""Reading a deployment file: every problem at once, each with field, value, what is allowed, and the nearest key."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from llm_hosting.deployment.file import DeploymentError, parse
from llm_hosting.deployment.model import Deployment
from llm_hosting.installed_version import installed_version
from llm_hosting.preflight.validation import load

HANDLERS = ("deepspeed",)
MINIMAL: dict[str, Any] = {"model": {"id": "Qwen/Qwen3-4B"}, "hosting": {"instance_type": "ml.g6.2xlarge"}}
TOKENS: dict[str, Any] = {"auth": "jwt", "jwt": {"issuer": "https://login.example.com", "audience": ["llm"]}}
TWO = {"min": 2, "max": 2}


def written(folder: Path, content: Any, name: str = "chat") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def problems(path: Path) -> str:
    with pytest.raises(DeploymentError) as caught:
        load(path, HANDLERS)
    return str(caught.value)


def test_a_minimal_file_gets_every_default(tmp_path: Path) -> None:
    resolution, warnings = load(written(tmp_path, MINIMAL), HANDLERS)
    deployment = resolution.deployment
    assert deployment.serving.engine == "lmi-vllm"
    assert deployment.api.auth == "iam"
    assert (deployment.hosting.instance_count.min, deployment.hosting.instance_count.max) == (1, 1)
    assert (deployment.jobs.enabled, deployment.jobs.limits.open_jobs) == (True, 1000)
    assert {warning.level for warning in warnings} <= {"note"}


def test_all_problems_are_reported_at_once_those_of_rules_too(tmp_path: Path) -> None:
    text = problems(
        written(
            tmp_path,
            {
                "model": {"id": "two words", "weight": "s3://x"},
                "serving": {"engine": "tgii"},
                "hosting": {"instance_type": "ml.g5.xlarge", "volume_size_in_gb": 64, "startup_timeout_in_seconds": 5},
                "alarm": {},
            },
        )
    )
    assert "6 problems" in text
    assert "model.id: 'two words' has the wrong form; use this form: Model id on the Hugging Face Hub" in text
    assert (
        f"model.weight: is not a known key of Slipway {installed_version()}; rename it to `weights`, or use one of id, "
        in text
    )
    assert "serving.engine: 'tgii' is not allowed; did you mean tgi? Use 'lmi-vllm', 'lmi-deepspeed', " in text
    assert "startup_timeout_in_seconds: 5 is not allowed; use a whole number, 60 or more, 3600 or less." in text
    assert "volume_size_in_gb: 64 is refused on ml.g5.xlarge, which has its own NVMe disk (250 GB)" in text
    assert (
        f"alarm: is not a known key of Slipway {installed_version()}; rename it to `alarms`, or use one of region, "
        in text
    )


@pytest.mark.parametrize("key", ["1", "on", "null", "2020-01-01"])
def test_a_key_that_is_no_text_asks_for_quotes(tmp_path: Path, key: str) -> None:
    said = problems(written(tmp_path, f"{key}: 2\n"))
    assert f"the key '{key}' in line 1 is not read as text by YAML; put it in quotes" in said


@pytest.mark.parametrize("value", ["!!bool maybe", "!!timestamp foo", "!!int ''"])
def test_a_tag_that_does_not_fit_is_not_valid_yaml(tmp_path: Path, value: str) -> None:
    assert "file: is not valid YAML" in problems(written(tmp_path, f"model: {value}\n"))


def test_settings_that_depend_on_a_refused_one_are_not_judged(tmp_path: Path) -> None:
    content = {
        **MINIMAL,
        "api": {"auth": "apikey", "quota": {"limit": 5}},
        "serving": {"engine": "tgl", "version": "3.3.6"},
    }
    assert "2 problems" in problems(written(tmp_path, content))


def test_settings_of_a_refused_mode_are_not_judged(tmp_path: Path) -> None:
    hosting = {"instance_type": "ml.g6.2xlarge", "mode": "asynch", "instance_count": {"min": 0, "max": 2}}
    content = {**MINIMAL, "hosting": hosting, "jobs": {"invocation_timeout_in_seconds": 600}}
    text = problems(written(tmp_path, content))
    assert "1 problem" in text
    assert "hosting.mode: 'asynch' is not allowed; did you mean async? Use 'realtime', 'async' or 'ec2'." in text


def test_a_deadline_is_not_judged_by_a_refused_timeout(tmp_path: Path) -> None:
    hosting = {"instance_type": "ml.g6.2xlarge", "mode": "async"}
    content = {
        **MINIMAL,
        "hosting": hosting,
        "jobs": {"invocation_timeout_in_seconds": 0, "deadline_in_seconds": 600},
    }
    text = problems(written(tmp_path, content))
    assert "1 problem" in text
    assert "invocation_timeout_in_seconds: 0 is not allowed; use a whole number, 1 or more, 3600 or less." in text


def test_a_section_that_lacks_a_setting_hides_no_other_problem(tmp_path: Path) -> None:
    text = problems(written(tmp_path, {**MINIMAL, "api": {"quota": {"period": "DAY"}}, "serving": {"version": "zz"}}))
    assert "api.quota.limit: is missing" in text
    assert "serving.version: 'zz' is not a version of lmi-vllm" in text


def test_a_missing_section_is_described(tmp_path: Path) -> None:
    text = problems(written(tmp_path, {"model": {"id": "Qwen/Qwen3-4B"}}))
    assert "hosting: is missing; set it: Where the container runs." in text


def test_a_missing_field_is_described(tmp_path: Path) -> None:
    text = problems(written(tmp_path, {**MINIMAL, "hosting": {}}))
    assert "hosting.instance_type: is missing; set it: SageMaker instance type" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "file: must hold a mapping"),
        ("- a\n- b\n", "file: must hold a mapping"),
        ("just text", "file: must hold a mapping"),
        ("model: {id: [", "expected the node content, but found '<stream end>' (line 1, column 14)."),
        ("model:\n  id: 'x\nhosting: {}\n", "file: line 2 begins a quoted text that does not end; close the quote."),
        ("a:\n  b: 1\n c:\n  d: 1\n", "(line 3, column 2); indent the keys of a section alike."),
        ("a:\n  b: 1\n   c: 1\n", "(line 3, column 5); indent the keys of a section alike, and put a value with"),
        ("a: 1\nb: {c: 1\nd: 1\n", "(line 3, column 2); close the bracket that line 2 opens."),
        ("a: 'it's'\n", "(line 1, column 8); put the whole value in one pair of quotes."),
        ("a: @b\n", "(line 1, column 4); put the value in quotes."),
        ("a: b\nc\n", "(line 3, column 1); write `key: value`."),
        ("model:\n\tid: x\n", "file: line 2 has a tab, which YAML does not take there; type spaces."),
        ("model:\n  id:\tx\n  a: b\n", "file: line 2 has a tab, which YAML does not take there; type spaces."),
        ("model: {id: a/b}\nmodel: {id: c/d}\n", "the key 'model' stands twice, in lines 1 and 2; keep one of them."),
        ("a: 1\na: 2\nb:\n  - c: 1\n    c: 1\n    c: 2\n", "the key 'c' stands 3 times, in lines 4, 5 and 6"),
        ("model: !!python/object:os.system {}\n", "file: is not valid YAML"),
        ("a: &a [*a]\n", "is not a known key"),
        ("model: 5\nhosting: null\n", "model: 5 is not allowed; put settings below it: id, revision"),
        ("api: {keys: [a]}\n", "['a'] is not allowed; put a name below it, and its settings below that: owner, rate"),
        ("api: {keys: {a: }}\n", "api.keys.a: None is not allowed; put settings below it: owner, rate"),
        ("serving: {environment: 5}\n", "serving.environment: 5 is not allowed; put settings below it: NAME: value"),
    ],
)
def test_a_file_that_is_no_deployment_is_refused_in_one_sentence(tmp_path: Path, content: str, said: str) -> None:
    assert said in problems(written(tmp_path, content))


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (path := tmp_path / "chat.yaml").write_bytes(b"model: \xff\xfe")
    assert "is not UTF-8 text" in problems(path)


def test_a_number_where_text_belongs_asks_for_quotes(tmp_path: Path) -> None:
    text = problems(written(tmp_path, {**MINIMAL, "serving": {"version": 3.3, "environment": {"DEBUG": True}}}))
    assert "serving.version: 3.3 is not read as text by YAML; put it in quotes." in text
    assert "serving.environment.DEBUG: true is not read as text by YAML; put it in quotes." in text


@pytest.mark.parametrize("value", ["two", True, 1.5, [1], None])
def test_a_count_must_be_a_whole_number(tmp_path: Path, value: Any) -> None:
    content = {**MINIMAL, "hosting": {"instance_type": "ml.g6.2xlarge", "instance_count": {"min": value}}}
    shown = "true" if value is True else repr(value)
    assert f"hosting.instance_count.min: {shown} is not allowed; use a whole number, 0 or more" in problems(
        written(tmp_path, content)
    )


@pytest.mark.parametrize(
    "name", ["Chat", "my_chat", "-chat", "chat-", "my--chat", "4chat", "a" * 51, "chat.v2", "slipway-fleet-chat"]
)
def test_a_name_that_cannot_be_a_stack_is_refused(tmp_path: Path, name: str) -> None:
    assert "can't be a stack's name" in problems(written(tmp_path, MINIMAL, name))


def test_an_instance_type_is_a_name_or_a_list_of_names(tmp_path: Path) -> None:
    one, _ = load(written(tmp_path, MINIMAL), HANDLERS)
    assert one.deployment.hosting.instance_types == ("ml.g6.2xlarge",)
    pool = {**MINIMAL, "hosting": {"instance_type": ["ml.g6.2xlarge", "ml.g5.2xlarge"]}}
    two, _ = load(written(tmp_path, pool), HANDLERS)
    assert two.deployment.hosting.instance_types == ("ml.g6.2xlarge", "ml.g5.2xlarge")


@pytest.mark.parametrize(
    ("section", "content", "said"),
    [
        ("hosting", {"instance_type": []}, "instance_type: [] is not allowed; use at least 1 item."),
        ("hosting", {"instance_type": ["ml.g6.xlarge"] * 6}, "use at most 5 items."),
        (
            "hosting",
            {"instance_type": ["ml.g6.xlarge", 5]},
            "instance_type: 5 is not read as text by YAML; put it in quotes.",
        ),
        ("hosting", {"instance_type": "x" * 65}, "use at most 64 characters."),
        (
            "hosting",
            {"instance_type": "ml.g6.xlarge", "rollout": "canary"},
            "rollout: 'canary' is not allowed; use 'all-at-once', or put settings below it: canary, rolling.",
        ),
        (
            "hosting",
            {"instance_type": "ml.g6.xlarge", "rollout": {"canary": {"share": 60}}, "instance_count": TWO},
            "rollout.canary.share: 60 is not allowed; use a whole number, 1 or more, 50 or less.",
        ),
        (
            "hosting",
            {"instance_type": "ml.g6.xlarge", "rollout": {"rolling": {}}},
            "rollout.rolling.batch: is missing; set it: Number of instances in a batch.",
        ),
        (
            "hosting",
            {"instance_type": "ml.g6.xlarge", "rollout": {"canary": {}, "rolling": {"batch": 1}}},
            "is not allowed; use one of canary and rolling.",
        ),
        (
            "hosting",
            {"instance_type": "ml.g6.xlarge", "rollout": {"canary": None}},
            "is not allowed; use one of canary and rolling.",
        ),
        (
            "hosting",
            {"instance_type": "ml.g6.xlarge", "rollout": {"linear": {}}},
            "rollout.linear: is not a known key of Slipway",
        ),
        ("model", {"id": "a/b", "dtype": "float16"}, "dtype: 'float16' is not allowed; use 'fp32', 'fp16', 'bf16' or"),
        ("model", {"id": "a/b", "parameters_in_billions": "7b"}, "'7b' is not allowed; use a number, more than 0"),
        (
            "model",
            {"id": "a/b", "weights": "s3://bucket/prefix"},
            "has the wrong form; use this form: S3 prefix that holds the uncompressed weights",
        ),
        (
            "model",
            {"id": "a/b", "adapters": {"legal": "s3://bucket/legal"}},
            "use this form: S3 prefix that ends with `/`, such as `s3://bucket/legal/`, or an id on the Hub, "
            "`org/name`",
        ),
        ("model", {"id": "a/b", "files": []}, "files: [] is not allowed; use at least 1 item."),
        ("hosting", {"instance_type": "ml.g6.xlarge", "vpc": {}}, "move it to `security.vpc`."),
        ("api", {"expires": "2027-12-31"}, "move it to `api.keys.NAME.expires`."),
        ("api", {"waf": "on"}, "api.waf: 'on' is not allowed; use true or false."),
        ("api", {"allow": {"cidrs": "1.2.3.4"}}, "cidrs: '1.2.3.4' is not allowed; use a list, such as [one, two]."),
        (
            "api",
            {**TOKENS, "jwt": {**TOKENS["jwt"], "claims": {"scope": [1, "a"]}}},
            "api.jwt.claims.scope: 1 is not read as text by YAML;",
        ),
        (
            "api",
            {**TOKENS, "jwt": {**TOKENS["jwt"], "claims": {"scope": {}}}},
            "api.jwt.claims.scope: {} is not allowed; use a text.",
        ),
        ("security", {"tags": {"a": "<b>"}}, "use this form: letters, digits, spaces and _ . : / = + - @, at most 256"),
        ("security", {"kms_key_arn": "k" * 90}, f"'{'k' * 79}... has the wrong form; use this form: Your own KMS key"),
        (
            "serving",
            {"handler": "My-Handler"},
            "'My-Handler' has the wrong form; use this form: Folder under `model_src/`",
        ),
        ("serving", {"max_model_len": 10**400}, "use a whole number, 2 or more, 100000000 or less."),
        (
            "serving",
            {"environment": {"A-B": "x"}},
            "environment.A-B: is not allowed as the name of an environment variable",
        ),
        ("serving", {"environment": {"A": "x" * 1025}}, "environment.A: the value is not allowed; use at most 1,024"),
        ("preflight", {"silenced": {"shared-secret": "no"}}, "'no' is not allowed; use at least 10 characters."),
        (
            "preflight",
            {"silenced": {"Shared": "we know of it"}},
            "silenced.Shared: is not the id of a rule; use lower-case",
        ),
    ],
)
def test_a_refused_value_comes_with_the_allowed_ones(
    tmp_path: Path, section: str, content: dict[str, Any], said: str
) -> None:
    text = problems(written(tmp_path, {**MINIMAL, section: content}))
    assert "1 problem" in text
    assert said in text


@pytest.mark.parametrize(
    ("section", "content"),
    [
        ("model", {"id": "a/b", "hub_token_secret_arn": "hf_abcdefghij"}),
        ("serving", {"environment": {"HF_TOKEN": "hf_abcdefghij" * 100}}),
    ],
)
def test_a_token_in_the_wrong_place_is_not_repeated(tmp_path: Path, section: str, content: dict[str, Any]) -> None:
    text = problems(written(tmp_path, {**MINIMAL, section: content}))
    assert "the value" in text
    assert "hf_abcdefghij" not in text


def test_an_unreadable_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "chat").mkdir()
    assert "file: can't be read" in problems(tmp_path / "chat")


def test_a_deployment_is_frozen(tmp_path: Path) -> None:
    resolution, _ = load(written(tmp_path, MINIMAL), HANDLERS)
    with pytest.raises(ValueError, match="frozen"):
        resolution.deployment.region = "eu-west-1"  # type: ignore[misc]


def test_every_field_is_described() -> None:
    definitions = Deployment.model_json_schema()
    for section in (definitions, *definitions["$defs"].values()):
        assert section["description"]
        for name, field in section["properties"].items():
            assert "description" in field or "$ref" in field, name


yaml_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)


@given(
    content=st.dictionaries(st.sampled_from(["region", "model", "serving", "hosting", "api", "jobs", "x"]), yaml_values)
)
def test_no_yaml_value_makes_the_reader_raise_anything_else(
    tmp_path_factory: pytest.TempPathFactory, content: dict[str, Any]
) -> None:
    path = written(tmp_path_factory.mktemp("any"), content)
    deployment, found, _ = parse(path)
    assert deployment is not None or found
