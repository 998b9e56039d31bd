"""The functions' settings of a deployment of any engine."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from inference_api.keys.key_usage import key_usage
from inference_api.model import deployed_engine
from inference_api.openai import routes
from inference_api.shared import runtime
from inference_api.shared.runtime import Runtime
from inference_api.shared.settings import settings
from llm_hosting.deployment.model import Deployment
from llm_hosting.resolution import resolve
from support.stand_ins.endpoint_streams import SageMaker

MODEL = "Qwen/Qwen3-4B"
_OWN_IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/my-server:1"

Deploy = Callable[..., None]


@pytest.fixture
def deploy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deploy]:
    """deploy(engine, version, **sections) sets the environment that the template would."""

    def set_environment(engine: str, version: str | None = None, **sections: Any) -> None:
        serving = {"engine": engine, "version": version} | sections.pop("serving", {})
        if engine == "custom":
            serving["image_uri"] = _OWN_IMAGE
        is_machine = engine == "transformers"
        hosting = {"mode": "ec2", "instance_type": "c7i.4xlarge"} if is_machine else {"instance_type": "ml.g5.2xlarge"}
        document = {"model": {"id": MODEL}, "serving": serving, "hosting": hosting} | sections
        resolution = resolve(Deployment.model_validate(document))
        row = {"bodies": resolution.bodies, "parameters": resolution.parameters}
        row["model_aliases"] = resolution.container.model_aliases
        row["images"] = {}
        row |= _strict() if engine == "transformers" else {}
        for name, value in {
            "ENDPOINT_NAME": "endpoint",
            "ENDPOINT_CONFIGURATION": "",
            "ENDPOINT_URL": "",
            "MODEL_ID": MODEL,
            "ENGINE": engine,
            "ENGINE_VERSION": "",
            "HOSTING_MODE": "realtime",
            "LONGEST_WAIT_IN_SECONDS": "25",
            "MAX_BODY_BYTES": "131072",
            "OPENAI_FACTS": json.dumps(resolution.openai_facts),
            "OPENAI_ROUTES": ",".join(resolution.openai_routes),
            "REQUEST_SCHEMA": json.dumps(row),
            "ADAPTERS": ",".join(resolution.deployment.model.adapters),
        }.items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()

    yield set_environment
    settings.cache_clear()


def _strict() -> dict[str, Any]:
    from llm_hosting.catalog.engines import engine

    return {"names": engine("transformers").names, "most_answers": engine("transformers").most_answers}


@pytest.fixture
def sagemaker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def answer(*parts: bytes | Exception, refusal: ClientError | None = None) -> SageMaker:
        client = SageMaker(*parts, refusal=refusal)
        forget()
        monkeypatch.setattr(runtime, "_current", Runtime(client=lambda service, config: client))
        return client

    def forget() -> None:
        routes.streaming_endpoint.cache_clear()
        key_usage.cache_clear()
        deployed_engine.endpoint_status.cache_clear()

    yield answer
    forget()


@pytest.fixture
def metered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USAGE_TABLE", "usage")
