"""What a rule is and what it finds."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from ..deployment import Deployment

Check = Callable[[Deployment], Iterator[tuple[str, str]]]
Level = Literal["error", "warning", "unknown", "note"]


# Where the way out begins in a rule's sentence: after a semicolon or colon, in the imperative.
_FIX = re.compile(
    r"(; |: )(?=(add|ask|change|choose|copy|deploy|did you mean|find|have|look|make|mend|move|name|prefer|push|put|"
    r"read|remove|rename|run|save|see|set|shorten|stage|use)\b)"
)


@dataclass(frozen=True)
class Finding:
    """`field` is the path in the deployment file, `message` the sentence that follows it."""

    rule: str
    level: Level
    field: str
    message: str

    @property
    def fix(self) -> str:
        """What to do; empty where the sentence does not say."""
        ends = [match.end() for match in _FIX.finditer(self.message)]
        return self.message[ends[-1] :] if ends else ""


@dataclass(frozen=True)
class Rule:
    """A small pure function that yields (field, message) pairs.

    Errors stop the synth, warnings print, `unknown` prints what public facts do not decide; a note is for reports only.
    """

    id: str
    level: Level
    check: Check

    def findings(self, deployment: Deployment) -> list[Finding]:
        """All that the rule has to say about a deployment."""
        return [Finding(self.id, self.level, field, message) for field, message in self.check(deployment)]


RULES: list[Rule] = []


def error(check: Check) -> Rule:
    """Make a function a rule whose findings stop the synth; its name becomes the id."""
    return _register(check, "error")


def warning(check: Check) -> Rule:
    """Make a function a rule whose findings print."""
    return _register(check, "warning")


def unknown(check: Check) -> Rule:
    """Make a function a rule that says what nobody can know before the deploy."""
    return _register(check, "unknown")


def note(check: Check) -> Rule:
    """Make a function a rule that says what was decided for the reader, in reports only."""
    return _register(check, "note")


def _register(check: Check, level: Level) -> Rule:
    rule = Rule(check.__name__.replace("_", "-"), level, check)
    RULES.append(rule)
    return rule
