"""Adapter components: fetched and checked, chosen by name or by URL, added and removed while others answer."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.stacks.component_endpoints import DeployedComponent, adapter
from support.stacks.small_stacks import REGION, StackFailedError, update
from support.stand_ins.adapters import packed

BASE, BUCKET = "adapter-base", "adapters-of-a-test"
LORA = {"HF_MODEL_ID": "Qwen/Qwen3-4B", "OPTION_ENABLE_LORA": "true"}
CONFIG = {"adapter_config.json": b'{"peft_type": "LORA", "r": 16}'}
FILES = CONFIG | {"adapter_model.safetensors": b"weights"}
LEGAL, PREFIX = f"s3://{BUCKET}/legal.tar.gz", f"s3://{BUCKET}/medical/"
MOST_BYTES = 4 * 1024**3  # of an unpacked adapter
CHAT = {"messages": [{"role": "user", "content": "A list is"}], "max_tokens": 4}


@pytest.fixture(scope="module")
def base(bare_cloud: LocalCloud) -> DeployedComponent:
    s3 = bare_cloud.client("s3", region=REGION)
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="legal.tar.gz", Body=packed(FILES))
    for name, content in FILES.items():
        s3.put_object(Bucket=BUCKET, Key=f"medical/{name}", Body=content)
    return DeployedComponent(bare_cloud, BASE, LORA)


@pytest.fixture(scope="module")
def two(base: DeployedComponent) -> Iterator[DeployedComponent]:
    """Add two adapters to the base, one from an archive and one from a prefix."""
    more = {"Legal": adapter("legal", BASE, BASE, LEGAL), "Medical": adapter("medical", BASE, BASE, PREFIX)}
    update(base.cloud, BASE, base.resources | more)
    yield base
    update(base.cloud, BASE, base.resources)


def content(base: DeployedComponent, **request: Any) -> tuple[str, str]:
    """Return the model's name in an answer, and the first word of its text."""
    answer = json.loads(base.call(CHAT, **request))
    return answer["model"], answer["choices"][0]["message"]["content"].split()[0]


def test_an_adapter_answers_under_its_own_name_and_by_the_url_of_its_artifact(two: DeployedComponent) -> None:
    assert content(two, InferenceComponentName="legal") == ("legal", "[legal]")
    assert content(two, InferenceComponentName="medical") == ("medical", "[medical]")
    assert content(two, TargetModel=PREFIX) == ("medical", "[medical]")
    name, first = content(two)
    assert (name, first.startswith("[")) == ("lmi", False)
    with pytest.raises(ClientError, match="Target model"):
        content(two, TargetModel="s3://somewhere/else/")


def test_an_adapter_streams(two: DeployedComponent) -> None:
    answer = two.runtime.invoke_endpoint_with_response_stream(
        EndpointName=BASE, InferenceComponentName="legal", Body=json.dumps(CHAT | {"stream": True}).encode()
    )
    lines = b"".join(each["PayloadPart"]["Bytes"] for each in answer["Body"]).decode().split("\n")
    assert {json.loads(line)["model"] for line in lines if line} == {"legal"}


def test_a_caller_cannot_name_an_adapter_past_the_component(two: DeployedComponent) -> None:
    def add(request: Any, **_: Any) -> None:
        request.headers["X-Amzn-SageMaker-Adapter-Identifier"] = "legal"

    runtime = two.cloud.client("sagemaker-runtime", region=REGION)
    runtime.meta.events.register("before-sign.sagemaker-runtime.InvokeEndpoint", add)
    answer = runtime.invoke_endpoint(EndpointName=BASE, InferenceComponentName=BASE, Body=json.dumps(CHAT).encode())
    assert json.load(answer["Body"])["model"] == "lmi"


def test_a_base_with_adapters_is_not_deleted(two: DeployedComponent) -> None:
    with pytest.raises(ClientError, match="while adapters have it as their base: legal, medical"):
        two.sagemaker.delete_inference_component(InferenceComponentName=BASE)


def test_an_adapter_describes_its_base_and_its_artifact(two: DeployedComponent) -> None:
    found = two.sagemaker.describe_inference_component(InferenceComponentName="legal")
    specification = {"BaseInferenceComponentName": BASE, "Container": {"ArtifactUrl": LEGAL}}
    assert (found["InferenceComponentStatus"], found["Specification"]) == ("InService", specification)
    assert "RuntimeConfig" not in found
    listed = two.sagemaker.list_inference_components(EndpointNameEquals=BASE)["InferenceComponents"]
    assert [each["InferenceComponentName"] for each in listed] == [BASE, "legal", "medical"]


def test_a_new_copy_of_the_base_serves_the_adapters_too(two: DeployedComponent) -> None:
    two.scale_to(0)
    with pytest.raises(ClientError, match="Inference Component has no capacity"):
        content(two, InferenceComponentName="legal")
    two.scale_to(1)
    assert content(two, InferenceComponentName="legal") == ("legal", "[legal]")


def test_others_answer_while_adapters_come_change_and_go(two: DeployedComponent) -> None:
    s3 = two.cloud.client("s3", region=REGION)
    s3.put_object(Bucket=BUCKET, Key="newer.tar.gz", Body=packed(FILES))
    legal, medical = adapter("legal", BASE, BASE, LEGAL), adapter("medical", BASE, BASE, PREFIX)
    third = adapter("third", BASE, BASE, LEGAL)
    replaced = adapter("medical", BASE, BASE, f"s3://{BUCKET}/newer.tar.gz")
    is_over = threading.Event()

    def call(name: str) -> int:
        calls = 0
        while not is_over.is_set():
            assert content(two, InferenceComponentName=name)[0] == (name if name != BASE else "lmi")
            calls += 1
        return calls

    with ThreadPoolExecutor(3) as callers:
        calling = [callers.submit(call, name) for name in (BASE, "legal", "medical")]
        try:
            for adapters in (
                {"Legal": legal, "Medical": medical, "Third": third},
                {"Legal": legal, "Medical": replaced, "Third": third},
                {"Legal": legal, "Medical": medical},
            ):
                update(two.cloud, BASE, two.resources | adapters)
        finally:
            is_over.set()
        assert all(each.result() for each in calling)
    with pytest.raises(ClientError, match=r"third .*not found"):
        content(two, InferenceComponentName="third")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (packed(CONFIG), "must hold adapter_config.json and adapter_model.safetensors"),
        (packed({f"folder/{name}": each for name, each in FILES.items()}), "must hold adapter_config.json"),
        (packed(FILES | {"adapter_config.json": b'{"r": 32}'}), "LoRA rank 32 is greater than max_lora_rank 16"),
        (packed(FILES | {"adapter_config.json": b"[]"}), "is not valid"),
        (packed(FILES | {"../outside": b""}), "Failed to extract"),
        (packed(FILES, {"bomb": MOST_BYTES}), f"holds more than {MOST_BYTES} bytes"),
        (b"no archive", "Failed to extract"),
    ],
)
def test_an_unusable_artifact_is_refused_with_its_reason(base: DeployedComponent, files: bytes, reason: str) -> None:
    base.cloud.client("s3", region=REGION).put_object(Bucket=BUCKET, Key="bad.tar.gz", Body=files)
    more = {"Bad": adapter("bad", BASE, BASE, f"s3://{BUCKET}/bad.tar.gz")}
    with pytest.raises(StackFailedError, match=reason):
        update(base.cloud, BASE, base.resources | more)
    assert content(base)[0] == "lmi"


def test_what_an_adapter_takes_from_its_base_is_refused(base: DeployedComponent) -> None:
    wrong = adapter("wrong", BASE, BASE, LEGAL)["Properties"]
    requirements = {"ComputeResourceRequirements": {"MinMemoryRequiredInMb": 1024}}
    for change, message in (
        ({"RuntimeConfig": {"CopyCount": 1}}, "RuntimeConfig is not allowed"),
        ({"Specification": wrong["Specification"] | requirements}, "ComputeResourceRequirements is not allowed"),
        ({"Specification": wrong["Specification"] | {"BaseInferenceComponentName": "nobody"}}, "Could not find"),
        ({"EndpointName": "another"}, "is not on the endpoint another"),
    ):
        with pytest.raises(ClientError, match=message):
            base.sagemaker.create_inference_component(**wrong | change)
