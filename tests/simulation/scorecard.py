"""The closing table of many trials: jobs, faults by kind, and counts of broken invariants, which must be zero."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from simulation.callers.trial import Trial
from simulation.invariants.check import breaches
from simulation.invariants.invariant import Breach
from simulation.world.world import World

# The invariants behind each count; breaches of the others are counted together.
COUNTS = {
    "lost": ("i1_an_accepted_job_exists",),
    "changed after the end": ("i2_an_end_is_final", "i2_callers_see_no_change_after_the_end"),
    "deleted early": ("i5_nothing_is_deleted_before_its_time",),
    "stuck": ("i1_every_job_ends_in_time",),
}
OTHER = "other breaches"
_SHOWN_BREACHES = 20


@dataclass
class Scorecard:
    """The counts of one trial or of several."""

    jobs: int = 0
    calls: int = 0
    lines: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    breaches: list[tuple[Trial, Breach]] = field(default_factory=list)

    @classmethod
    def of(cls, trial: Trial) -> "Scorecard":
        """Run one trial."""
        world = World(trial)
        world.run()
        faults = world.faults.injected + Counter({"function timed out": world.deployment.functions.timeouts})
        ends = Counter(world.history.final_row(job).state for job in world.history.rows)
        found = [(trial, breach) for breach in breaches(world)]
        lines = sum(len(batch.output) + len(batch.errors) for batch in world.batch_callers.followed)
        return cls(len(world.history.rows), len(world.history.exchanges), lines, ends, faults, found)

    @classmethod
    def total(cls, cards: Iterable["Scorecard"]) -> "Scorecard":
        total = cls()
        for card in cards:
            total.jobs += card.jobs
            total.calls += card.calls
            total.lines += card.lines
            total.ends += card.ends
            total.faults += card.faults
            total.breaches += card.breaches
        return total

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of breaches by kind."""
        broken = Counter(dict.fromkeys((*COUNTS, OTHER), 0))
        for _, breach in self.breaches:
            name = next((name for name, invariants in COUNTS.items() if breach.invariant in invariants), OTHER)
            broken[name] += 1
        return dict(broken)

    @property
    def is_clean(self) -> bool:
        return not self.breaches and self.jobs > 0

    def __str__(self) -> str:
        lines = [_line("jobs", self.jobs), _line("requests of callers", self.calls)]
        lines += [_line("lines of batches with a result", self.lines)]
        lines += [_line(f"  {state.lower()}", count) for state, count in sorted(self.ends.items())]
        lines += [_line("faults injected", self.faults.total())]
        lines += [_line(f"  {name}", count) for name, count in sorted(self.faults.items())]
        lines += [_line(name, count) for name, count in self.counts.items()]
        for trial, (invariant, job, story) in self.breaches[:_SHOWN_BREACHES]:
            where = f"--mode {trial.mode} --first-seed {trial.seed} --seeds 1 --jobs {trial.jobs}"
            where += f" --story {job}" if job else ""
            lines += [
                f"{invariant}: {story}",
                f"    PYTHONPATH=tests python -m simulation {where}",
            ]
        if len(self.breaches) > _SHOWN_BREACHES:
            lines.append(f"and {len(self.breaches) - _SHOWN_BREACHES} more")
        return "\n".join(lines)

    def as_json(self) -> str:
        """Return the counts as JSON, to compare runs."""
        card = {
            "jobs": self.jobs,
            "requests": self.calls,
            "lines": self.lines,
            "ends": self.ends,
            "faults": self.faults,
        }
        card |= self.counts
        return json.dumps(card, indent=2, sort_keys=True)


def _line(name: str, count: int) -> str:
    return f"{name:<48}{count:>12,}"
