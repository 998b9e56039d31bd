"""Fixtures for tests with other projects' clients. `make test-clients` installs them; `make test` skips the tests."""

import importlib.util
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DEPLOYMENTS = sorted(Path(__file__).parent.glob("deployments/*.yaml"))


@dataclass(frozen=True)
class Served:
    """A deployed API. `url`: the base_url for SDKs. `key`: a key, or a token. `keys`: by name.

    `cloud_url`: the local cloud's URL. `environment`: of a command line that operates the deployment.
    """

    url: str
    key: str
    keys: Mapping[str, str]
    cloud_url: str
    environment: Mapping[str, str]


def pytest_configure(config: pytest.Config) -> None:
    """Ignore warnings about connections that SDKs leave to the garbage collector."""
    config.addinivalue_line("filterwarnings", "default")
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore every test of this folder if the clients are not installed."""
    return None if importlib.util.find_spec("openai") else True


@pytest.fixture(scope="session")
def served() -> Iterator[Mapping[str, Served]]:
    """Serve every deployment of this folder on one local cloud, and return them by name."""
    os.environ["no_proxy"] = ",".join(filter(None, (os.environ.get("no_proxy"), "127.0.0.1")))
    command = [str(ROOT / ".venv/bin/python"), "-m", "support.stacks.served_deployments", *map(str, DEPLOYMENTS)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        printed = process.stdout.readline()
        assert printed, "nothing was deployed: the reason stands above"
        found: dict[str, dict[str, Any]] = json.loads(printed)
        yield {name: Served(**each) for name, each in found.items()}
        process.communicate()


@pytest.fixture(scope="session")
def ec2(served: Mapping[str, Served]) -> Served:
    """Return an EC2 deployment whose machine is awake: while it starts, only streams are held."""
    from openai import OpenAI

    client = OpenAI(base_url=served["ec2"].url, api_key=served["ec2"].key)
    asked: dict[str, Any] = {"model": "", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
    assert list(client.chat.completions.create(**asked))
    return served["ec2"]


@pytest.fixture(scope="session")
def lmi(served: Mapping[str, Served]) -> Served:
    """Return the deployment on LMI with vLLM, our default engine."""
    return served["lmi"]
