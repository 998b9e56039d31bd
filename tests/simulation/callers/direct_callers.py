"""Callers of a real-time endpoint who are answered at once, whole or as a stream."""

import json
from dataclasses import dataclass
from functools import partial
from random import Random

from simulation.runtime.gateway import Gateway
from simulation.runtime.model import CANARY
from simulation.runtime.scheduler import Scheduler

OWNERS = 3


@dataclass
class DirectCallers:
    """The callers. They do not repeat calls."""

    scheduler: Scheduler
    random: Random
    gateway: Gateway
    unfinished: int = 0

    def begin(self, calls: int, within_seconds: float) -> None:
        for number in range(calls):
            self._begin(number % OWNERS, self.random.uniform(0, within_seconds))

    def call_once_more(self) -> None:
        """Let each owner call once more."""
        for owner in range(OWNERS):
            self._begin(owner, 0)

    def _begin(self, owner: int, delay: float) -> None:
        self.unfinished += 1
        stream = self.random.random() < 0.5
        self.scheduler.spawn(partial(self._call, f"AROADIRECT{owner}", stream), delay)

    def _call(self, principal: str, stream: bool) -> None:
        body = {"inputs": f"{CANARY} call", "parameters": {"max_new_tokens": 200}, "stream": stream}
        self.gateway.call("POST", "/generate", principal, body=json.dumps(body).encode())
        self.unfinished -= 1
