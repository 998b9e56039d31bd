"""A rule: a law, mostly over a resolution, with an id and a level."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ...deployment.finding import Finding, Level
from ...resolution import Resolution

Judged = TypeVar("Judged")
Law = Callable[[Resolution], Iterator[Finding]]


@dataclass(frozen=True)
class Rule(Generic[Judged]):
    """A small pure function that yields findings; id and level are stamped on them."""

    id: str
    level: Level
    law: Callable[[Judged], Iterator[Finding]]

    @property
    def sentence(self) -> str:
        """The law in words: its docstring."""
        return " ".join((self.law.__doc__ or "").split())

    def findings(self, judged: Judged) -> list[Finding]:
        """All that breaks the law."""
        return [replace(finding, rule=self.id, level=self.level) for finding in self.law(judged)]


RULES: list[Rule[Resolution]] = []


def error(law: Law) -> Rule[Resolution]:
    """Make a function a rule whose findings stop the synth; its name becomes the id."""
    return _register(law, "error")


def warning(law: Law) -> Rule[Resolution]:
    """Make a function a rule whose findings are printed."""
    return _register(law, "warning")


def unknown(law: Law) -> Rule[Resolution]:
    """Make a function a rule about questions that only the deploy answers."""
    return _register(law, "unknown")


def note(law: Law) -> Rule[Resolution]:
    """Make a function a rule about decisions taken for the user; printed in reports only."""
    return _register(law, "note")


def _register(law: Law, level: Level) -> Rule[Resolution]:
    rule = Rule(law.__name__.replace("_", "-"), level, law)
    RULES.append(rule)
    return rule
