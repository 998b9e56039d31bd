"""A question that only AWS can answer, its answer, and the line of the documents that it proves."""

from collections.abc import Callable
from dataclasses import dataclass

from tools.smoke.asking.stacks import SmokeStack
from tools.smoke.asking.trial import Trial


@dataclass(frozen=True)
class Line:
    """A statement of the documents. text: words that stand below this heading; line breaks don't count."""

    file: str
    heading: str
    text: str


@dataclass(frozen=True)
class Answer:
    """What AWS did. good: False if Slipway relies on something else, so that the documents or the code must change."""

    seen: str
    good: bool = True


class CouldNotAskError(Exception):
    """The question could not be asked, so there is no answer; the message is one sentence with the reason."""


@dataclass(frozen=True)
class Question:
    """One question.

    id: a word for `--only`. title: the question itself. expected: the behaviour on which Slipway relies; "" if it
    relies on none. ask: finds the answer; any exception is the question's own failure and stops no other question.
    line: what an answer proves, or what has to change. minutes: how long it takes on AWS. stack: the stack that is
    deployed before; None = the question deploys what it needs. usd: what it costs beside the stack's instances. makes:
    names of stacks that `ask` itself creates; whatever happens, they are removed. during_deploy: asked from the moment
    that the deploy of its stack begins; `ask` ends when trial.is_deployed is set. is_deploy: the deploy of its stack,
    before all others. is_last: after all others of its stack. local: what the local cloud can't play, so that its
    answer is one by design; "" if nothing. changes_line: any answer changes the line, which estimates it or says that
    it is not known.
    """

    id: str
    title: str
    expected: str
    ask: Callable[[Trial], Answer]
    line: Line
    minutes: float
    stack: SmokeStack | None = None
    usd: float = 0
    makes: tuple[str, ...] = ()
    during_deploy: bool = False
    is_deploy: bool = False
    is_last: bool = False
    local: str = ""
    changes_line: bool = False
