"""Every order of the changes of a batch by two drivers, its owner and the clock: it ends once, with all its results."""

from dataclasses import replace

from inference_api.batches import transitions
from inference_api.batches.batch import ENDED, Batch, Block
from inference_api.batches.plan import KINDS, LineState, Step, kind_to_join, next_step, plan_block

BLOCKS = 2
LATE = 1000.0
NEW = Batch("batch_0", "o", "/v1/completions", "file-0", "k", "v", 0, 500, 60, due_at=0)
DONE = Block(1, 0, [10], [])


def steps_of(batch: Batch, now: float) -> list[Batch]:
    """Return the rows that a step of a driver may write after it has read this one: the next one, or a stale repeat."""
    step = next_step(batch)
    if step is Step.VALIDATE:
        return [*filter(None, (transitions.start(batch, 2, BLOCKS, now), transitions.refuse(batch, [{}], now, 60)))]
    if step is Step.WORK:
        return [*filter(None, (transitions.note_block(batch, number, DONE) for number in batch.unfinished()))]
    if step is Step.FINALIZE:
        return [*filter(None, [transitions.finalize(batch, now)])]
    if step is Step.JOIN:
        kind = kind_to_join(batch)
        assert kind
        return [*filter(None, [transitions.note_joined(batch, kind, batch.file_of(kind))])]
    return [*filter(None, [transitions.end(batch, now, 60)])]


def of_others(batch: Batch) -> list[Batch]:
    """Return the rows that the owner, the end of the window and drivers with an older row may write in between."""
    late = transitions.begin_step(replace(batch, due_at=0), LATE)
    stale = [
        transitions.cancel(batch, 1),
        late,
        transitions.start(batch, 2, BLOCKS, 1),
        transitions.refuse(batch, [{}], 1, 60),
        transitions.finalize(batch, 1),
        *(transitions.note_block(batch, number, DONE) for number in range(BLOCKS) if batch.blocks),
    ]
    return [*filter(None, stale)]


def key(batch: Batch) -> object:
    """Return the state of a batch without times and leases."""
    return batch.status, batch.ending, batch.blocks, tuple(batch.done), tuple(batch.joined), bool(batch.problems)


def test_every_order_of_changes_leads_to_one_end_with_all_results() -> None:
    states, waiting = {key(NEW): NEW}, [NEW]
    ends = set()
    while waiting:
        batch = waiting.pop()
        following = [] if batch.has_ended else [*steps_of(batch, 1), *of_others(batch)]
        assert batch.has_ended or steps_of(batch, 1), f"nobody can go on: {batch}"
        assert not batch.has_ended or of_others(batch) == [], "an end is an end"
        if batch.has_ended and batch.blocks and batch.status != "failed":
            assert not batch.unfinished()
            assert set(batch.joined) == set(KINDS)
        if batch.has_ended:
            ends.add(batch.status)
        for each in following:
            if key(each) not in states:
                states[key(each)] = each
                waiting.append(each)
    assert ends == set(ENDED)
    assert len(states) > 40


def test_a_caller_who_asks_in_the_middle_of_a_step_is_heard_before_the_next_pause() -> None:
    leased = transitions.begin_step(NEW, 10.0)
    assert leased
    cancelled = transitions.cancel(leased, 11.0)
    assert cancelled
    assert transitions.end_step(cancelled, 12.0, leased.due_at, moved=True) is None
    assert transitions.begin_step(cancelled, 12.0)
    assert transitions.begin_step(leased, 12.0) is None, "another driver waits for the lease"


def test_a_step_that_knows_less_than_another_takes_no_line_back_from_the_counts() -> None:
    batch = replace(NEW, status="in_progress", blocks=2)
    for seen in ({"0": (7, 1), "1": (2, 0)}, {"0": (5, 2)}, {}):
        batch = transitions.note_seen(batch, seen) or batch
    assert batch.seen == {"0": (7, 2), "1": (2, 0)}
    assert transitions.note_seen(batch, {"0": (7, 2)}) is None, "nothing new to write"


def test_lines_of_a_block_wait_for_the_slowest_and_are_cancelled_when_the_batch_ends_early() -> None:
    lines = [LineState.SUCCEEDED, LineState.WAITING, LineState.OPEN, LineState.REFUSED]
    assert plan_block(lines, draining=False) == ([1], [], False)
    assert plan_block(lines, draining=True) == ([], [2], False)
    assert plan_block([LineState.SUCCEEDED, LineState.WAITING], draining=True).is_over
    assert plan_block([LineState.SUCCEEDED, LineState.REFUSED, LineState.UNSUCCESSFUL], draining=False).is_over
