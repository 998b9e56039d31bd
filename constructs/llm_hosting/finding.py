"""A problem of a deployment and its fix."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "unknown", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "unknown", "note")
SCHEMA = "schema"  # the rule of findings about the file itself


@dataclass(frozen=True)
class Finding:
    """`field` is the path in the deployment file, `problem` the sentence that follows it, without its full stop.

    fix: the way out, in the imperative; empty = there is none to choose.
    level: an error stops the synth; a warning is printed; `unknown` = public facts do not decide; a note is for
    reports only.
    """

    field: str
    problem: str
    fix: str = ""
    rule: str = SCHEMA
    level: Level = "error"

    @property
    def message(self) -> str:
        """Problem and fix as one sentence."""
        return f"{self.problem}; {self.fix}." if self.fix else f"{self.problem}."
