"""`make smoke` before it spends anything: its question, and its list."""

import io
import sys

import pytest

from tools.smoke.asking.place import Place
from tools.smoke.estimate import listing, may_spend
from tools.smoke.questions import chosen

PLACE = Place("us-east-1", "111122223333", is_local=False)
QUESTIONS = chosen(["batch"])


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "sure", "spends"),
    [(_Terminal("5.00\n"), False, True), (_Terminal("y\n"), False, False), (_Terminal(""), True, True)],
    ids=["the amount", "another word", "--yes"],
)
def test_money_is_spent_only_for_whoever_types_the_amount(
    typed: io.StringIO, sure: bool, spends: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", typed)
    assert may_spend(QUESTIONS, PLACE, 120, 5, sure=sure) == spends
    assert "us-east-1 of account 111122223333. 2 questions: about" in capsys.readouterr().out


def test_without_a_terminal_nothing_is_spent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("5.00\n"))
    assert not may_spend(QUESTIONS, PLACE, 120, 5, sure=False)
    assert "--yes" in capsys.readouterr().err


def test_the_list_shows_minutes_and_price_of_each_question() -> None:
    (line,) = (line for line in listing(QUESTIONS).splitlines() if line.startswith("  batch "))
    assert line.split()[1:5] == ["5", "min", "0.01", "USD"]
