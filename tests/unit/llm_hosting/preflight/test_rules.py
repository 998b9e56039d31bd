"""Each rule with deployments that break it, and with ones that just do not."""

import importlib
from collections.abc import Iterator

import pytest

from llm_hosting.preflight.check import check
from llm_hosting.preflight.finding import RULES
from rule_cases import Broken, Kept, deployment, said

MODULES = sorted({rule.check.__module__.rpartition(".")[2] for rule in RULES})
CASES = {name: importlib.import_module(f"rule_cases.{name}") for name in MODULES}
BROKEN: list[Broken] = [case for module in CASES.values() for case in module.BROKEN]
KEPT: list[Kept] = [case for module in CASES.values() for case in module.KEPT]


def named(cases: list[Broken] | list[Kept]) -> Iterator[str]:
    """For example known-instance-type and known-instance-type-2."""
    rules: list[str] = []
    for case in cases:
        rules.append(case.rule)
        yield case.rule if rules.count(case.rule) == 1 else f"{case.rule}-{rules.count(case.rule)}"


@pytest.mark.parametrize("case", BROKEN, ids=named(BROKEN))
def test_a_broken_rule_names_its_field_and_the_way_out(case: Broken) -> None:
    findings = [each for each in said(case.changes, case.level) if each.rule not in case.beside]
    assert {(each.rule, each.level, each.field) for each in findings} == {(case.rule, case.level, case.field)}
    assert any(case.words in each.message for each in findings), [each.message for each in findings]


@pytest.mark.parametrize("case", KEPT, ids=named(KEPT))
def test_a_kept_rule_says_nothing(case: Kept) -> None:
    assert [each.message for each in check(deployment(case.changes)) if each.rule == case.rule] == []


@pytest.mark.parametrize("module", MODULES)
def test_every_rule_has_a_case_that_breaks_it(module: str) -> None:
    rules = {rule.id for rule in RULES if rule.check.__module__.endswith(f".{module}")}
    broken: list[Broken] = CASES[module].BROKEN
    assert rules == {case.rule for case in broken}


def test_a_case_of_what_is_kept_names_a_rule_that_exists() -> None:
    assert {case.rule for case in KEPT} <= {rule.id for rule in RULES}
