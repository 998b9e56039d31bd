"""Runs the lanes side by side, ends them at Ctrl-C or a limit, removes everything, and proves it."""

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType

from tools.smoke.asking.place import Place
from tools.smoke.asking.question import Question
from tools.smoke.asking.record import Asked, Record
from tools.smoke.asking.removal import remove_all
from tools.smoke.asking.stop import Stop
from tools.smoke.estimate import lanes_of
from tools.smoke.lane import Lane, Run
from tools.smoke.proof import left
from tools.smoke.questions import names_of_stacks
from tools.smoke.report import REMOVAL

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LANES_END_IN_SECONDS = 60
_ROUNDS = 4
_LOOK_AT_THE_END_IN_SECONDS = 20


def show(line: str) -> None:
    """Print a line. Ctrl-C also ends the reader of a pipe; without one the removal goes on in silence."""
    try:
        print(line, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def clean_command(place: Place) -> str:
    """The command that removes what a run has left."""
    return f"AWS_REGION={place.region} make smoke CLEAN=1"


def ask_all(run: Run, questions: Sequence[Question], usd: float, write: Callable[[], None]) -> None:
    """Ask all questions, until the run is stopped or a limit is reached. usd: the limit. write: keeps the report."""
    lanes = map(partial(Lane, run), lanes_of(questions))
    threads = [threading.Thread(target=lane.go, daemon=True) for lane in lanes if lane.open]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads) and not run.stop.is_set:
        time.sleep(0.5)
        write()
        if time.monotonic() > run.ends_at:
            run.stop.set("the time is over")
        elif run.meter.usd > usd:
            run.stop.set(f"{usd:.2f} USD may be spent")
    # The CDK must have ended before anything is removed. A call that hangs needs no waiting for.
    end = time.monotonic() + _LANES_END_IN_SECONDS
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))


def remove_and_prove(record: Record, say: Callable[[str], None]) -> bool:
    """Remove all that a run can make, and keep the proof as an answer. Returns whether nothing is left."""
    place, names, started = record.place, names_of_stacks(), time.monotonic()
    found: list[str] = []
    for _ in range(_ROUNDS):
        say("removing everything")
        remove_all(names, place, say)
        if not (found := left(names, record.seen, place.clients())):
            break
        time.sleep(3 * place.look_interval)  # AWS lists some resources for a while after their end
    seen = f"left are {'; '.join(found)}" if found else f"nothing is left after {time.monotonic() - started:.0f} s"
    record.keep(Asked(REMOVAL, "differs" if found else "as expected", seen))
    say(seen)
    shutil.rmtree(record.work, ignore_errors=True)
    return not found


def in_thread(work: Callable[[], bool]) -> bool:
    """Do work while this thread stays free for signals. Returns its result; False after an exception."""
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.5)
    return bool(results and results[0])


class Interrupts:
    """The first Ctrl-C, SIGTERM or SIGHUP ends the run in order; the second one at once, and tells what stays.

    status: a shell's exit status for the signal; 0 = there was none.
    """

    def __init__(self, stop: Stop, place: Place) -> None:
        self._stop, self._place, self.status = stop, place, 0

    def __enter__(self) -> "Interrupts":
        heard = [each for each in _SIGNALS if signal.getsignal(each) != signal.SIG_IGN]  # nohup ignores SIGHUP
        self._former = {each: signal.signal(each, self._heard) for each in heard}
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self._former.items():
            signal.signal(each, handler)

    def _heard(self, number: int, _: FrameType | None) -> None:
        if not self.status:
            name, self.status = signal.Signals(number).name, 128 + number
            self._stop.set(f"stopped by {name}")
            show(f"\n{name}: removing everything. The same again leaves it where it is.")
            return
        # In a thread: the interrupted code may hold a lock of boto3.
        looking = threading.Thread(target=self._tell, daemon=True)
        looking.start()
        looking.join(_LOOK_AT_THE_END_IN_SECONDS)
        print(f"To remove it: {clean_command(self._place)}", file=sys.stderr, flush=True)
        os._exit(130)

    def _tell(self) -> None:
        for each in left(names_of_stacks(), (), self._place.clients()):
            print(f"left: {each}", file=sys.stderr, flush=True)
