"""One operation of a stack set on its targets: order, concurrency, failure tolerance, results."""

import asyncio
import uuid
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from local_cloud.emulator.core import clock
from local_cloud.emulator.stack_sets.preferences import Preferences

Target = tuple[str, str]  # account and region
# Runs the operation in one target; returns the reason of a failure, otherwise "".
Act = Callable[[Target], Awaitable[str]]


@dataclass
class Result:
    """The result in one target; `status` is PENDING, RUNNING, SUCCEEDED, FAILED or CANCELLED."""

    status: str = "PENDING"
    reason: str = ""


@dataclass(eq=False)
class Operation:
    """An operation; `action` is CREATE, UPDATE or DELETE, `status` is QUEUED, RUNNING, SUCCEEDED or FAILED."""

    action: str
    targets: list[Target]
    preferences: Preferences
    retains: bool = False
    status: str = "QUEUED"
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    created: float = field(default_factory=clock.now)
    ended: float | None = None
    results: dict[Target, Result] = field(init=False)

    def __post_init__(self) -> None:
        self.results = {target: Result() for target in self.targets}

    @property
    def failed(self) -> int:
        return sum(each.status == "FAILED" for each in self.results.values())

    async def run(self, act: Act) -> None:
        self.status = "RUNNING"
        regions = self.preferences.ordered(region for _, region in self.targets)
        if self.preferences.is_parallel:
            succeeded = all(await asyncio.gather(*(self._run_in(region, act) for region in regions)))
        else:
            succeeded = True
            for region in regions:
                succeeded = succeeded and await self._run_in(region, act)
        self._cancel(self.results)
        self.status, self.ended = "SUCCEEDED" if succeeded else "FAILED", clock.now()

    async def _run_in(self, region: str, act: Act) -> bool:
        """Run in one region until too many accounts fail; returns whether failures stayed within the tolerance."""
        accounts = [account for account, each in self.targets if each == region]
        waiting, running, failures = deque(accounts), set[asyncio.Task[bool]](), 0
        tolerated = self.preferences.tolerated(len(accounts))
        while running or (waiting and failures <= tolerated):
            while (
                waiting and failures <= tolerated and len(running) < self.preferences.at_once(len(accounts), failures)
            ):
                running.add(asyncio.create_task(self._run_at((waiting.popleft(), region), act)))
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            failures += sum(not each.result() for each in done)
        return failures <= tolerated

    async def _run_at(self, target: Target, act: Act) -> bool:
        result = self.results[target]
        result.status = "RUNNING"
        result.reason = await act(target)
        result.status = "FAILED" if result.reason else "SUCCEEDED"
        return not result.reason

    def _cancel(self, targets: dict[Target, Result]) -> None:
        for result in targets.values():
            if result.status == "PENDING":
                result.status, result.reason = "CANCELLED", "Cancelled since failure tolerance has exceeded"
