"""The scorecard counts what went wrong, and its command says so by its exit status."""

import json
from pathlib import Path

import pytest

from simulation.__main__ import main
from simulation.planted_faults import FAULTS
from simulation.scorecard import Scorecard
from simulation.trial import Trial
from simulation.world import World

SMALL = {"jobs": 60, "arrivals": 200, "owners": 10, "deadline": 1800, "invocation_timeout": 300}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("an_answer_before_the_row", "lost"),
        ("writes_without_a_condition", "changed after the end"),
        ("a_time_to_live_from_acceptance_on", "deleted early"),
        ("no_sweeper", "stuck"),
        ("a_log_of_the_models_words", "other breaches"),
    ],
)
def test_each_count_counts(name: str, count: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[name].plant(monkeypatch)
    card = Scorecard.of(Trial(**{**SMALL, "after_retention": False, **FAULTS[name].trial}))
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


def test_the_command_prints_a_card_and_tells_a_story(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial = ["--mode", "realtime", "--seeds", "1", "--jobs", "20"]
    assert main([*trial, "--json", str(tmp_path / "card.json"), "--processes", "1"]) == 0
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["jobs"] >= 20
    assert [card[name] for name in ("lost", "changed after the end", "deleted early", "stuck")] == [0, 0, 0, 0]
    assert "faults injected" in capsys.readouterr().out
    world = World(Trial(mode="realtime", jobs=20))
    world.run()
    assert main([*trial, "--story", next(iter(world.history.rows))]) == 0
    told = capsys.readouterr().out
    assert "caller   submits" in told
    assert "model    begins attempt 1" in told
    assert "event    " in told
