"""docs/pictures/: what the pictures show is so, and any browser shows them without asking anybody else."""

import os
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from inference_api.jobs.state import transitions
from local_cloud.assembly import ROOT
from tools.pictures import job_life, memory
from tools.pictures.drawing import Drawing
from tools.pictures.recording import COLUMNS, ROWS, Recording

FILES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_picture_is_small_stands_alone_and_tells_nothing_of_the_machine_it_was_made_on(file: Path) -> None:
    text = file.read_text()
    assert len(text) < 40_000
    for element in ElementTree.fromstring(text).iter():
        assert element.tag.rpartition("}")[2] not in ("script", "image", "foreignObject", "use")
    for foreign in ("url(http", "@import", "href", str(ROOT), str(Path.home()), "/home/", "/Users/", "/root/"):
        assert foreign not in text
    assert not re.search("AKIA[0-9A-Z]", text)


def test_the_life_of_a_job_is_drawn_as_it_is() -> None:
    assert (ROOT / "docs" / "pictures" / "job-life.svg").read_text() == job_life.picture(), "run `make pictures`"


def test_the_memory_of_accelerators_is_drawn_as_the_rules_see_it() -> None:
    assert (ROOT / "docs" / "pictures" / "memory.svg").read_text() == memory.picture(), "run `make pictures`"


def test_a_job_that_lives_otherwise_cannot_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transitions, "cancel", lambda *_: None)
    with pytest.raises(ValueError, match="cancelled"):
        job_life.picture()


def test_words_that_leave_their_box_are_refused() -> None:
    drawing = Drawing(100, 100, "name", "description")
    drawing.text(0, 0, "m" * 10, "code", room=80)
    with pytest.raises(ValueError, match="pixels"):
        drawing.text(0, 0, "m" * 11, "code", room=80)


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


def test_a_recording_stops_the_command_that_it_leaves(tmp_path: Path) -> None:
    with Recording(tmp_path).command(
        "wait", sys.executable, "-c", "import os, signal; print(os.getpid(), flush=True); signal.pause()"
    ) as lines:
        process = int(next(lines))
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_the_end_of_a_long_recording_is_what_stays_on_the_screen(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    for index in range(ROWS + 3):
        recording.add(f"line {index}")
    assert f'transform="translate(0 {-3 * 17})"' in recording.svg("count")
