"""Characters in a file that look like others: each is named by its line, what it is and what to type."""

from pathlib import Path

import pytest

from llm_hosting.deployment.file import parse

GOOD = """\
model:
  id: gpt2
serving:
  engine: tgi
hosting:
  instance_type: ml.g5.xlarge
"""


def found(text: str, tmp_path: Path) -> list[str]:
    (path := tmp_path / "chat.yaml").write_text(text, encoding="utf-8")
    return [f"{each.field}: {each.message}" for each in parse(path).problems]


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("model", "m\N{CYRILLIC SMALL LETTER O}del", "line 1 has the character U+043E (Cyrillic small letter o)"),
        ("tgi", "tg\N{CYRILLIC SMALL LETTER BYELORUSSIAN-UKRAINIAN I}", "type 'i'."),
        ("gpt2", "\N{GREEK SMALL LETTER OMICRON}rg/gpt2", "line 2 has the character U+03BF"),
        ("  id", "\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}id", "(No-break space) in 'id'; type a space."),
        ("id: ", "id:\N{NO-BREAK SPACE}", "line 2 has the character U+00A0"),
        ("model:", "model:\N{IDEOGRAPHIC SPACE}", "line 1 has the character U+3000 (Ideographic space)"),
        ("engine:", "engine\N{FULLWIDTH COLON}", "line 4 has the character U+FF1A (Fullwidth colon)"),
        ("id: gpt2", "id: gpt2\n  revision\N{FULLWIDTH COLON} main", "line 3 has the character U+FF1A"),
        ("tgi", "\N{LEFT DOUBLE QUOTATION MARK}tgi\N{RIGHT DOUBLE QUOTATION MARK}", "type '\"'."),
        ("tgi", "[\N{RIGHT SINGLE QUOTATION MARK}tgi'", 'type "\'".'),
        ("ml.g5", "ml\N{EN DASH}g5", "line 6 has the character U+2013 (En dash)"),
        ("xlarge", "x\N{ZERO WIDTH SPACE}large", "(Zero width space) in 'ml.g5.x\\u200blarge'; delete it."),
        ("g5", "g\N{FULLWIDTH DIGIT FIVE}", "type '5'."),
    ],
)
def test_a_character_that_looks_like_another_is_named(right: str, wrong: str, said: str, tmp_path: Path) -> None:
    assert GOOD.count(right) == 1
    problems = found(GOOD.replace(right, wrong), tmp_path)
    assert any(said in each for each in problems), problems
    assert all(each.startswith("file: line ") for each in problems)


@pytest.mark.parametrize(
    "text",
    [
        "# \N{LEFT DOUBLE QUOTATION MARK}a comment\N{RIGHT DOUBLE QUOTATION MARK}\n",
        "preflight: {silenced: {some-rule: 'Gr\N{LATIN SMALL LETTER U WITH DIAERESIS}nde \N{EN DASH} siehe Wiki'}}\n",
        "api: {auth: api-key, keys: {a: {owner: O\N{RIGHT SINGLE QUOTATION MARK}Brien}}}\n",
        "model: {id: gpt2, weights: s3://a-bucket/\N{CYRILLIC SMALL LETTER YA}/}\n",
    ],
)
def test_text_of_people_may_hold_any(text: str, tmp_path: Path) -> None:
    good = GOOD.replace("model:\n  id: gpt2\n", "") if text.startswith("model") else GOOD
    assert not [each for each in found(good + text, tmp_path) if each.startswith("file")]


def test_a_value_of_the_environment_may_hold_any(tmp_path: Path) -> None:
    value = "[a-z\N{CYRILLIC SMALL LETTER A}-\N{CYRILLIC SMALL LETTER YA}]"
    assert found(GOOD.replace("tgi", f"tgi\n  environment: {{PATTERN: '{value}'}}"), tmp_path) == []


def test_in_a_broken_file_only_the_lines_that_are_broken_are_named(tmp_path: Path) -> None:
    text = f"preflight: {{silenced: {{a: it\N{RIGHT SINGLE QUOTATION MARK}s meant}}}}\n{GOOD}  other: [\n"
    (problem,) = found(text, tmp_path)
    assert "is not valid YAML" in problem
