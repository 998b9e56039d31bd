"""Writes the answers as a page of Markdown: a table, then each with its evidence and its line of the documents."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from tools.smoke.asking.place import Place
from tools.smoke.asking.question import Question
from tools.smoke.asking.record import Asked, Record

REMOVAL = "removal"  # the id of the answer about the end
_WORDS = {"as expected": "ok", "differs": "**no**", "failed": "**failed**", "not asked": "not asked"}


def write_page(record: Record, questions: Sequence[Question]) -> None:
    """Write `report.md` into the folder of the run."""
    (record.folder / "report.md").write_text(page(record, questions))


def page(record: Record, questions: Sequence[Question]) -> str:
    minutes = (datetime.now(UTC) - record.started).total_seconds() / 60
    asked = [(each, record.answer(each.id)) for each in questions]
    differ = [each for each, answer in asked if answer and answer.status == "differs"]
    unanswered = [each for each, answer in asked if not answer or not answer.is_answered]
    return "\n".join(
        [
            "# Smoke test",
            "",
            f"{record.started:%Y-%m-%d %H:%M} UTC, {minutes:.0f} minutes, {record.place}. {len(questions)} questions: "
            f"{len(questions) - len(differ) - len(unanswered)} answers are as expected, {len(differ)} differ, "
            f"{len(unanswered)} are missing.",
            "",
            _removal(record.answer(REMOVAL)),
            "",
            "| | Question | Seen |",
            "| --- | --- | --- |",
            *(_row(each, answer) for each, answer in asked),
            "",
            *(line for each, answer in asked if answer for line in _section(each, answer, record.place)),
        ]
    )


def _removal(asked: Asked | None) -> str:
    if asked is None:
        return "**Not everything is removed yet**: `make smoke CLEAN=1` removes it."
    return f"Removal: {asked.seen}"


def _row(question: Question, asked: Asked | None) -> str:
    word = _WORDS[asked.status] if asked else _WORDS["not asked"]
    if word == "ok" and not question.expected:
        word = "seen"
    return f"| {word} | [{_cell(question.title)}](#{question.id}) | {_cell(asked.seen) if asked else ''} |"


def _section(question: Question, asked: Asked, place: Place) -> Iterator[str]:
    yield f"## {question.id}"
    yield ""
    yield f"- Question: {question.title}"
    if question.expected:
        yield f"- Expected: {question.expected}"
    yield f"- Seen: {asked.seen or 'nothing'} ({asked.status}, {asked.at} UTC, {asked.seconds:.0f} s)"
    if question.local:
        yield f"- On the local cloud the answer is one by design: {question.local}."
    line, kept = question.line, "Proves" if question.expected else "Is about"
    if question.changes_line:
        kept = "AWS's answer will change" if place.is_local else "Has to change"
    says = {"as expected": kept, "differs": "Has to change"}.get(asked.status, "Would prove or change")
    yield f"- {says}: {line.file}, *{line.heading}*: “{line.text}”"
    yield ""
    if asked.evidence:
        yield from ("```", *asked.evidence, "```", "")


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
