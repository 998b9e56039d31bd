"""What to do next for a batch, as pure functions of its row and of its lines' jobs."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from inference_api.batches.batch import IN_PROGRESS, Batch

# Lines of a block; its results are written together.
BLOCK_LINES = 100
BLOCK_BYTES = 4_000_000
# No block is begun while so many lines are open. Blocks that wait for their slowest lines hold up no others, up to 50.
OPEN_LINES = 401
_OPEN_BLOCKS = 50

KINDS = ("output", "errors")


class Step(Enum):
    """REST: the batch has ended."""

    REST = "rest"
    VALIDATE = "validate"
    WORK = "work"
    FINALIZE = "finalize"
    JOIN = "join"
    END = "end"


class Line(Enum):
    """A line by its job. REFUSED: its body is invalid, and no job is accepted for it."""

    WAITING = "waiting"
    REFUSED = "refused"
    OPEN = "open"
    SUCCEEDED = "succeeded"
    UNSUCCESSFUL = "unsuccessful"


class BlockPlan(NamedTuple):
    """Indexes of lines to begin, and to cancel. is_over: all lines have a result, which can be written."""

    begin: list[int]
    cancel: list[int]
    is_over: bool


def next_step(batch: Batch) -> Step:
    """The one thing that comes next; each can be repeated."""
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
    """The file that is to be joined next."""
    return next((kind for kind in KINDS if kind not in batch.joined), None)


def open_blocks(batch: Batch) -> list[int]:
    """The first blocks without results: those of which lines may be begun."""
    return batch.unfinished()[:_OPEN_BLOCKS]


def plan_block(lines: Sequence[Line], *, draining: bool) -> BlockPlan:
    """draining: the batch was cancelled, or its window is over; lines that were never begun have a result then."""
    waiting = [index for index, line in enumerate(lines) if line is Line.WAITING]
    running = [index for index, line in enumerate(lines) if line is Line.OPEN]
    if draining:
        return BlockPlan([], running, not running)
    return BlockPlan(waiting, [], not waiting and not running)
