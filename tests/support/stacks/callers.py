"""A caller that calls an API all the time."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from local_cloud.api_client import ApiClient

BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}


@contextmanager
def calling(client: ApiClient, path: str = "/generate", body: Any = BODY) -> Iterator[Counter[int]]:
    """Call the API in a loop until the block ends, and count the statuses."""
    statuses: Counter[int] = Counter()
    ended = threading.Event()

    def call() -> None:
        while not ended.is_set():
            statuses[client.call("POST", path, body)[0]] += 1
            ended.wait(0.06)  # below the throttle

    caller = threading.Thread(target=call)
    caller.start()
    try:
        yield statuses
    finally:
        ended.set()
        caller.join()
