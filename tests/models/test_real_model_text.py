"""A text of a real model while another thread decodes it: which pieces leave, and when."""

import importlib.util
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from support.repository import ROOT


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "model_src"))  # as PYTHONPATH of the process
    spec = importlib.util.spec_from_file_location("worker", ROOT / "local_cloud/real_model/worker.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Row(SimpleNamespace):
    """A row whose tokens are their bytes."""

    def __init__(self, *stop: str) -> None:
        super().__init__(stop=stop, tokens=[], ended=None, text="")

    def text_of(self, tokens: list[bytes]) -> str:
        return b"".join(tokens).decode(errors="replace")

    def end(self, reason: str, text: str) -> None:
        self.ended, self.text = reason, text


def texts(lines: Any) -> list[str]:
    return [line["text"] for line in lines]


def test_each_token_is_a_piece(worker: ModuleType) -> None:
    text = worker._Text(row := Row())
    row.tokens += [b"one", b" two"]
    assert texts(text.news()) == ["one", " two"]
    row.tokens.append(b" three")
    row.end("length", "one two three")
    assert list(text.news()) == [{"text": " three", "tokens": 3, "ended": "length", "stop": None}]


def test_half_a_character_waits_for_its_other_half(worker: ModuleType) -> None:
    text, (first, second) = worker._Text(row := Row()), ("\u00e9".encode()[:1], "\u00e9".encode()[1:])
    row.tokens += [b"caf", first]
    assert texts(text.news()) == ["caf"]
    row.tokens.append(second)
    assert texts(text.news()) == ["\u00e9"]


def test_what_may_become_a_stop_sequence_waits(worker: ModuleType) -> None:
    text = worker._Text(row := Row("\nUser:"))
    row.tokens += [b"yes", b"\nUs"]
    assert texts(text.news()) == ["yes"]
    row.tokens.append(b"e it")
    assert texts(text.news()) == ["\nUse it"]


def test_no_stop_sequence_leaves_before_the_end_is_known(worker: ModuleType) -> None:
    text = worker._Text(row := Row("stop"))
    row.tokens += [b"go", b" stop now"]  # the other thread has yet to note the end
    assert texts(text.news()) == ["go", " "]
    row.end("stop", "go ")
    assert list(text.news()) == [{"text": "", "tokens": 2, "ended": "stop", "stop": "stop"}]


def test_a_row_that_begins_again_repeats_nothing(worker: ModuleType) -> None:
    text = worker._Text(row := Row())
    row.tokens += [b"one", b" two"]
    assert texts(text.news()) == ["one", " two"]
    row.tokens.clear()
    assert texts(text.news()) == []
    row.tokens += [b"one", b" two", b" three"]
    assert texts(text.news()) == [" three"]
