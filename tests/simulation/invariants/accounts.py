"""I12: what keys are charged is what was counted and what is still open, to the token."""

from collections import Counter
from collections.abc import Iterator

from inference_api.keys.usage_row import LONGEST_CALL_IN_SECONDS
from simulation.callers.history import account_of
from simulation.invariants.invariant import Story, invariant
from simulation.world.world import World


@invariant
def i12_charged_is_counted_and_open(world: World) -> Iterator[Story]:
    """An account's charge is right after each of its changes."""
    for story in world.history.account_mismatches[:5]:
        yield "", story


@invariant
def i12_an_account_counts_each_job_once(world: World) -> Iterator[Story]:
    """An account counts each job once. This is checked for owners who make only jobs."""
    jobs, failed = Counter[str](), Counter[str]()
    for job in world.history.rows:
        row = world.history.final_row(job)
        if row.number("tokens_in"):
            jobs[account_of(row)] += 1
            failed[account_of(row)] += row.state in ("FAILED", "EXPIRED")
    for account, count in jobs.items():
        if account in world.history.accounts_of_calls:
            continue
        counted = world.history.accounts[account]
        if (counted["requests"], counted["errors"]) != (count, failed[account]):
            yield "", f"{account} counts {counted} of {count} jobs, {failed[account]} of them failed"


@invariant
def i12_every_charge_ends(world: World) -> Iterator[Story]:
    """A function that dies leaves the charge of its call to a later call of the same owner."""
    now = world.scheduler.now
    for account, item in world.deployment.usage.items.items():
        for name, value in item.items():
            if name.startswith("open:") and int(value["S"].split()[0]) + LONGEST_CALL_IN_SECONDS < world.last_calls_at:
                yield "", f"{account} has an open charge of {now - int(value['S'].split()[0]):.0f} s ago"
