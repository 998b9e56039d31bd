"""`slipway destroy` waits for copies that start or end, because SageMaker would refuse to delete their component."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from slipway.deploying.destroy import _let_copies_settle


def stack_of(*statuses: str | None) -> Any:
    """Return a stack whose component has these statuses, one after the other; the last one stays."""
    left = list(statuses)

    class Stack:
        component_name = "chat-1a2b3c4d"

        @property
        def unread(self) -> Any:
            status = left.pop(0) if len(left) > 1 else left[0]
            return SimpleNamespace(component=status and {"InferenceComponentStatus": status})

    return Stack()


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setattr(time, "monotonic", lambda: sum(pauses))
    return pauses


@pytest.mark.parametrize("status", ["InService", "Failed", None])
def test_nothing_waits_for_a_component_at_rest(
    status: str | None, slept: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    _let_copies_settle(stack_of(status))
    assert (slept, capsys.readouterr().out) == ([], "")


def test_a_wake_under_way_ends_first_and_is_told_once(slept: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    _let_copies_settle(stack_of("Updating", "Updating", "InService"))
    assert len(slept) == 2
    assert capsys.readouterr().out.count("waiting until the copies of chat-1a2b3c4d have started or ended") == 1


def test_a_component_that_does_not_settle_is_tried_anyway(slept: list[float]) -> None:
    _let_copies_settle(stack_of("Updating"))
    assert 900 <= sum(slept) < 910
