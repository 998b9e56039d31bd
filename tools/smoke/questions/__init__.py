"""The questions of the smoke test, a module for each subject."""

from collections.abc import Collection, Iterable

from llm_hosting.deployment.nearest import nearest
from tools.smoke.asking.question import Question
from tools.smoke.asking.stacks import SmokeStack
from tools.smoke.questions import (
    account,
    asynchronous,
    batches,
    component,
    deploying,
    keys,
    machines,
    observability,
    parts,
    rendered,
    streams,
    unfit_updates,
    updating,
)

_MODULES = (
    deploying,
    account,
    streams,
    asynchronous,
    component,
    updating,
    keys,
    batches,
    machines,
    unfit_updates,
    observability,
    parts,
    rendered,
)


def asked_of_aws() -> tuple[Question, ...]:
    """Every question, in the order in which a stack is asked: its deploy first."""
    questions = [each for module in _MODULES for each in module.QUESTIONS]
    deploys = map(deploying.first_deploy, stacks_of(questions))
    return tuple(sorted([*deploys, *questions], key=lambda each: each.is_last))


def stacks_of(questions: Iterable[Question]) -> list[SmokeStack]:
    """The stacks that these questions ask for, in their order."""
    return list(dict.fromkeys(each.stack for each in questions if each.stack))


def names_of_stacks() -> list[str]:
    """The names of all stacks that a run can make."""
    questions = asked_of_aws()
    return [each.name for each in stacks_of(questions)] + [name for each in questions for name in each.makes]


def chosen(ids: Collection[str]) -> tuple[Question, ...]:
    """The questions with these ids, and the deploys that they need; all without ids. Raises UnknownQuestionError."""
    questions = asked_of_aws()
    known = {each.id for each in questions}
    if unknown := [id_ for id_ in ids if id_ not in known]:
        near = nearest(unknown[0], known)
        raise UnknownQuestionError(f"--only {unknown[0]}: there is no such question; did you mean {near}?")
    stacks = stacks_of(each for each in questions if not ids or each.id in ids)
    return tuple(each for each in questions if not ids or each.id in ids or (each.is_deploy and each.stack in stacks))


class UnknownQuestionError(Exception):
    """The message is one sentence."""
