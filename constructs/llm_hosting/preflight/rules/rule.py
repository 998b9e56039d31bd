"""Rules: laws with an id and a level, over the resolution of a deployment or over a fleet."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from inspect import isfunction
from typing import Generic, TypeVar

from ...deployment.finding import Finding, Level
from ...resolution import Resolution

Judged = TypeVar("Judged")
Law = Callable[[Judged], Iterator[Finding]]


@dataclass(frozen=True)
class Rule(Generic[Judged]):
    """A small pure function that yields findings, and the id and level that they get."""

    id: str
    level: Level
    law: Law[Judged]

    @property
    def sentence(self) -> str:
        """The law in words: its docstring."""
        return " ".join((self.law.__doc__ or "").split())

    def findings(self, judged: Judged) -> list[Finding]:
        """Return everything that breaks the law."""
        return [replace(finding, rule=self.id, level=self.level) for finding in self.law(judged)]


class Rules(list[Rule[Judged]]):
    """The rules over one kind of subject. A method makes a function a rule, whose id is the function's name."""

    def error(self, law: Law[Judged]) -> Rule[Judged]:
        """Add a rule whose findings stop the synth."""
        return self._add(law, "error")

    def warning(self, law: Law[Judged]) -> Rule[Judged]:
        """Add a rule whose findings are printed."""
        return self._add(law, "warning")

    def unknown(self, law: Law[Judged]) -> Rule[Judged]:
        """Add a rule whose findings are questions that only the deploy answers."""
        return self._add(law, "unknown")

    def note(self, law: Law[Judged]) -> Rule[Judged]:
        """Add a rule whose findings are decisions taken for the user; only reports print them."""
        return self._add(law, "note")

    def _add(self, law: Law[Judged], level: Level) -> Rule[Judged]:
        if not isfunction(law):
            raise TypeError(f"@{level} takes a function, not {law!r}")
        rule = Rule(law.__name__.replace("_", "-"), level, law)
        self.append(rule)
        return rule


RULES = Rules[Resolution]()
error, warning, unknown, note = RULES.error, RULES.warning, RULES.unknown, RULES.note

# Ids that release 0.1.0 lets files silence, and that are now a part of another rule, an error, or gone.
FORMER = frozenset(
    {
        "arns-pin-the-region",
        "batch-fits-compilation",
        "host-image-is-derived",
        "image-answers-sagemaker",
        "image-is-pinned",
        "image-tag-is-known",
        "jobs-alone-scale-out",
        "legacy-engine",
        "machine-reads-setting",
        "option-is-read",
        "settings-have-an-effect",
        "settings-reach-engine",
        "shared-secret",
        "token-limits-have-an-effect",
        "variable-is-misspelt",
        "variable-is-read",
    }
)


def laws_of(resolution: Resolution, *laws: Law[Resolution]) -> Iterator[Finding]:
    """Yield the findings of laws that were rules in release 0.1.0, except those that the file silences by that id."""
    for law in laws:
        if law.__name__.replace("_", "-") not in resolution.deployment.preflight.silenced:
            yield from law(resolution)
