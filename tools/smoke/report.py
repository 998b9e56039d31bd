"""Writes the answers of a smoke test as a page of Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class AwsAnswer:
    """One answer of AWS.

    expected: the behaviour on which Slipway relies; "" if it relies on none. seen: what AWS did. good: False if Slipway
    relies on something else.
    """

    question: str
    expected: str
    seen: str
    good: bool = True


def page(where: str, started: datetime, answers: Sequence[AwsAnswer]) -> str:
    """The report. where: account and region."""
    minutes = (datetime.now(UTC) - started).total_seconds() / 60
    bad = sum(not answer.good for answer in answers)
    head = [
        "# Smoke test",
        "",
        f"{started:%Y-%m-%d %H:%M} UTC, {minutes:.0f} minutes, {where}.",
        f"{bad} of {len(answers)} answers are not as expected." if bad else "Every answer is as expected.",
        "",
        "| | Question | Expected | Seen |",
        "| --- | --- | --- | --- |",
    ]
    rows = [
        f"| {'ok' if answer.good else '**no**'} | {_cell(answer.question)} | {_cell(answer.expected)} "
        f"| {_cell(answer.seen)} |"
        for answer in answers
    ]
    return "\n".join([*head, *rows, ""])


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
