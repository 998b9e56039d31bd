"""Versions in labels compare as versions."""

import pytest

from llm_hosting.catalog.versions import version_of


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("0.9.0", "0.28.0-lmi10"),
        ("0.5.3", "0.5.3.post1"),
        ("0.5.3.post1", "0.5.4"),
        ("huggingface-0.14.0", "huggingface-0.17.0"),
        ("own", "0.1"),
    ],
)
def test_an_older_version_is_less(older: str, newer: str) -> None:
    assert version_of(older) < version_of(newer)


@pytest.mark.parametrize(("one", "same"), [("0.28.0-lmi10", "0.28"), ("0.22.1rc0", "0.22.1"), ("server-2", "2.0")])
def test_labels_of_one_version_are_equal(one: str, same: str) -> None:
    assert version_of(one) == version_of(same)
