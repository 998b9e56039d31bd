"""Mutants are planted by what the code says, however it is laid out."""

import pytest

from simulation.mutants import Mutant


# fmt: off
def may_enter(age: int, has_ticket: bool) -> bool:
    """has_ticket and (age >= 18) are asked for, as the code says."""
    return (
        has_ticket  # and (age >= 18)
        and
        age >= 18
    )
# fmt: on


def test_line_breaks_comments_and_docstrings_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    Mutant("children enter", "", may_enter, "has_ticket and age >= 18", "has_ticket").plant(monkeypatch)
    assert may_enter(4, True)


@pytest.mark.parametrize("old", ["is_member", "a"], ids=["missing", "ambiguous"])
def test_words_that_do_not_stand_once_in_the_code_are_an_error(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=rf"'{old}' must stand once in this code:\ndef may_enter"):
        Mutant("members only", "", may_enter, old, "False").plant(monkeypatch)
    assert not may_enter(4, True)
