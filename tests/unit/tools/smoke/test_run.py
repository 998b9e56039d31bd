"""A run of `make smoke`: independent questions, limits, a record to go on from, and a report."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tools.smoke.asking.place import Place
from tools.smoke.asking.question import Answer, CouldNotAskError, Line, Question
from tools.smoke.asking.record import Record, RecordError
from tools.smoke.asking.stacks import REALTIME
from tools.smoke.asking.stop import Stop
from tools.smoke.asking.trial import Trial
from tools.smoke.lane import Run
from tools.smoke.money import Meter, usd_per_hour
from tools.smoke.report import page
from tools.smoke.run import ask_all

PLACE = Place("us-east-1", "111122223333", is_local=True)
LINE = Line("docs/idle.md", "Zero", "some words")


def question(id_: str, ask: Callable[[Trial], Answer], usd: float = 0) -> Question:
    return Question(id_, f"Is {id_} | true?", "it is", ask, LINE, minutes=1, usd=usd)


def good(trial: Trial) -> Answer:
    trial.saw("a line of evidence")
    return Answer("it is")


def differs(_: Trial) -> Answer:
    return Answer("it is not", good=False)


def broken(_: Trial) -> Answer:
    raise KeyError("Alarm")


def impossible(_: Trial) -> Answer:
    raise CouldNotAskError("There was no time.")


def endless(trial: Trial) -> Answer:
    trial.sleep(1000)
    return Answer("never")


def ask(record: Record, *questions: Question, minutes: float = 10, usd: float = 5) -> Stop:
    stop = Stop()
    run = Run(PLACE, record, stop, time.monotonic() + minutes * 60, Meter({}), lambda _: None)
    ask_all(run, questions, usd, lambda: None)
    return stop


def statuses(record: Record, *questions: Question) -> list[str]:
    return [asked.status if (asked := record.answer(each.id)) else "-" for each in questions]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    monkeypatch.chdir(tmp_path)
    return Record.begun(PLACE)


QUESTIONS = [question(ask.__name__, ask) for ask in (broken, good, differs, impossible)]


def test_a_question_that_breaks_stops_and_falsifies_no_other_one(record: Record) -> None:
    ask(record, *QUESTIONS)
    assert statuses(record, *QUESTIONS) == ["failed", "as expected", "differs", "not asked"]
    assert "KeyError: 'Alarm'" in record.answer("broken").seen  # type: ignore[union-attr]


def test_the_next_run_asks_what_has_no_answer(record: Record) -> None:
    ask(record, *QUESTIONS)
    later, heard = Record.resumed(record.folder, PLACE), list[str]()

    def note(trial: Trial) -> Answer:
        heard.append("asked")
        return Answer("it is")

    again = [question(each.id, note) for each in QUESTIONS]
    ask(later, *again)
    assert len(heard) == 2
    assert statuses(later, *again) == ["as expected", "as expected", "differs", "as expected"]


def test_a_record_of_another_region_is_refused(record: Record) -> None:
    with pytest.raises(RecordError, match="is a smoke test in us-east-1 of account 111122223333"):
        Record.resumed(record.folder, Place("eu-west-1", "111122223333", is_local=True))


def test_the_removal_looks_past_records_of_other_accounts(record: Record) -> None:
    aws = Place("us-east-1", "444455556666", is_local=False)
    assert [each.folder for each in Record.found(PLACE)] == [record.folder]
    assert Record.found(aws) == []


def test_the_money_of_a_stack_includes_its_removal() -> None:
    meter = Meter({})
    meter.begin(REALTIME)
    assert meter.usd == pytest.approx(usd_per_hour(REALTIME), rel=0.01)  # two instances for half an hour


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"minutes": 0.01}, "the time is over"), ({"usd": 0.5}, "0.50 USD may be spent")],
    ids=["time", "money"],
)
def test_a_limit_ends_questions_that_wait(record: Record, limits: dict[str, float], reason: str) -> None:
    stop = ask(record, question("dear", good, usd=1), question("endless", endless), **limits)
    assert stop.reason == reason
    assert record.answer("endless").seen == reason  # type: ignore[union-attr]


def test_an_answer_changes_a_line_that_knew_none(record: Record) -> None:
    unknown, open_ = replace(question("good", good), changes_line=True), replace(question("good", good), expected="")
    ask(record, unknown)
    record.place = replace(PLACE, is_local=False)
    assert "- Has to change: docs/idle.md, *Zero*: “some words”" in page(record, [unknown]).splitlines()
    lines = page(record, [open_]).splitlines()
    assert "| seen | [Is good \\| true?](#good) | it is |" in lines
    assert "- Is about: docs/idle.md, *Zero*: “some words”" in lines


def test_the_report_tells_each_answer_its_evidence_and_its_line(record: Record) -> None:
    ask(record, *QUESTIONS)
    lines = page(record, QUESTIONS).splitlines()
    assert "4 questions: 1 answers are as expected, 1 differ, 2 are missing." in lines[2]
    assert "**Not everything is removed yet**: `make smoke CLEAN=1` removes it." in lines
    assert "| ok | [Is good \\| true?](#good) | it is |" in lines
    assert "| **no** | [Is differs \\| true?](#differs) | it is not |" in lines
    assert "- Has to change: docs/idle.md, *Zero*: “some words”" in lines
    assert any(line.endswith("a line of evidence") for line in lines)
