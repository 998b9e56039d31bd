"""A pipe whose reader has left, as `| head` does."""

import os
import subprocess
import sys

import pytest

from support.repository import ROOT


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["check", "qwen3-4b"], 0),
        (["check", "qwen3-4b", "--on", "ml.m5.large"], 1),
        (["check", "qwen3-4b", "--recommend"], 0),
    ],
)
def test_a_verb_ends_without_a_word_when_nobody_reads_and_keeps_its_judgement(
    arguments: list[str], status: int
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "slipway", *arguments]
    ended = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (status, "")
