"""A problem of a deployment and its fix."""

from dataclasses import dataclass, replace
from typing import Literal

Level = Literal["error", "warning", "unknown", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "unknown", "note")
SCHEMA = "schema"  # the rule of findings about the file itself
_NAME = "<name>"  # in the commands of a fix: rules do not know the deployment's name


@dataclass(frozen=True)
class Finding:
    """`field` is the path in the deployment file, `problem` the sentence that follows it, without its full stop.

    fix: the way out, in the imperative; empty = there is none to choose.
    level: an error stops the synth; a warning is printed; `unknown` = public facts do not decide; a note is for
    reports only.
    file: of an overlay and its base, the one that holds the setting, below `deployments/`; else empty.
    """

    field: str
    problem: str
    fix: str = ""
    rule: str = SCHEMA
    level: Level = "error"
    file: str = ""

    @property
    def place(self) -> str:
        """The setting, and where there are two files, its own."""
        return f"{self.field} ({self.file})" if self.file else self.field

    @property
    def message(self) -> str:
        """Problem and fix as one sentence."""
        return f"{self.problem}; {self.fix}." if self.fix else f"{self.problem}."

    def named(self, name: str) -> "Finding":
        """With the deployment's name in the commands of the fix, ready to be copied."""
        return replace(self, fix=self.fix.replace(_NAME, name))
