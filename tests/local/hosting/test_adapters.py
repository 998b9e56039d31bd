"""A deployed model with LoRA adapters: they come and go while the model answers, and callers choose by name."""

import json
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from local.api.test_batches import NEW, content_of, line, lines_of, upload
from local.hosting.test_sleep import Sleeper, text_of
from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack, read_stacks, synthesize
from local_cloud.checks import mark_as_linted
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError, deploy
from slipway.staging.adapter_archive import pack_adapter
from support.repository import ROOT
from support.stacks.callers import calling
from support.stacks.deployed_stacks import assert_refused, edited, ended, ended_batch
from support.stand_ins.adapters import adapter_files
from support.templates.template_parts import Template

MODEL, BUCKET, NAMES = "Qwen/Qwen3-4B", "example-adapters", ("legal", "sales", "support")
MESSAGES = [{"role": "user", "content": "Hello"}]


def put_archive(cloud: LocalCloud, stack: Stack, folder: Path, name: str, rank: int = 16) -> None:
    """Put an adapter's archive where the deployment names it, as `slipway stage` does."""
    paths = {}
    for path, body in adapter_files(rank=rank).items():
        paths[path] = folder / f"{name}-{path}"
        paths[path].write_bytes(body)
    pack_adapter(paths, folder / f"{name}.tar.gz")
    body = (folder / f"{name}.tar.gz").read_bytes()
    cloud.client("s3", region=stack.region).put_object(Bucket=BUCKET, Key=f"qwen3-4b/{name}.tar.gz", Body=body)


def with_adapters(stack: Stack, folder: Path, *kept: str) -> Stack:
    """Return the stack with these adapters only; a test of templates shows that nothing else differs."""

    def leave_out(template: Template) -> None:
        resources = template["Resources"]
        for name in set(NAMES) - set(kept):
            for each in [each for each in resources if f"Adapters{name}" in each]:
                del resources[each]
        for each in resources.values():
            variables = each.get("Properties", {}).get("Environment", {}).get("Variables", {})
            if "ADAPTERS" in variables:
                variables["ADAPTERS"] = ",".join(sorted(kept))

    return edited(stack, folder, leave_out, "adapters")


def chat(api: ApiClient, model: str | None, **asked: Any) -> tuple[int, dict[str, str], Any]:
    body = {"messages": MESSAGES, "max_tokens": 8} | ({"model": model} if model else {}) | asked
    return api.call("POST", "/chat/completions", body)


def text(answer: tuple[int, dict[str, str], Any]) -> str:
    status, _, body = answer
    assert status == 200, body
    content: str = body["choices"][0]["message"]["content"]
    return content


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("adapters")


@pytest.fixture(scope="module")
def stack(cloud: LocalCloud, stacks: dict[str, Stack], folder: Path) -> Stack:
    """The deployment, whose adapters lie in S3."""
    found = stacks["adapters"]
    cloud.client("s3", region=found.region).create_bucket(Bucket=BUCKET)
    for name in NAMES:
        put_archive(cloud, found, folder, name)
    return found


@pytest.fixture(scope="module")
def api(cloud: LocalCloud, stack: Stack, folder: Path) -> ApiClient:
    """The model, first without adapters."""
    return connect(cloud, deploy(cloud, with_adapters(stack, folder)), stack.region)


@pytest.fixture
def adapted(cloud: LocalCloud, stack: Stack, api: ApiClient, folder: Path) -> ApiClient:
    """The same with all three adapters."""
    deploy(cloud, with_adapters(stack, folder, *NAMES))
    return api


def containers(cloud: LocalCloud, stack: Stack) -> list[str]:
    """Return the ids of the endpoint's containers: a new one is a new start of the model."""
    found = requests.get(f"{cloud.url}/_slipway/containers", timeout=30).json()
    return sorted(str(each["pid"]) for each in found if each["endpoint"].startswith(f"{stack.name}-"))


def test_three_adapters_come_and_go_while_the_model_answers(
    cloud: LocalCloud, stack: Stack, api: ApiClient, folder: Path
) -> None:
    before = containers(cloud, stack)
    with calling(api, "/chat/completions", {"model": MODEL, "messages": MESSAGES, "max_tokens": 8}) as statuses:
        deploy(cloud, with_adapters(stack, folder, *NAMES))
        answers = {name: text(chat(api, name)) for name in NAMES}
        deploy(cloud, with_adapters(stack, folder, "legal"))
        assert_refused(chat(api, "sales"), 404, "model_not_found")
        assert text(chat(api, "legal")) == answers["legal"]
    assert set(statuses) == {200}
    assert before
    assert containers(cloud, stack) == before
    assert all(
        answer.startswith("[") and answer.partition("]")[0].endswith(f"-{name}") for name, answer in answers.items()
    )


def test_callers_choose_an_adapter_by_its_name(adapted: ApiClient) -> None:
    status, _, found = chat(adapted, "legal")
    assert (status, found["model"]) == (200, "legal")
    assert not text(chat(adapted, None)).startswith("[")
    status, _, raw = adapted.call("POST", "/generate", {"messages": MESSAGES, "model": "sales", "max_tokens": 8})
    assert status == 200
    assert "-sales]" in raw["choices"][0]["message"]["content"]


def test_a_stream_names_the_adapter(adapted: ApiClient) -> None:
    body = json.dumps({"messages": MESSAGES, "model": "support", "max_tokens": 8, "stream": True}).encode()
    with adapted.open("POST", "/chat/completions", body, {"content-type": "application/json"}) as answer:
        assert answer.status == 200
        events = [json.loads(line[6:]) for line in answer.read().decode().splitlines() if line.startswith("data: {")]
    assert {each["model"] for each in events} == {"support"}
    said = "".join(choice["delta"].get("content") or "" for each in events for choice in each["choices"])
    assert "-support]" in said


def test_a_job_keeps_its_choice(adapted: ApiClient) -> None:
    body = {"messages": MESSAGES, "model": "legal", "max_tokens": 8}
    status, _, job = adapted.call("POST", "/jobs", body)
    assert status == 202, job
    found = ended(adapted, job)
    assert found["status"] == "succeeded", found
    assert "-legal]" in json.dumps(found)


def test_lines_of_a_batch_choose_for_themselves(adapted: ApiClient) -> None:
    lines = [line("a", model="legal"), line("b"), line("c", model="sales")]
    status, _, batch = adapted.call(
        "POST", "/batches", {"input_file_id": upload(adapted, lines_of(*lines))["id"]} | NEW
    )
    assert status == 200, batch
    found = ended_batch(adapted, batch)
    assert found["status"] == "completed", found
    bodies = {each["custom_id"]: each["response"]["body"] for each in content_of(adapted, found["output_file_id"])}
    assert {name: body["model"] for name, body in bodies.items()} == {"a": "legal", "b": MODEL, "c": "sales"}
    said = {name: body["choices"][0]["message"]["content"] for name, body in bodies.items()}
    assert ("-legal]" in said["a"], said["b"].startswith("["), "-sales]" in said["c"]) == (True, False, True)


def test_adapters_are_listed_with_their_parent(adapted: ApiClient) -> None:
    status, _, found = adapted.call("GET", "/models")
    assert status == 200
    assert [(each["id"], each.get("parent")) for each in found["data"]] == [
        (MODEL, None),
        *((name, MODEL) for name in NAMES),
    ]


def test_an_adapter_that_is_not_in_s3_or_too_high_fails_alone(
    cloud: LocalCloud, stack: Stack, api: ApiClient, folder: Path
) -> None:
    deploy(cloud, with_adapters(stack, folder, "legal"))
    put_archive(cloud, stack, folder, "sales", rank=64)
    with pytest.raises(DeployError, match="rank 64 is greater than max_lora_rank 16"):
        deploy(cloud, with_adapters(stack, folder, "legal", "sales"))
    assert "-legal]" in text(chat(api, "legal"))
    put_archive(cloud, stack, folder, "sales")


def test_a_call_of_an_adapter_wakes_the_model(cloud: LocalCloud, stack: Stack, tmp_path: Path) -> None:
    settings = yaml.safe_load((ROOT / "tests" / "deployments" / "adapters.yaml").read_text())
    settings["hosting"]["idle"] = "zero"
    file = tmp_path / "sleeping-adapters.yaml"
    file.write_text(yaml.safe_dump(settings))
    (sleeping,) = read_stacks(synthesize([str(file)], tmp_path / "assembly"))
    mark_as_linted(sleeping)
    sleeper = Sleeper(cloud, sleeping)
    sleeper.fall_asleep()
    first, *others, last = sleeper.stream(model="legal")
    assert (first.startswith(": the model is starting"), last) == (True, "data: [DONE]")
    assert "-legal]" in text_of(others)
    assert sleeper.asks() == 1
