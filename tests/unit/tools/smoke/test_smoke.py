"""`make smoke` before it spends anything: its deployments, its question, its report."""

import io
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.catalog.instances import instances
from slipway.checking.check import check
from support.repository import ROOT
from tools.smoke.__main__ import answers_of, may_spend
from tools.smoke.report import AwsAnswer, page
from tools.smoke.trial import NAMES

FILES = [ROOT / "tools" / "smoke" / "deployments" / f"{name}.yaml" for name in NAMES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_deployments_of_the_smoke_test_are_ready_and_need_no_gpu(path: Path) -> None:
    result = check(path, ())
    assert result.report.verdict == "ready", result.report.findings
    assert result.deployment
    assert [instances()[name].kind for name in result.deployment.hosting.instance_types] == ["cpu"]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "sure", "spends"),
    [(_Terminal("2.88\n"), False, True), (_Terminal("y\n"), False, False), (_Terminal(""), True, True)],
    ids=["the amount", "another word", "--yes"],
)
def test_money_is_spent_only_for_whoever_types_the_amount(
    typed: io.StringIO, sure: bool, spends: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", typed)
    assert may_spend("us-east-1 of account 111122223333", sure=sure) == spends
    assert "about 0.69 USD, and at most\n2.88 USD" in capsys.readouterr().out


def test_without_a_terminal_nothing_is_spent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("2.88\n"))
    assert not may_spend("us-east-1 of account 111122223333", sure=False)
    assert "--yes" in capsys.readouterr().err


class _BrokenTrial:
    """A trial whose deploy fails by our own fault, and which must still destroy."""

    destroyed = False

    def deploy(self, *names: str) -> int:
        raise KeyError("Alarm")

    def destroy(self) -> None:
        self.destroyed = True

    def left(self) -> list[str]:
        return []


def test_everything_is_destroyed_also_after_a_fault_of_the_smoke_test_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.smoke.__main__.calling_while_it_starts", lambda trial: nullcontext())
    trial: Any = _BrokenTrial()
    broken, gone = answers_of(trial)
    assert trial.destroyed
    assert (broken.good, gone.good) == (False, True)
    assert "KeyError: 'Alarm'" in broken.seen


def test_the_report_has_a_row_for_each_answer_and_marks_the_bad_ones() -> None:
    answers = [AwsAnswer("Is it up?", "yes", "yes"), AwsAnswer("Is it | good?", "yes", "no\nnot at all", good=False)]
    lines = page("us-east-1", datetime.now(UTC), answers).splitlines()
    assert "1 of 2 answers are not as expected." in lines
    assert "| ok | Is it up? | yes | yes |" in lines
    assert "| **no** | Is it \\| good? | yes | no not at all |" in lines
