"""What one source says that the catalog does not say, or says otherwise."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Change:
    """A fact with another value: the catalog's, and the source's."""

    name: str
    fact: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{self.name}: {self.fact} {self.ours} -> {self.theirs}"


@dataclass(frozen=True)
class Difference:
    """The differences to one source.

    source: its name for readers. subject: what it was compared for. compared: how many of the source's facts.
    new: in the source alone. gone: in the catalog alone.
    """

    source: str
    subject: str
    compared: int
    new: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether source and catalog say the same."""
        return not (self.new or self.gone or self.changed)
