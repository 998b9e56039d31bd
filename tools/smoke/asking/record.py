"""The folder of a run: its answers and what it has made, written at once, so that another run can go on."""

import contextlib
import json
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from tools.smoke.asking.place import Place

Status = Literal["as expected", "differs", "failed", "not asked"]


class RecordError(Exception):
    """The folder can't be used; the message is one sentence."""


@dataclass(frozen=True)
class Asked:
    """What became of a question. failed: the question itself broke. evidence: lines, each with its time."""

    id: str
    status: Status
    seen: str
    evidence: list[str] = field(default_factory=list)
    at: str = ""
    seconds: float = 0

    @property
    def is_answered(self) -> bool:
        return self.status in ("as expected", "differs")


class Record:
    """The state of a run in its folder; safe for threads.

    ids: of the questions that the run was told to ask; all if empty. seen: resources of SageMaker that the stacks have
    used, as pairs such as ("ModelName", name).
    """

    def __init__(self, folder: Path, place: Place, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self.folder, self.place = folder, place
        self.started = datetime.fromisoformat(state.get("started") or datetime.now(UTC).isoformat())
        self.ids: list[str] = state.get("ids", [])
        self._answers = {each["id"]: Asked(**each) for each in state.get("answers", [])}
        self._turns: dict[str, int] = state.get("turns", {})
        self.seen: set[tuple[str, str]] = {(member, name) for member, name in state.get("seen", [])}
        self._lock = threading.Lock()

    @classmethod
    def begun(cls, place: Place, ids: Sequence[str] = ()) -> "Record":
        """A new folder below the working directory."""
        folder = Path(f"smoke-{place.region}-{datetime.now(UTC):%Y%m%d-%H%M%S}")
        folder.mkdir()
        record = cls(folder, place, {"ids": list(ids)})
        record._write()
        return record

    @classmethod
    def resumed(cls, folder: Path, place: Place) -> "Record":
        """The record of an earlier run. Raises RecordError if it is none, or one of another account or region."""
        try:
            state = json.loads((folder / "state.json").read_text())
            region, account = state["region"], state["account"]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise RecordError(f"{folder}: is not the folder of a smoke test ({error!r}).") from None
        if (region, account) != (place.region, place.account):
            there = f"{region} of account {account}"
            raise RecordError(f"{folder}: is a smoke test in {there}, and your credentials are for {place}.")
        return cls(folder, place, state)

    @classmethod
    def found(cls, place: Place) -> list["Record"]:
        """The records of this place below the working directory, the oldest first."""
        records = list[Record]()
        for state in sorted(Path().glob(f"smoke-{place.region}-*/state.json")):
            with contextlib.suppress(RecordError):  # of another account, such as the local cloud's
                records.append(cls.resumed(state.parent, place))
        return records

    @property
    def work(self) -> Path:
        """A folder for files of the CDK; removed at the end."""
        work = self.folder.resolve() / "work"
        work.mkdir(exist_ok=True)
        return work

    def answer(self, id_: str) -> Asked | None:
        return self._answers.get(id_)

    def is_answered(self, id_: str) -> bool:
        return (asked := self.answer(id_)) is not None and asked.is_answered

    def keep(self, asked: Asked) -> None:
        """Add an answer, or replace one of the same question."""
        with self._lock:
            self._answers[asked.id] = asked
            self._write()

    def next_turn(self, stack: str) -> int:
        """A number that no update of the stack has had."""
        with self._lock:
            self._turns[stack] = self._turns.get(stack, 0) + 1
            self._write()
            return self._turns[stack]

    def note(self, resources: Iterable[tuple[str, str]]) -> None:
        with self._lock:
            self.seen |= set(resources)
            self._write()

    def _write(self) -> None:
        state = {
            "region": self.place.region,
            "account": self.place.account,
            "ids": self.ids,
            "started": self.started.isoformat(),
            "answers": [asdict(each) for each in self._answers.values()],
            "turns": self._turns,
            "seen": sorted(self.seen),
        }
        beside = self.folder / "state.json.new"
        beside.write_text(json.dumps(state, indent=1))
        os.replace(beside, self.folder / "state.json")
