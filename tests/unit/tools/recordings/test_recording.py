"""Recordings of commands show their output, hide secrets, and end."""

import os
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools.recordings.recording import COLUMNS, ROWS, Recording


def test_a_recording_shows_each_line_of_a_command_without_its_secrets(tmp_path: Path) -> None:
    printed = f"{tmp_path}/deployments --user AKIA0123456789ABCDEF:hush AWS_SECRET_ACCESS_KEY='hush' {'x' * COLUMNS}"
    recording = Recording(tmp_path)
    with recording.command("say it", sys.executable, "-c", f"print({printed!r}); print('<2>')") as lines:
        assert [line.strip() for line in lines] == [printed, "<2>"]
    shown = [line.text for line in recording.lines]
    assert shown[0] == "$ say it"
    assert shown[1].startswith("slipway/deployments --user AKIA...:... AWS_SECRET_ACCESS_KEY=... xxx")
    assert shown[2].endswith("x"), "folded"
    svg = recording.svg("say it")
    assert "&lt;2&gt;" in svg
    assert "hush" not in svg
    ElementTree.fromstring(svg)


def test_a_recording_stops_its_command_at_the_end(tmp_path: Path) -> None:
    with Recording(tmp_path).command(
        "wait", sys.executable, "-c", "import os, signal; print(os.getpid(), flush=True); signal.pause()"
    ) as lines:
        process = int(next(lines))
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_long_recording_ends_with_its_last_lines_on_the_screen(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    for index in range(ROWS + 3):
        recording.add(f"line {index}")
    assert f'transform="translate(0 {-3 * 17})"' in recording.svg("count")
