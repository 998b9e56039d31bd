"""Which instance types hold a model."""

from collections.abc import Iterable
from dataclasses import dataclass

from llm_hosting.deployment.finding import Finding
from llm_hosting.preflight.recommendation import Alternative
from llm_hosting.preflight.rules.suitable_type import OTHER_MACHINES
from llm_hosting.resolution import Resolution


@dataclass(frozen=True)
class Sibling:
    """The same model in quantized weights. best: the cheapest type that holds it."""

    model_id: str
    best: Alternative


@dataclass(frozen=True)
class Recommendation:
    """Which instance types hold a model.

    facts: the source of the model's facts. requests: requests at once, each of `context` tokens; None = not known.
    alternatives: cheapest first. siblings: quantized versions that some type holds.
    """

    name: str
    resolution: Resolution
    facts: str
    requests: int
    context: int | None
    alternatives: tuple[Alternative, ...]
    siblings: tuple[Sibling, ...] = ()

    @property
    def fitting(self) -> list[Alternative]:
        """The types that hold the model and the requests."""
        return [each for each in self.alternatives if not each.problems]

    @property
    def choices(self) -> list[Alternative]:
        """One type for each kind and number of accelerators, the cheapest: more CPUs do not make a model faster.

        All measured types are included, and replace estimates for the same accelerators.
        """
        measured = [each for each in self.fitting if is_measured(each)]
        known = {each.figures.accelerators for each in measured}
        firsts = _one_of_each(each for each in self.fitting if each.figures.accelerators not in known)
        return [each for each in self.fitting if each in measured or each in firsts]

    @property
    def hindrances(self) -> list[Finding]:
        """The problems that all types of the right kind have in the same words."""
        right = self._of_right_kind
        first = right[0].problems if len(right) > 1 else ()
        return [problem for problem in first if all(problem in each.problems for each in right)]

    @property
    def failing(self) -> list[Alternative]:
        """The types of the right kind that are cheaper than the first that fits, the cheapest first.

        If none fits, all types, the largest first. One for each kind and number of accelerators: the cheapest.
        """
        if not self.fitting:
            return _one_of_each(sorted(self._of_right_kind, key=_share_held, reverse=True))
        cheaper = self.alternatives[: self.alternatives.index(self.fitting[0])]
        return _one_of_each(each for each in self._of_right_kind if each in cheaper)

    @property
    def _of_right_kind(self) -> list[Alternative]:
        return [each for each in self.alternatives if OTHER_MACHINES not in {problem.rule for problem in each.problems}]


def is_measured(alternative: Alternative) -> bool:
    """Whether the rate was measured, not estimated."""
    return alternative.rate is not None and alternative.rate.is_measured


def _one_of_each(alternatives: Iterable[Alternative]) -> list[Alternative]:
    seen: dict[str, Alternative] = {}
    for each in alternatives:
        seen.setdefault(each.figures.accelerators, each)
    return list(seen.values())


def _share_held(alternative: Alternative) -> float:
    figures = alternative.figures
    return figures.memory_in_gb * max(figures.devices, 1)
