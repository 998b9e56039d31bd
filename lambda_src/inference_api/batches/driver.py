"""The driver of batches: one step after the other, each repeatable, until a batch has ended."""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from inference_api.batches import transitions
from inference_api.batches.batch import Batch, Block
from inference_api.batches.input_lines import InputLine, check_input, read_block
from inference_api.batches.join import join
from inference_api.batches.lines import Lines, OutputLine
from inference_api.batches.plan import (
    KINDS,
    OPEN_LINES,
    LineState,
    Step,
    kind_to_join,
    next_step,
    open_blocks,
    plan_block,
)
from inference_api.batches.storage import PART_BYTES, Storage
from inference_api.batches.table import BatchTable
from inference_api.http.answer import Answer
from inference_api.jobs.service import JobService
from inference_api.jobs.state.job import SUCCEEDED, Job
from inference_api.keys.named_key import AuthorizedKey
from inference_api.openai.exchange import told_to_caller
from inference_api.shared.errors import ApiError
from inference_api.shared.log import log, place_of
from inference_api.shared.metrics import emit
from inference_api.shared.runtime import Runtime
from inference_api.shared.tracing import continued

_AT_ONCE = 8  # calls to AWS; a client has ten connections
_PAUSE_IN_SECONDS = 2
_DAY_IN_SECONDS = 86_400
# How long a request may wait in the queue of an asynchronous endpoint (RequestTTLSeconds). A line that is lost there
# holds up its batch no longer than that.
_LONGEST_LINE_IN_SECONDS = 21_600
# A batch that ends so late counts as stuck: past its window a batch ends within minutes.
_LATE_IN_SECONDS = 1800


class AdvanceFailedError(Exception):
    """Makes the invocation fail, which an alarm counts."""


class DriverSettings(NamedTuple):
    """Settings of the driver.

    models: names of the deployment's model. adapters: names of its LoRA adapters. any_model: whether every other name
    is accepted, too. retention: how long an ended batch is kept, in seconds.
    """

    models: tuple[str, ...]
    any_model: bool
    most_body_bytes: int
    retention: int
    deployment: str
    adapters: tuple[str, ...] = ()


class Driver:
    """Advances batches. Two drivers of one batch do no harm: they submit the same jobs and write the same results."""

    def __init__(
        self,
        table: BatchTable,
        storage: Storage,
        jobs: JobService,
        lines: Lines,
        settings: DriverSettings,
        runtime: Runtime,
    ) -> None:
        self._table, self._storage, self._jobs, self._lines = table, storage, jobs, lines
        self._settings, self._runtime = settings, runtime

    def advance_all(self, named: Iterable[str], may_go_on: Callable[[], bool]) -> int:
        """Take steps of the named and all due batches, as long as one of them moves. Return the number of steps.

        Raises AdvanceFailedError if there were batches and no step succeeded.
        """
        steps, failed = 0, 0
        watched = list(named)
        while may_go_on():
            wanted = list(dict.fromkeys([*watched, *self._table.due()]))
            watched = []
            for batch_id in wanted:
                if not may_go_on():
                    break
                steps += 1
                try:
                    if self._moves(batch_id, may_go_on):
                        watched.append(batch_id)
                except Exception as error:  # the others must not wait for it
                    failed += 1
                    log({"batch": batch_id, "cause": place_of(error)})
                    emit(self._settings.deployment, self._runtime.now(), {"BatchesStuck": 1})
            if not watched:
                break
            self._runtime.sleep(_PAUSE_IN_SECONDS)
        if failed and failed == steps:
            raise AdvanceFailedError
        return steps

    def _moves(self, batch_id: str, may_go_on: Callable[[], bool]) -> bool:
        """Take the steps that can be taken now. Return whether the batch is likely to move again within seconds."""
        batch = self._table.batch(batch_id)
        if batch is None:
            return False
        batch, mine = self._table.change(batch, lambda row: transitions.begin_step(row, self._runtime.now()))
        if not mine:
            return False
        leased_until, moved = batch.due_at, False
        while may_go_on():
            before = batch
            with continued(batch.trace):
                batch = self._step(batch, may_go_on)
            if batch.has_ended:
                return False
            if (batch.status, batch.ending, batch.done, batch.joined) == (
                before.status,
                before.ending,
                before.done,
                before.joined,
            ):
                moved = moved or batch.seen != before.seen
                break
            moved = True
        now = self._runtime.now()
        if now > batch.expires_at + _LATE_IN_SECONDS:
            emit(self._settings.deployment, now, {"BatchesStuck": 1})
        batch, _ = self._table.change(batch, lambda row: transitions.end_step(row, now, leased_until, moved))
        return batch.due_at is not None and batch.due_at - now <= transitions.SOON_IN_SECONDS

    def _step(self, batch: Batch, may_go_on: Callable[[], bool]) -> Batch:
        now, retention = self._runtime.now, self._settings.retention
        step = next_step(batch)
        if step is Step.VALIDATE:
            return self._validate(batch)
        if step is Step.WORK:
            return self._work(batch, may_go_on)
        if step is Step.FINALIZE:
            return self._table.change(batch, lambda row: transitions.finalize(row, now()))[0]
        if step is Step.JOIN:
            kind = kind_to_join(batch)
            assert kind
            return join(batch, kind, self._storage, self._table, self._runtime, may_go_on)
        if step is Step.END:
            return self._table.change(batch, lambda row: transitions.end(row, now(), retention))[0]
        return batch

    def _models(self, key: AuthorizedKey | None) -> Collection[str] | None:
        """Return the names of models that lines may use; None = any name."""
        names, adapters = self._settings.models, self._settings.adapters
        if key and key.models is not None:
            return [name for name in (*names, *adapters) if key.may_ask_for(name, names)]
        return None if self._settings.any_model else (*names, *adapters)

    def _validate(self, batch: Batch) -> Batch:
        chunks = self._storage.stream_input(batch)
        checked = check_input(chunks, batch.endpoint, self._models(batch.named_key), self._settings.most_body_bytes)
        now, retention = self._runtime.now, self._settings.retention
        if checked.problems:
            return self._table.change(batch, lambda row: transitions.refuse(row, checked.problems, now(), retention))[0]
        self._storage.put_index(batch, checked.blocks)
        lines, blocks = checked.lines, len(checked.blocks)
        return self._table.change(batch, lambda row: transitions.start(row, lines, blocks, now()))[0]

    def _work(self, batch: Batch, may_go_on: Callable[[], bool]) -> Batch:
        index = self._storage.read_index(batch)
        may_begin = not batch.ending and self._model_takes_jobs()
        seen: dict[str, tuple[int, int]] = {}
        open_lines = 0
        for number in open_blocks(batch):
            if not may_go_on():
                break
            # A batch that was cancelled meanwhile begins no more lines.
            found = self._table.batch(batch.id)
            if found is None or found.status != batch.status or found.ending != batch.ending:
                return found or batch
            batch = found
            first, offset, length = index[number]
            lines = read_block(self._storage.read_input(batch, offset, length), first)
            block = _OpenBlock(number, lines, self._jobs.table.get_all([batch.job_of(each.number) for each in lines]))
            may_begin = self._tend(batch, block, may_begin and open_lines < OPEN_LINES, may_go_on)
            states = self._states(batch, block)
            if set(states) == {LineState.WAITING} and not batch.ending:
                break  # the blocks after it have not begun either
            open_lines += states.count(LineState.OPEN)
            if plan_block(states, draining=bool(batch.ending)).is_over:
                batch = self._write(batch, block)
            else:
                seen[str(number)] = states.count(LineState.SUCCEEDED), states.count(LineState.UNSUCCESSFUL)
        return self._table.change(batch, lambda row: transitions.note_seen(row, seen))[0]

    def _model_takes_jobs(self) -> bool:
        try:
            self._jobs.demand()
        except ApiError as error:
            log({"cause": f"{error.code}: batches wait"})
            return False
        return True

    def _tend(self, batch: Batch, block: "_OpenBlock", may_begin: bool, may_go_on: Callable[[], bool]) -> bool:
        """Begin and cancel lines of a block. Return whether more lines may begin in this step."""
        todo = plan_block(self._states(batch, block), draining=bool(batch.ending))
        stopped = not may_begin

        @continued(batch.trace)
        def begin(line: InputLine) -> None:
            nonlocal stopped
            try:
                exchange = self._lines.exchange_of(batch, line)
                with told_to_caller(exchange):
                    self._jobs.submission.submit_line(
                        batch.job_of(line.number),
                        batch.owner,
                        batch.named_key,
                        exchange.call,
                        run_until=min(batch.expires_at, int(self._runtime.now()) + _LONGEST_LINE_IN_SECONDS),
                        keep_until=batch.expires_at + _DAY_IN_SECONDS,
                    )
                block.begun.add(line.number)
            except ApiError as error:
                if error.status >= 500 or error.status == 429:
                    stopped = True  # a limit of the owner; the next step tries again
                else:
                    block.refusals[line.number] = error
            except Exception as error:  # a failure of AWS; the next step tries again
                stopped = True
                log({"batch": batch.id, "cause": f"{place_of(error)} at line {line.number}"})

        @continued(batch.trace)
        def cancel(line: InputLine) -> None:
            try:
                job, _ = self._jobs.completion.cancel(block.jobs[batch.job_of(line.number)])
                block.jobs[job.id] = job
            except Exception as error:
                log({"batch": batch.id, "cause": f"{place_of(error)} at line {line.number}"})

        if may_begin:
            waiting = (block.lines[each] for each in todo.begin if not stopped and may_go_on())
            self._runtime.side_by_side(begin, waiting, _AT_ONCE)
        self._runtime.side_by_side(cancel, (block.lines[each] for each in todo.cancel if may_go_on()), _AT_ONCE)
        return not stopped

    def _states(self, batch: Batch, block: "_OpenBlock") -> list[LineState]:
        return [_state(line, block.jobs.get(batch.job_of(line.number)), block) for line in block.lines]

    def _write(self, batch: Batch, block: "_OpenBlock") -> Batch:
        """Store the results of a block in pieces, then note them in the row."""
        sizes: dict[str, list[int]] = {kind: [] for kind in KINDS}
        held: dict[str, list[bytes]] = {kind: [] for kind in KINDS}
        counts = dict.fromkeys(KINDS, 0)

        def flush(kind: str, least: int) -> None:
            if sum(map(len, held[kind])) > least:
                body = b"".join(held[kind])
                self._storage.put_piece(batch, block.number, kind, len(sizes[kind]), body)
                sizes[kind].append(len(body))
                held[kind].clear()

        block.answers = self._jobs.table.get_answers(block.jobs.values())
        for start in range(0, len(block.lines), _AT_ONCE):
            for result in self._results(batch, block, block.lines[start : start + _AT_ONCE]):
                kind = "output" if result.is_success else "errors"
                held[kind].append(result.raw)
                counts[kind] += 1
                flush(kind, PART_BYTES)
        for kind in KINDS:
            flush(kind, 0)
        done = Block(counts["output"], counts["errors"], sizes["output"], sizes["errors"])
        return self._table.change(batch, lambda row: transitions.note_block(row, block.number, done))[0]

    def _results(self, batch: Batch, block: "_OpenBlock", lines: list[InputLine]) -> list[OutputLine]:
        """Return the results of lines in their order, some read side by side. A failure of AWS ends the step."""
        results: dict[int, OutputLine] = {}
        failures: list[Exception] = []

        def read(line: InputLine) -> None:
            try:
                job_id, refusal = batch.job_of(line.number), block.refusals.get(line.number)
                job, answer = block.jobs.get(job_id), block.answers.get(job_id)
                results[line.number] = self._lines.result(batch, line, job, refusal, answer)
            except Exception as error:
                failures.append(error)

        self._runtime.side_by_side(read, iter(lines), _AT_ONCE)
        if failures:
            raise failures[0]
        return [results[line.number] for line in lines]


class _OpenBlock:
    """A block without results.

    jobs, answers: the jobs of its lines and the table's copies of their answers, by the job's id. begun: numbers of the
    lines that this step has submitted. refusals: the errors of lines that were refused, by number.
    """

    def __init__(self, number: int, lines: list[InputLine], jobs: dict[str, Job]) -> None:
        self.number, self.lines, self.jobs = number, lines, jobs
        self.begun: set[int] = set()
        self.refusals: dict[int, ApiError] = {}
        self.answers: dict[str, Answer] = {}


def _state(line: InputLine, job: Job | None, block: _OpenBlock) -> LineState:
    if line.number in block.refusals:
        return LineState.REFUSED
    if job is None:
        return LineState.OPEN if line.number in block.begun else LineState.WAITING
    if job.is_open:
        return LineState.OPEN
    return LineState.SUCCEEDED if job.state == SUCCEEDED else LineState.UNSUCCESSFUL
