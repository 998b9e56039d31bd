"""The counter of a long command's step."""

import io
import sys
import threading

import pytest

from slipway.shared.steps import Steps


class _Terminal(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.drawn_thrice, self._drawn = threading.Event(), 0

    def write(self, text: str) -> int:
        self._drawn += "deploying" in text
        if self._drawn == 3:
            self.drawn_thrice.set()
        return super().write(text)

    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_counter_ticks_while_a_step_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := _Terminal())
    steps = Steps()
    steps("deploying gpt2")
    assert terminal.drawn_thrice.wait(60)
    steps.end()
    assert terminal.getvalue().endswith("\r\033[K")


def test_a_line_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := _Terminal())
    monkeypatch.setenv("COLUMNS", "40")
    steps = Steps()
    steps("12 resources, last AWS::ApiGateway::UsagePlanKey")
    steps.end()
    assert max(len(each) for each in terminal.getvalue().split("\r\033[K")) == 39


def test_in_a_file_a_step_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    steps = Steps()
    steps("deploying gpt2")
    steps.detail("1 resources")
    steps.end()
    assert capsys.readouterr().err.endswith(" s] deploying gpt2\n")
