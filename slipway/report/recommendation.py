"""Which instance types hold a model."""

from dataclasses import dataclass

from llm_hosting.preflight.alternatives import Alternative
from llm_hosting.preflight.suitable_type import OTHER_MACHINES
from llm_hosting.resolution import Resolution


@dataclass(frozen=True)
class Recommendation:
    """facts: where those of the model come from. requests: at once, of `context` tokens; None = not known.

    alternatives: cheapest first.
    """

    name: str
    resolution: Resolution
    facts: str
    requests: int
    context: int | None
    alternatives: tuple[Alternative, ...]

    @property
    def fitting(self) -> list[Alternative]:
        """The types that hold model and requests."""
        return [each for each in self.alternatives if not each.problems]

    @property
    def choices(self) -> list[Alternative]:
        """Of those with the same accelerators, the first: more CPUs do not make a model faster."""
        seen: dict[str, Alternative] = {}
        for each in self.fitting:
            seen.setdefault(each.figures.accelerators, each)
        return list(seen.values())

    @property
    def failing(self) -> list[Alternative]:
        """The types of the right kind that are cheaper than the first that fits, or all; the dearest first."""
        end = self.alternatives.index(self.fitting[0]) if self.fitting else len(self.alternatives)
        right = [
            each
            for each in self.alternatives[:end]
            if OTHER_MACHINES not in {problem.rule for problem in each.problems}
        ]
        return right[::-1] if self.fitting else sorted(right, key=_share_held, reverse=True)


def _share_held(alternative: Alternative) -> float:
    figures = alternative.figures
    return figures.memory_in_gb * max(figures.devices, 1)
