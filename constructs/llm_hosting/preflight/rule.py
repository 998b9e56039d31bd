"""A rule: a law over a resolution, with an id and a level."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..finding import Finding, Level
from ..resolution import Resolution

Law = Callable[[Resolution], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """A small pure function that yields findings; id and level are stamped on them."""

    id: str
    level: Level
    law: Law

    @property
    def sentence(self) -> str:
        """The law in words: its docstring."""
        return " ".join((self.law.__doc__ or "").split())

    def findings(self, resolution: Resolution) -> list[Finding]:
        """All that breaks the law."""
        return [replace(finding, rule=self.id, level=self.level) for finding in self.law(resolution)]


RULES: list[Rule] = []


def error(law: Law) -> Rule:
    """Make a function a rule whose findings stop the synth; its name becomes the id."""
    return _register(law, "error")


def warning(law: Law) -> Rule:
    """Make a function a rule whose findings are printed."""
    return _register(law, "warning")


def unknown(law: Law) -> Rule:
    """Make a function a rule about questions that only the deploy answers."""
    return _register(law, "unknown")


def note(law: Law) -> Rule:
    """Make a function a rule about decisions taken for the user; printed in reports only."""
    return _register(law, "note")


def _register(law: Law, level: Level) -> Rule:
    rule = Rule(law.__name__.replace("_", "-"), level, law)
    RULES.append(rule)
    return rule
