"""Injectable clients, clock and random source."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from random import Random, SystemRandom
from typing import Any

import botocore.session
from botocore.config import Config

# Several attempts of at most 1 + 2 s; writes that are not idempotent have a condition.
STANDARD_RETRIES = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 4})
# A repeated invocation is paid twice.
ONE_ATTEMPT = Config(connect_timeout=1, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 1})


@cache
def _session() -> Any:
    return botocore.session.get_session()


def _client(service: str, config: Config) -> Any:
    client = _session().create_client(service, config=config)
    if service == "sagemaker-runtime":
        add_output_path_extension(client.meta.service_model)
    return client


def add_output_path_extension(service_model: Any) -> None:
    """Add S3OutputPathExtension to a botocore of before mid-2026, which Lambda's may be."""
    members = service_model.operation_model("InvokeEndpointAsync").input_shape._shape_model["members"]
    header = {"location": "header", "locationName": "X-Amzn-SageMaker-S3OutputPathExtension"}
    members.setdefault("S3OutputPathExtension", {"shape": "Header", **header})


def _now() -> float:
    return round(time.time(), 3)  # the table keeps milliseconds


@dataclass(frozen=True)
class Runtime:
    """client(service, config) makes a botocore client; now() gives seconds of the epoch."""

    client: Callable[[str, Config], Any] = _client
    now: Callable[[], float] = _now
    sleep: Callable[[float], None] = time.sleep
    random: Random = field(default_factory=SystemRandom)

    def new_id(self) -> str:
        """128 random bits as 32 hex characters."""
        return f"{self.random.getrandbits(128):032x}"


_current = Runtime()


def runtime() -> Runtime:
    """The one of this process."""
    return _current


def use(replacement: Runtime) -> None:
    """Replace it, before any handler has run."""
    global _current
    _current = replacement
