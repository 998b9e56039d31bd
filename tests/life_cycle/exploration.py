"""Breadth-first through every world that can be reached; the first broken promise ends it."""

import time
from dataclasses import dataclass, field

from life_cycle.functions import Functions, Step
from life_cycle.settling import check_rest
from life_cycle.world import World

Worlds = tuple[World, ...]


@dataclass
class Found:
    """What an exploration found: the first promise that is broken, and the shortest history that breaks it."""

    worlds: int = 0
    steps: int = 0
    seconds: float = 0
    broken: str | None = None
    history: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counted = f"{self.worlds:,} worlds, {self.steps:,} steps, {self.seconds:.1f} s"
        story = "".join(f"\n    {number}. {step}" for number, step in enumerate(self.history, 1))
        return f"{self.broken or 'every promise holds'}: {counted}{story}"


class Exploration:
    """Of one job, or of several of one owner who may have `slots` open at once."""

    def __init__(self, functions: Functions, *, jobs: int = 1, slots: int = 1) -> None:
        self._functions, self._start, self._slots = functions, (World(),) * jobs, slots
        self._steps: dict[tuple[World, bool], list[Step]] = {}

    def run(self) -> Found:
        started, found = time.process_time(), Found()
        came_from: dict[Worlds, tuple[Worlds, str] | None] = {self._start: None}
        self.came_from = came_from
        queue = [self._start]
        for worlds in queue:
            for name, outcome in self._steps_from(worlds):
                found.steps += 1
                if isinstance(outcome, str):
                    found.broken, found.history = outcome, [*_history(came_from, worlds), name]
                    break
                if outcome not in came_from:
                    came_from[outcome] = (worlds, name)
                    queue.append(outcome)
            if found.broken:
                break
        found.worlds, found.seconds = len(came_from), time.process_time() - started
        return found

    def _steps_from(self, worlds: Worlds):
        slot_is_free = sum(bool(world.row and world.row.holds_slot) for world in worlds) < self._slots
        for index, world in enumerate(worlds):
            for name, outcome in self._steps_of(world, slot_is_free):
                if isinstance(outcome, World):
                    yield name, (*worlds[:index], outcome, *worlds[index + 1 :])
                else:
                    yield name, outcome

    def _steps_of(self, world: World, slot_is_free: bool) -> list[Step]:
        key = world, slot_is_free
        if key not in self._steps:
            steps = [step for step in self._functions.steps(world, slot_is_free=slot_is_free) if step[1] != world]
            if broken := check_rest(world, self._functions):
                steps.append(("nothing more happens", broken))
            self._steps[key] = steps
        return self._steps[key]


def _history(came_from, worlds: Worlds) -> list[str]:
    names = []
    while before := came_from[worlds]:
        worlds, name = before
        names.append(name)
    return names[::-1]
