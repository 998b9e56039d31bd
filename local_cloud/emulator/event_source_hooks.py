"""The hooks into the emulator's event source mappings: when queues are polled, and how a batch is run."""

import heapq
import threading
import time
from collections.abc import Callable
from typing import Any

from local_cloud.emulator import hooks

_concurrency = hooks.internals("ministack.core.concurrency", "esm_wake")
_lambda = hooks.internals(
    "ministack.services.lambda_svc",
    "_ESM_BACKOFF_SECONDS",
    "_ESM_IDLE_WAKE_GAP_SECONDS",
    "_execute_function",
    "_esm_backoff_until",
    "_run_sqs_batch",
    "_sqs_esm_concurrency",
)

Mapping = dict[str, Any]


def hold_batches_back_while(held: Callable[[Mapping, str, dict[str, Any]], bool]) -> None:
    """Poll no batch while held(mapping, role of the function, queue) is true."""
    limit = _lambda._sqs_esm_concurrency

    def concurrency(mapping: Mapping, function: Any, config: Any, queue: Any = None) -> int:
        return 0 if held(mapping, config["Role"], queue) else int(limit(mapping, function, config, queue))

    _lambda._sqs_esm_concurrency = concurrency


def run_batches_with(run: Callable[[Mapping, list[dict[str, Any]], Callable[[], dict[str, Any]]], None]) -> None:
    """Run each batch through run(mapping, messages, call), where call() runs the function and returns its result."""

    def run_batch(mapping: Mapping, function: Any, event: Any, batch: list[dict[str, Any]], *rest: Any) -> None:
        run(mapping, batch, lambda: _lambda._execute_function(function, event))

    _lambda._run_sqs_batch = run_batch


def back_off(mapping: Mapping, seconds: float) -> None:
    """Poll nothing for a mapping for a while."""
    until = time.time() + seconds
    _lambda._esm_backoff_until[mapping["UUID"]] = until
    poll_at(until)


_moments: list[float] = []
_changed = threading.Condition()


def poll_at(moment: float) -> None:
    """Look into the queues at this moment (seconds of the epoch); the emulator itself looks once a second."""
    if moment <= time.time():
        _concurrency.esm_wake.set()
        return
    with _changed:
        heapq.heappush(_moments, moment)
        _changed.notify()


def _wake_pollers() -> None:
    while True:
        with _changed:
            while not _moments:
                _changed.wait()
            wait = _moments[0] - time.time()
            if wait > 0:
                _changed.wait(wait)
                continue
            heapq.heappop(_moments)
        _concurrency.esm_wake.set()


def poll_promptly() -> None:
    # The stock pause after a look that found nothing would be most of a message's way.
    _lambda._ESM_IDLE_WAKE_GAP_SECONDS = 0.005
    threading.Thread(target=_wake_pollers, name="event sources", daemon=True).start()
