"""How an invariant is declared, and what most of them look up."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from simulation.history import Row
from simulation.model import prompt_of
from simulation.world import START, World

Story = tuple[str, str]
Check = Callable[[World], Iterator[Story]]
INVARIANTS: dict[str, Check] = {}


class Breach(NamedTuple):
    """One case in which an invariant did not hold; `job` is empty where no single job is meant."""

    invariant: str
    job: str
    story: str


def invariant(check: Check) -> Check:
    """Register a function that yields job and story of every breach; its name is the invariant's."""
    INVARIANTS[check.__name__] = check
    return check


def row_at(world: World, job: str, at: float) -> Row | None:
    """A job's row as it was."""
    rows = [row for row in world.history.rows.get(job, []) if row.at <= at]
    return rows[-1] if rows else None


def prompt_of_job(world: World, job: str) -> str:
    """What its caller asked the model."""
    versions = world.deployment.bucket.objects.get(f"input/{job}", [])
    return prompt_of(versions[0].body) if versions else ""


def when(at: float) -> str:
    """Seconds since the trial began."""
    return f"t={at - START:.3f}"
