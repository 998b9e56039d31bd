"""One lane of the run: deploys a stack, asks its questions one after the other, and removes it."""

import contextlib
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from botocore.exceptions import BotoCoreError, ClientError

from slipway.shared.aws_errors import sentence
from slipway.stack.deployed_stack import UnknownStackError, described_stack
from tools.smoke.asking.place import Place
from tools.smoke.asking.question import CouldNotAskError, Question
from tools.smoke.asking.record import Asked, Record, Status
from tools.smoke.asking.removal import remove
from tools.smoke.asking.stacks import SmokeStack
from tools.smoke.asking.stop import Stop, StoppedError
from tools.smoke.asking.trial import Trial, why
from tools.smoke.money import Meter

_COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")


@dataclass(frozen=True)
class Run:
    """What all lanes share. ends_at: on the monotonic clock. say: shows a line."""

    place: Place
    record: Record
    stop: Stop
    ends_at: float
    meter: Meter
    say: Callable[[str], None]


class Lane:
    """questions: of one stack, the deploy first; or the only one of a lane without a stack."""

    def __init__(self, run: Run, questions: Sequence[Question]) -> None:
        self.run, self.stack = run, questions[0].stack
        self._all = questions

    @property
    def open(self) -> list[Question]:
        """The questions that have no answer yet."""
        return [each for each in self._all if not self.run.record.is_answered(each.id)]

    def go(self) -> None:
        """Ask all. Only a stop or the lane's end removes what it made; no failure of a question does."""
        try:
            if self.stack is None:
                self._ask(self.open)
                self._remove()
            else:
                with self.run.meter.room_for(self.stack, self.run.stop):
                    self._live(self.stack)
        except StoppedError:
            return  # the run removes everything
        except Exception as error:  # a fault of ours in this lane leaves the other ones alone
            self._give_up(place_of(error))

    def _live(self, stack: SmokeStack) -> None:
        try:
            if problem := self._deployed(stack):
                self._give_up(problem)
            else:
                self._ask([each for each in self.open if not (each.is_deploy or each.during_deploy)])
        finally:
            if not self.run.stop.is_set:
                self._remove()

    def _ask(self, questions: Sequence[Question]) -> None:
        for each in questions:
            self.run.stop.check()
            if problem := self._unfit():
                self._keep(each, "not asked", problem)
            else:
                self.ask(each)

    def _give_up(self, problem: str) -> None:
        for each in self.open:
            self._keep(each, "not asked", problem)

    def _deployed(self, stack: SmokeStack) -> str | None:
        """Have the stack deployed. Return why it is not; None = it is."""
        deploy, *_ = self._all
        if described := described_stack(stack.name, self.run.place.clients()):
            if described["StackStatus"] in _COMPLETE and self.run.record.is_answered(deploy.id):
                self.run.meter.begin(stack)
                return None
            self._remove()  # left half made by a run that was killed
        self.run.meter.begin(stack)
        trials = [(each, self._trial()) for each in self.open if each.during_deploy]
        threads = [threading.Thread(target=self._ask_until_stopped, args=each, daemon=True) for each in trials]
        for thread in threads:
            thread.start()
        try:
            self.ask(deploy)
        finally:
            for _, trial in trials:
                trial.is_deployed.set()
            for thread in threads:
                thread.join()
        asked = self.run.record.answer(deploy.id)
        return None if asked and asked.status == "as expected" else f"{stack.name} is not deployed"

    def _ask_until_stopped(self, question: Question, trial: Trial) -> None:
        with contextlib.suppress(StoppedError):
            self.ask(question, trial)

    def _unfit(self) -> str | None:
        """Have the stack mended if the last question left it broken. Return why it is not fit for another one."""
        if self.stack is None:
            return None
        trial = self._trial()
        status = trial.wait(self._settled_status(trial), trial.seconds_left())
        if status not in _COMPLETE:
            trial.update()
            status = trial.stack().status
        return None if status in _COMPLETE else f"{self.stack.name} is {status}{why(trial)}"

    @staticmethod
    def _settled_status(trial: Trial) -> Callable[[], str | None]:
        def look() -> str | None:
            status = trial.stack().status
            return None if status.endswith("IN_PROGRESS") else status

        return look

    def ask(self, question: Question, trial: Trial | None = None) -> None:
        """Ask one question. Whatever it raises is its own failure."""
        trial, started = trial or self._trial(), time.monotonic()
        status: Status
        self.run.say(f"asking: {question.id}")
        try:
            answer = question.ask(trial)
            status, seen = "as expected" if answer.good else "differs", answer.seen
        except StoppedError as stopped:
            self._keep(question, "not asked", str(stopped), trial, started)
            raise
        except CouldNotAskError as error:
            status, seen = "not asked", str(error)
        except UnknownStackError as error:
            status, seen = "failed", str(error)
        except (BotoCoreError, ClientError) as error:
            status, seen = "failed", sentence(error)
        except Exception as error:
            status, seen = "failed", place_of(error)
        self._keep(question, status, seen, trial, started)
        self.run.meter.add(question.usd)

    def _keep(
        self, question: Question, status: Status, seen: str, trial: Trial | None = None, started: float = 0
    ) -> None:
        seconds = time.monotonic() - started if trial else 0
        evidence = list(trial.evidence) if trial else []
        at = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
        asked = Asked(question.id, status, " ".join(seen.split()), evidence, at, round(seconds, 1))
        self.run.record.keep(asked)
        self.run.say(f"{status}: {question.id}\n    {asked.seen}")

    def _trial(self) -> Trial:
        run = self.run
        return Trial(run.place, run.record, run.stop, run.ends_at, self.stack)

    def _remove(self) -> None:
        """Remove the stack, and those that questions made."""
        made = [name for each in self._all for name in each.makes]
        for name in ([self.stack.name] if self.stack else []) + made:
            self.run.say(f"{name}: removing")
            remove(name, self.run.place, self.run.say)
        if self.stack:
            self.run.meter.end(self.stack)


def place_of(error: Exception) -> str:
    """The error of a traceback and the place where it was raised, on one line."""
    *_, place, said = traceback.format_exception(error)
    return " ".join(f"{said.strip()} ({place.strip()})".split())
