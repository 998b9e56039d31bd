"""The scorecard counts broken invariants, and the command's exit status reports them."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulation.__main__ import main
from simulation.callers.trial import Trial
from simulation.mutants import EXPLORED, TRIED
from simulation.runtime.faults import Rates
from simulation.scorecard import Scorecard
from simulation.world.world import World

HARSH = Rates(unknown_outcome=0.2, duplicate_message=1.0, lost_message=0.3, model_error=0.3)
SMALL: dict[str, Any] = {"jobs": 60, "arrivals": 200, "owners": 10, "deadline": 1800, "invocation_timeout": 300}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("the row comes after the answer", "lost"),
        ("outputs change the end", "changed after the end"),
        ("rows may go from acceptance on", "deleted early"),
        ("the sweeper does nothing", "stuck"),
        ("the model's words are logged", "other breaches"),
    ],
)
def test_a_broken_invariant_is_counted(name: str, count: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = next(each for each in (*EXPLORED, *TRIED) if each.name == name)
    mutant.plant(monkeypatch)
    card = Scorecard.of(Trial(mode=mutant.mode, rates=HARSH, after_retention=False, **SMALL))
    assert card.counts[count] > 0
    assert not card.is_clean
    assert "python -m simulation --mode" in str(card)


def test_cards_add_up() -> None:
    first, second = (Scorecard.of(Trial(mode="async", seed=seed, jobs=20)) for seed in (1, 2))
    total = Scorecard.total([first, second])
    assert total.jobs == first.jobs + second.jobs
    assert total.faults == first.faults + second.faults
    assert total.is_clean
    assert not Scorecard.total([]).is_clean  # no jobs prove nothing


def test_the_command_prints_a_card_and_a_story(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial = ["--mode", "realtime", "--seeds", "1", "--jobs", "20"]
    assert main([*trial, "--json", str(tmp_path / "card.json"), "--processes", "1"]) == 0
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["jobs"] >= 20
    assert [card[name] for name in ("lost", "changed after the end", "deleted early", "stuck")] == [0, 0, 0, 0]
    assert "faults injected" in capsys.readouterr().out
    world = World(Trial(mode="realtime", jobs=20))
    world.run()
    assert main([*trial, "--story", next(iter(world.history.rows))]) == 0
    story = capsys.readouterr().out
    assert "caller   submits" in story
    assert "model    begins attempt 1" in story
    assert "event    " in story
