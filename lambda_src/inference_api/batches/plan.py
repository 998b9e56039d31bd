"""Decides what to do next for a batch, as pure functions of its row and of its lines' jobs."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from inference_api.batches.batch import IN_PROGRESS, Batch

# The size of a block. Its results are written together.
BLOCK_LINES = 100
BLOCK_BYTES = 4_000_000
# No block begins while so many lines are open. Up to 50 blocks may be open, so that one that waits for its slowest
# lines does not hold up the next.
OPEN_LINES = 401
_OPEN_BLOCKS = 50

KINDS = ("output", "errors")


class Step(Enum):
    """The next step of a batch. REST: it has ended."""

    REST = "rest"
    VALIDATE = "validate"
    WORK = "work"
    FINALIZE = "finalize"
    JOIN = "join"
    END = "end"


class LineState(Enum):
    """The state of a line. REFUSED: its body is invalid, and no job is accepted for it."""

    WAITING = "waiting"
    REFUSED = "refused"
    OPEN = "open"
    SUCCEEDED = "succeeded"
    UNSUCCESSFUL = "unsuccessful"


class BlockPlan(NamedTuple):
    """What to do for a block.

    begin, cancel: indexes of lines. is_over: whether all lines have a result, so that the results can be written.
    """

    begin: list[int]
    cancel: list[int]
    is_over: bool


def next_step(batch: Batch) -> Step:
    """Return the next step. Every step can be repeated."""
    if batch.has_ended:
        return Step.REST
    if not batch.blocks:  # not checked yet
        return Step.END if batch.ending else Step.VALIDATE
    if batch.unfinished():
        return Step.WORK
    if batch.status == IN_PROGRESS:
        return Step.FINALIZE
    return Step.JOIN if kind_to_join(batch) else Step.END


def kind_to_join(batch: Batch) -> str | None:
    """Return the kind of file that is joined next; None if all are."""
    return next((kind for kind in KINDS if kind not in batch.joined), None)


def open_blocks(batch: Batch) -> list[int]:
    """Return the first blocks without results. Only their lines may begin."""
    return batch.unfinished()[:_OPEN_BLOCKS]


def plan_block(lines: Sequence[LineState], *, draining: bool) -> BlockPlan:
    """Return what to do for a block.

    draining: whether the batch was cancelled, or its window is over. Then lines that have not begun need no job.
    """
    waiting = [index for index, line in enumerate(lines) if line is LineState.WAITING]
    running = [index for index, line in enumerate(lines) if line is LineState.OPEN]
    if draining:
        return BlockPlan([], running, not running)
    return BlockPlan(waiting, [], not waiting and not running)
