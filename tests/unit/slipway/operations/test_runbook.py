"""`slipway runbook` shows a paragraph of the runbook."""

import pytest

from slipway.operations import runbook


@pytest.mark.parametrize("given", ["dead-letters", "docs/runbook.md#dead-letters", "https://example.com/#dead-letters"])
def test_a_paragraph_is_printed_alone(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert runbook.run(given) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("### Dead letters\n\nA message failed ten times")
    assert printed.count("### ") == 1


def test_without_a_name_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert runbook.run(None) == 0
    assert {"service-is-down", "dead-letters", "no-capacity"} <= set(capsys.readouterr().out.split())


def test_an_unknown_one_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert runbook.run("server-error") == 2
    assert capsys.readouterr().err.startswith("server-error: the runbook has no such paragraph; did you mean ")
