"""The registry of invariants, and their common look-ups."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from simulation.callers.history import Row
from simulation.runtime.model import prompt_of
from simulation.world.world import START, World

Story = tuple[str, str]
Check = Callable[[World], Iterator[Story]]
INVARIANTS: dict[str, Check] = {}


class Breach(NamedTuple):
    """One violation of an invariant. job: empty if it concerns no single job."""

    invariant: str
    job: str
    story: str


def invariant(check: Check) -> Check:
    """Register a function that yields job and story of each breach; its name is the invariant's."""
    INVARIANTS[check.__name__] = check
    return check


def row_at(world: World, job: str, at: float) -> Row | None:
    """Return a job's row at a time."""
    rows = [row for row in world.history.rows.get(job, []) if row.at <= at]
    return rows[-1] if rows else None


def prompt_of_job(world: World, job: str) -> str:
    """Return the prompt in the job's input."""
    versions = world.deployment.bucket.objects.get(f"input/{job}", [])
    return prompt_of(versions[0].body) if versions else ""


def when(at: float) -> str:
    """Return the seconds since the trial began, as a text."""
    return f"t={at - START:.3f}"
