"""The questions of `make smoke`: their stacks, their price, and the lines of the documents that they prove."""

import re

import pytest

from llm_hosting.catalog.instances import instances
from slipway.checking.check import check
from support.repository import ROOT
from tools.smoke.asking.question import Line, Question
from tools.smoke.asking.stacks import SmokeStack
from tools.smoke.estimate import lanes_of
from tools.smoke.money import minutes_of, price_of_lane
from tools.smoke.questions import UnknownQuestionError, asked_of_aws, chosen, names_of_stacks, stacks_of

QUESTIONS = asked_of_aws()
HEADING = re.compile(r"^(#+) (.*)$")


@pytest.mark.parametrize("stack", stacks_of(QUESTIONS), ids=lambda stack: stack.name)
def test_the_deployments_are_ready_and_need_no_gpu(stack: SmokeStack) -> None:
    result = check(stack.file, ())
    assert result.report.verdict == "ready", result.report.findings
    assert result.deployment
    if not result.deployment.hosting.runs_on_machines:
        assert [instances()[name].kind for name in result.deployment.hosting.instance_types] == ["cpu"]


def section(line: Line) -> str:
    """Return the text below a heading, up to the next one of the same level or above, with single blanks."""
    text, level = list[str](), 0
    for each in (ROOT / line.file).read_text().splitlines():
        if found := HEADING.match(each):
            if level and len(found[1]) <= level:
                break
            level = level or (len(found[1]) if found[2] == line.heading else 0)
        elif level:
            text.append(each)
    assert level, f"{line.file} has no heading {line.heading}"
    return " ".join(" ".join(text).split())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_the_line_that_an_answer_proves_stands_in_the_documents(question: Question) -> None:
    assert question.line.text in section(question.line)


def test_each_question_has_an_id_of_its_own_and_each_stack_a_reserved_name() -> None:
    ids = [each.id for each in QUESTIONS]
    assert len(ids) == len(set(ids))
    assert all(name == "slipway-smoke" or name.startswith("slipway-smoke-") for name in names_of_stacks())


def test_all_questions_take_about_an_hour_and_less_than_five_dollars() -> None:
    lanes = lanes_of(QUESTIONS)
    assert max(map(minutes_of, lanes)) <= 70
    assert sum(map(price_of_lane, lanes)) < 5


def test_a_chosen_question_brings_the_deploy_of_its_stack() -> None:
    assert [each.id for each in chosen(["batch"])] == ["deploy-slipway-smoke-ec2", "batch"]


def test_a_misspelt_question_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownQuestionError, match="did you mean one of batch"):
        chosen(["bach"])
