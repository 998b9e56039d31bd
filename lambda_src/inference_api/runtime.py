"""What surrounds a function: AWS clients, the clock, chance. A simulation puts its own in their place."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import botocore.session
from botocore.config import Config

# Several attempts of at most 1 + 2 s; what is not idempotent is written under a condition.
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
    """Teach a botocore of before mid-2026, as Lambda's may be, where an asynchronous output can be told to go."""
    members = service_model.operation_model("InvokeEndpointAsync").input_shape._shape_model["members"]
    header = {"location": "header", "locationName": "X-Amzn-SageMaker-S3OutputPathExtension"}
    members.setdefault("S3OutputPathExtension", {"shape": "Header", **header})


def _now() -> float:
    return round(time.time(), 3)  # as precise as the table keeps it


@dataclass(frozen=True)
class Runtime:
    """client(service, config) makes a botocore client; now() gives seconds of the epoch."""

    client: Callable[[str, Config], Any] = _client
    now: Callable[[], float] = _now
    sleep: Callable[[float], None] = time.sleep
    chance: random.Random = field(default_factory=random.SystemRandom)

    def new_id(self) -> str:
        """128 bits as 32 hex characters: nobody guesses it."""
        return f"{self.chance.getrandbits(128):032x}"


_current = Runtime()


def runtime() -> Runtime:
    """The surroundings of this process."""
    return _current


def use(surroundings: Runtime) -> None:
    """Replace the surroundings, before any handler has run."""
    global _current
    _current = surroundings
