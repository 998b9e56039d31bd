"""The functions' settings of a deployment of any engine."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from inference_api.shared.settings import settings
from llm_hosting.deployment.model import Deployment
from llm_hosting.resolution import resolve

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
