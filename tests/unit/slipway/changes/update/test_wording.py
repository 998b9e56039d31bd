"""Differences in words: of long values the part that differs."""

import pytest

from slipway.changes import classify
from support.templates.known_changes import one

URI = "111122223333.dkr.ecr.us-east-1.amazonaws.com/a-team-of-ours-deep/djl"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("short", "shorter", "short -> shorter"),
        (f"{URI}:0.36.0", f"{URI}:0.37.0", "...rs-deep/djl:0.36.0 -> ...rs-deep/djl:0.37.0"),
        (f"{URI}:1", f"{URI}:2-cu130", "...-ours-deep/djl:1 -> ...-ours-deep/djl:2-cu130"),
        (f"1{URI}", f"2{URI}", "1111122223333.dk... -> 2111122223333.dk..."),
        ("a" * 70, "a" * 90, f"...{'a' * 15} -> ...{'a' * 35}"),
        ("a" * 70, "b" * 70, f"{'a' * 57}... -> {'b' * 57}..."),
    ],
)
def test_of_long_values_the_part_that_differs_is_told(before: str, after: str, told: str) -> None:
    known = one("", "Lambda::Function", {"Description": before}, {"Description": after})

    (change,) = classify(known.before, known.after)
    assert change.sentence == f"Description {told}, in place"
