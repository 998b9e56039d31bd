"""500 texts about things in towns, and questions about them in other words whose right answers are known."""

from collections.abc import Sequence
from operator import mul

_THINGS = [
    *(
        "astronomical clock",
        "bakery",
        "bridge",
        "bell foundry",
        "botanical garden",
        "brewery",
        "canal lock",
        "carillon",
    ),
    *("cheese market", "chess club", "fish auction", "flea market", "ferry landing", "glass workshop", "herbarium"),
    *("lighthouse", "map library", "observatory", "opera house", "paper mill", "planetarium", "printing press"),
    *("rowing regatta", "salt mine", "windmill"),
]
_TOWNS = [
    *("Aarhus", "Bern", "Coimbra", "Dresden", "Evora", "Fribourg", "Ghent", "Haarlem", "Innsbruck", "Jena", "Krakow"),
    *("Lugano", "Maribor", "Nantes", "Oviedo", "Porto", "Quimper", "Rouen", "Siena", "Tartu"),
]

TEXTS = [
    f"In {town} the {thing} was restored by volunteers and welcomes visitors from spring until the first frost."
    for thing in _THINGS
    for town in _TOWNS
]
# Every seventh text, so that each town is asked for, and the index of the right one.
QUESTIONS = [
    (f"When can I see {thing} tours, {town}?", index)
    for index, (thing, town) in enumerate((thing, town) for thing in _THINGS for town in _TOWNS)
    if index % 7 == 0
]


def best(question: Sequence[float], texts: Sequence[Sequence[float]], count: int) -> list[int]:
    """Return the indices of the nearest texts, the nearest first. All vectors have the length 1."""
    near = [sum(map(mul, question, text)) for text in texts]
    return sorted(range(len(texts)), key=lambda index: -near[index])[:count]
