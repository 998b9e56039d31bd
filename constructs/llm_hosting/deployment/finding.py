"""A problem of a deployment and its fix."""

from dataclasses import dataclass, replace
from typing import Literal

Level = Literal["error", "warning", "unknown", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "unknown", "note")
SCHEMA = "schema"  # the rule id of findings about the file itself
_NAME = "<name>"  # in the commands of a fix, because rules do not know the deployment's name


@dataclass(frozen=True)
class Finding:
    """One problem of a deployment and its fix.

    field: the path of the setting in the deployment file.
    problem: the rest of the sentence that begins with `field`, without its full stop.
    fix: the way out, in the imperative; empty = there is no choice.
    level: an error stops the synth; a warning is printed; `unknown` = public facts do not decide; a note appears in
    reports only.
    file: the file of an overlay or its base that holds the setting, below `deployments/`; empty = there is one file
    only.
    """

    field: str
    problem: str
    fix: str = ""
    rule: str = SCHEMA
    level: Level = "error"
    file: str = ""

    @property
    def place(self) -> str:
        """The setting, followed by its file if there are two."""
        return f"{self.field} ({self.file})" if self.file else self.field

    @property
    def message(self) -> str:
        """Problem and fix as one sentence."""
        return f"{self.problem}; {self.fix}." if self.fix else f"{self.problem}."

    def named(self, name: str) -> "Finding":
        """Return the finding with the deployment's name in the commands of its fix, ready to be copied."""
        return replace(self, fix=self.fix.replace(_NAME, name))
