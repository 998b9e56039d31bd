"""Rules of a project's rules.py run beside ours, and their mistakes are one sentence with the line."""

from pathlib import Path

import pytest

from llm_hosting.preflight.rules.own_rules import RulesError, all_rules, own_rules
from llm_hosting.preflight.rules.rule import RULES
from support.deployments.good_one import findings
from support.own_project import own_project

HEAD = "from slipway.rules import Finding, error, note, unknown, warning\n"
RULE = '''
@{level}
def our_own_law(resolution):
    """A law of our own."""
    {body}
'''
YIELDS = 'yield Finding("security.vpc", "is not set", "name our VPC")'


def rule(body: str = YIELDS, level: str = "warning") -> str:
    return HEAD + RULE.format(body=body, level=level)


@pytest.mark.parametrize("level", ["error", "warning", "unknown", "note"])
def test_a_rule_of_the_project_speaks_with_its_id_and_level(tmp_path: Path, level: str) -> None:
    with own_project(tmp_path, {}, rule(level=level)):
        (found,) = (each for each in findings({}) if each.rule == "our-own-law")
        assert (found.level, found.place, found.message) == (level, "security.vpc", "is not set; name our VPC.")
        assert [each.sentence for each in own_rules()] == ["A law of our own."]
    assert "our-own-law" not in {each.rule for each in findings({})}
    assert all_rules() == RULES


def test_a_rule_of_the_project_is_silenced_like_ours(tmp_path: Path) -> None:
    with own_project(tmp_path, {}, rule()):
        found = {each.rule for each in findings({"preflight": {"silenced": {"our-own-law": "we know this"}}})}
        assert not found & {"our-own-law", "silenced-rules-exist"}


def test_rules_may_use_dataclasses_with_postponed_annotations(tmp_path: Path) -> None:
    limits = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass Most:\n    usd: int\n"
    )
    with own_project(tmp_path, {}, limits + rule()):
        assert len(own_rules()) == 1


def test_an_error_of_the_project_can_not_be_silenced(tmp_path: Path) -> None:
    with own_project(tmp_path, {}, rule(level="error")):
        found = {each.rule for each in findings({"preflight": {"silenced": {"our-own-law": "we know this"}}})}
        assert {"our-own-law", "errors-are-not-silenced"} <= found


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("import nothing_here\n", "rules.py, line 1: ModuleNotFoundError: No module named 'nothing_here'."),
        ("def broken(:\n", "rules.py, line 1: invalid syntax."),
        (HEAD + "raise SystemExit(3)\n", "rules.py, line 2: SystemExit: 3."),
        (
            rule("1 / 0\n    yield"),
            "rules.py, line 6: the rule our_own_law failed: ZeroDivisionError: division by",
        ),
        (rule("return 5"), "rules.py, line 3: the rule our_own_law failed: TypeError: 'int' object is not iterable."),
        (rule('yield "text"'), "line 3: the rule our_own_law yields 'text'; yield Finding(field, problem, fix)."),
        (
            rule().replace("our_own_law", "fleet_law").replace("fleet_law", "image_fits_platform"),
            "rules.py, line 3: image-fits-platform is a rule of Slipway already; rename the function.",
        ),
        (HEAD + "@error\nclass Ours:\n    pass\n", "rules.py, line 2: TypeError: @error takes a function, not <class"),
        (
            rule('yield Finding("api", 3, None)'),
            "rules.py, line 3: the rule our_own_law yields a finding with the problem 3; use a text.",
        ),
        (rule("raise SystemExit(3)"), "rules.py, line 6: the rule our_own_law failed: SystemExit: 3."),
        ("\0", "rules.py: "),
        (
            rule("raise ValueError('one\\n  two')"),
            "rules.py, line 6: the rule our_own_law failed: ValueError: one two.",
        ),
        (rule() + RULE.format(level="note", body=YIELDS), "our-own-law is a rule of this file already; rename the"),
    ],
)
def test_a_mistake_in_rules_py_is_one_sentence_with_its_line(tmp_path: Path, rules: str, said: str) -> None:
    with own_project(tmp_path, {}, rules), pytest.raises(RulesError) as refusal:
        findings({})
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)
