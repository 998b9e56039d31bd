"""Breadth-first through every world that can be reached with so many faults; the first broken promise ends it."""

import time
from collections import deque
from dataclasses import dataclass, field
from itertools import product

from life_cycle.functions import Fault, Functions
from life_cycle.settling import check_rest
from life_cycle.world import Process, World

Worlds = tuple[World, ...]


@dataclass
class Budget:
    """How many faults of each kind there may be."""

    faults: dict[Fault, int]

    def __post_init__(self) -> None:
        kinds = list(Fault)
        self.levels = list(product(*(range(self.faults.get(kind, 0) + 1) for kind in kinds)))
        number = {level: index for index, level in enumerate(self.levels)}
        self.full = len(self.levels) - 1
        # Whoever may still see more faults of each kind sees all that the other sees.
        self.covered_by = [
            sum(1 << other for other, more in enumerate(self.levels) if all(map(int.__le__, level, more)))
            for level in self.levels
        ]
        self.after: dict[Fault | None, list[int | None]] = {None: list(range(len(self.levels)))}
        for place, kind in enumerate(kinds):
            self.after[kind] = [
                number.get((*level[:place], level[place] - 1, *level[place + 1 :])) for level in self.levels
            ]


@dataclass
class Found:
    """What an exploration found: the first promise that is broken, and the shortest history that breaks it."""

    worlds: int = 0
    states: int = 0
    steps: int = 0
    seconds: float = 0
    broken: str | None = None
    history: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counted = f"{self.worlds:,} worlds, {self.states:,} states, {self.steps:,} steps, {self.seconds:.1f} s"
        story = "".join(f"\n    {number}. {step}" for number, step in enumerate(self.history, 1))
        return f"{self.broken or 'every promise holds'}: {counted}{story}"


class Exploration:
    """Of one job, or of several of one owner who may have `slots` open at once."""

    def __init__(self, functions: Functions, faults: dict[Fault, int], *, jobs: int = 1, slots: int = 1) -> None:
        self.functions, self.budget, self.slots = functions, Budget(faults), slots
        self.start: Worlds = (World(processes=(Process("accept"),)),) * jobs
        self._numbers: dict[Worlds, int] = {}
        self._all: list[Worlds] = []
        self._steps: list[list[tuple[str, Fault | None, int | str]] | None] = []
        self._of_one: dict[tuple[World, bool], list[tuple[str, Fault | None, World | str]]] = {}

    def run(self) -> Found:
        started, found, budget = time.process_time(), Found(), self.budget
        first = (self._number(self.start), budget.full)
        came_from: dict[tuple[int, int], tuple[tuple[int, int], str] | None] = {first: None}
        levels = {first[0]: 1 << first[1]}
        queue = deque([first])
        while queue and not found.broken:
            state = queue.popleft()
            worlds, level = state
            for name, fault, outcome in self._steps_from(worlds):
                left = budget.after[fault][level]
                if left is None:
                    continue
                found.steps += 1
                if isinstance(outcome, str):
                    found.broken, found.history = outcome, [*self._history(came_from, state), name]
                    break
                seen = levels.get(outcome, 0)
                if not seen & budget.covered_by[left]:
                    levels[outcome] = seen | 1 << left
                    came_from[outcome, left] = (state, name)
                    queue.append((outcome, left))
        found.worlds, found.states, found.seconds = len(levels), len(came_from), time.process_time() - started
        self.levels = levels
        return found

    def _history(self, came_from, state) -> list[str]:
        names = []
        while before := came_from[state]:
            state, name = before
            names.append(name)
        return names[::-1]

    def _number(self, worlds: Worlds) -> int:
        number = self._numbers.setdefault(worlds, len(self._all))
        if number == len(self._all):
            self._all.append(worlds)
            self._steps.append(None)
        return number

    def _steps_from(self, number: int) -> list[tuple[str, Fault | None, int | str]]:
        known = self._steps[number]
        if known is None:
            known = self._steps[number] = self._compute(self._all[number])
        return known

    def _compute(self, worlds: Worlds) -> list[tuple[str, Fault | None, int | str]]:
        slot_is_free = sum(bool(world.row and world.row.holds_slot) for world in worlds) < self.slots
        steps: list[tuple[str, Fault | None, int | str]] = []
        for index, world in enumerate(worlds):
            for name, fault, outcome in self._steps_of(world, slot_is_free):
                if len(worlds) > 1:
                    name = f"{'AB'[index]}: {name}"
                if isinstance(outcome, str):
                    steps.append((name, fault, outcome))
                elif outcome != world:
                    steps.append((name, fault, self._number((*worlds[:index], outcome, *worlds[index + 1 :]))))
        return steps

    def _steps_of(self, world: World, slot_is_free: bool) -> list[tuple[str, Fault | None, World | str]]:
        key = world, slot_is_free
        if key not in self._of_one:
            steps = list(self.functions.steps(world, slot_is_free=slot_is_free))
            if broken := check_rest(world, self.functions):
                steps.append(("nothing more happens", None, broken))
            self._of_one[key] = steps
        return self._of_one[key]
