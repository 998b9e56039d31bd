"""Injectable clients, clock and random source, and the time limit for an answer."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from math import inf
from random import Random, SystemRandom
from typing import Any

import botocore.session
from botocore.config import Config

from inference_api.shared.errors import BusyError

# Several attempts of at most 1 + 2 s; writes that are not idempotent have a condition.
STANDARD_RETRIES = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 4})
# A repeated invocation is paid twice.
ONE_ATTEMPT = Config(connect_timeout=1, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 1})
# For a caller who is held. A failure does no harm: the next read follows at once, and the place expires by itself.
ONE_QUICK_ATTEMPT = Config(connect_timeout=1, read_timeout=1, retries={"mode": "standard", "total_max_attempts": 1})

_TO_ANSWER_IN_SECONDS = 0.5
# A call of the model may take nearly all of the time. Its own timeout ends it, so it has no limit here.
_LONGEST_LIMITED_TRY_IN_SECONDS = 10


class OutOfTimeError(BusyError):
    """One more try of a call to AWS could end after the caller must be answered."""


def time_for_a_try(config: Config) -> float:
    """Return the seconds that must be left for a try, the pause after it and the answer; 0 = no limit.

    botocore pauses for at most 2^n seconds after the nth failure, n from 0, unless the service asks for more.
    """
    one_try = config.connect_timeout + config.read_timeout
    if one_try > _LONGEST_LIMITED_TRY_IN_SECONDS:
        return 0
    attempts = config.retries["total_max_attempts"]
    return float(one_try + _TO_ANSWER_IN_SECONDS + (2 ** (attempts - 2) if attempts > 1 else 0))


@cache
def _session() -> Any:
    return botocore.session.get_session()


def _client(service: str, config: Config) -> Any:
    client = _session().create_client(service, config=config)
    if service == "sagemaker-runtime":
        add_output_path_extension(client.meta.service_model)
    needed = time_for_a_try(config)

    def check_time(**_: Any) -> None:
        if needed and _now() + needed > _answer_by:
            raise OutOfTimeError

    client.meta.events.register("before-send", check_time)
    return client


def add_output_path_extension(service_model: Any) -> None:
    """Add S3OutputPathExtension to a botocore from before mid-2026, which Lambda may still provide."""
    members = service_model.operation_model("InvokeEndpointAsync").input_shape._shape_model["members"]
    header = {"location": "header", "locationName": "X-Amzn-SageMaker-S3OutputPathExtension"}
    members.setdefault("S3OutputPathExtension", {"shape": "Header", **header})


def _now() -> float:
    return round(time.time(), 3)  # the table keeps milliseconds


_answer_by = inf  # the limit of the one request that this process handles


def _answer_before(moment: float) -> None:
    global _answer_by
    _answer_by = moment


def _in_threads(work: Callable[[Any], None], items: Iterator[Any], most: int) -> None:
    with ThreadPoolExecutor(most) as threads:
        running: set[Future[None]] = set()
        for item in items:
            running.add(threads.submit(work, item))
            if len(running) == most:
                _, running = wait(running, return_when=FIRST_COMPLETED)


@dataclass(frozen=True)
class Runtime:
    """Everything that the functions need from outside; tests replace it.

    client(service, config): makes a botocore client. now(): seconds since the epoch.
    answer_before(moment): from then on the clients begin only tries that end before this moment.
    side_by_side(work, items, most): calls `work` with each item, in at most `most` threads. `work` must raise nothing.
    Only the calling thread advances the iterator.
    """

    client: Callable[[str, Config], Any] = _client
    now: Callable[[], float] = _now
    sleep: Callable[[float], None] = time.sleep
    random: Random = field(default_factory=SystemRandom)
    answer_before: Callable[[float], None] = _answer_before
    side_by_side: Callable[[Callable[[Any], None], Iterator[Any], int], None] = _in_threads

    def new_id(self) -> str:
        """128 random bits as 32 hex characters."""
        return f"{self.random.getrandbits(128):032x}"


_current = Runtime()


def runtime() -> Runtime:
    """Return the runtime of this process."""
    return _current


def use(replacement: Runtime) -> None:
    """Replace the runtime of this process, before any handler has run."""
    global _current
    _current = replacement
