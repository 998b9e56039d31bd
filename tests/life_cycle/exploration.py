"""Breadth-first through every world that can be reached; the first broken promise ends it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from life_cycle.functions import Functions
from life_cycle.settling import check_rest
from life_cycle.world import World

# The numbers of the jobs' worlds, in order: jobs of one owner are all alike.
State = tuple[int, ...]


@dataclass
class Found:
    """What an exploration found: the first promise that is broken, and the shortest history that breaks it.

    refusals: in how many of the worlds a job is refused because its owner's slots are taken.
    """

    worlds: int = 0
    steps: int = 0
    refusals: int = 0
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
        self._functions, self._slots = functions, slots
        self._numbers: dict[World, int] = {}
        self._worlds: list[World] = []
        self._steps: dict[tuple[int, bool], list[tuple[str, int | str]]] = {}
        self._start: State = (self._number(World()),) * jobs
        self._came_from: dict[State, tuple[State, str] | None] = {self._start: None}

    def run(self) -> Found:
        """Everything, or all that is nearer than the first broken promise."""
        started, found, queue = time.process_time(), Found(), [self._start]
        for state in queue:
            slot_is_free = sum(self._worlds[number].taken for number in state) < self._slots
            found.refusals += not slot_is_free and self._start[0] in state
            for name, outcome in self._steps_from(state, slot_is_free):
                found.steps += 1
                if isinstance(outcome, str):
                    found.broken, found.history = outcome, [*self._history(state), name]
                    break
                if outcome not in self._came_from:
                    self._came_from[outcome] = state, name
                    queue.append(outcome)
            if found.broken:
                break
        found.worlds, found.seconds = len(self._came_from), time.process_time() - started
        return found

    def _steps_from(self, state: State, slot_is_free: bool) -> Iterator[tuple[str, State | str]]:
        if len(state) > 1 and sum(self._worlds[number].holds_slot for number in state) > self._slots:
            yield "that is", "I8: more unfinished jobs than their owner may have"
        for at, number in enumerate(state):
            others = state[:at] + state[at + 1 :]
            for name, outcome in self._steps_of(number, slot_is_free):
                yield name, outcome if isinstance(outcome, str) else tuple(sorted((*others, outcome)))

    def _steps_of(self, number: int, slot_is_free: bool) -> list[tuple[str, int | str]]:
        key = number, slot_is_free
        if key not in self._steps:
            world, steps = self._worlds[number], self._steps.setdefault(key, [])
            for name, outcome in self._functions.steps(world, slot_is_free=slot_is_free):
                if outcome != world:
                    steps.append((name, outcome if isinstance(outcome, str) else self._number(outcome)))
            if broken := check_rest(world, self._functions):
                steps.append(("nothing more happens", broken))
        return self._steps[key]

    def _number(self, world: World) -> int:
        if world not in self._numbers:
            self._numbers[world] = len(self._worlds)
            self._worlds.append(world)
        return self._numbers[world]

    def _history(self, state: State) -> list[str]:
        names = []
        while before := self._came_from[state]:
            state, name = before
            names.append(name)
        return names[::-1]
