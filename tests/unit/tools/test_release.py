"""A release has a version, dated changes with links, and takes the place of the releases that it may break."""

from datetime import date

import pytest

from tools.release import ReleaseError, breaks, check, dated_changes

CHANGES = """\
# Changelog

## [Unreleased]

### Added

- A route.

## [0.1.0] - 2026-11-24

The first release.

[Unreleased]: ../../compare/v0.1.0...HEAD
[0.1.0]: ../../releases/tag/v0.1.0
"""
DAY = date(2027, 1, 2)


@pytest.mark.parametrize(
    ("earlier", "version", "may_break"),
    [
        ("0.1.0", "0.1.1", False),
        ("0.1.9", "0.1.10", False),
        ("0.1.0", "0.2.0", True),
        ("0.9.0", "1.0.0", True),
        ("1.0.0", "1.7.3", False),
        ("1.7.3", "2.0.0", True),
        ("0.0.1", "0.0.2", True),
    ],
)
def test_the_first_number_that_is_not_0_says_whether_a_release_may_break(
    earlier: str, version: str, may_break: bool
) -> None:
    assert breaks(version, earlier) is may_break


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("0.2", "'0.2' is no version of a release; use three numbers"),
        ("0.2.0rc1", "is no version"),
        ("0.1.1", "0.1.1 is out: git has the tag v0.1.1"),
        ("0.0.9", "0.0.9 is older than the kept release 0.1.0"),
    ],
)
def test_a_version_that_can_not_be_cut_is_refused(version: str, said: str) -> None:
    with pytest.raises(ReleaseError, match=said):
        check(version, ["0.1.0"], ["v0.1.1"])


def test_a_release_without_a_tag_can_be_cut_again() -> None:
    check("0.1.0", ["0.1.0"], [])


def test_unreleased_changes_get_version_date_and_links() -> None:
    assert (
        dated_changes(CHANGES, "0.1.1", DAY)
        == """\
# Changelog

## [Unreleased]

## [0.1.1] - 2027-01-02

### Added

- A route.

## [0.1.0] - 2026-11-24

The first release.

[Unreleased]: ../../compare/v0.1.1...HEAD
[0.1.1]: ../../compare/v0.1.0...v0.1.1
[0.1.0]: ../../releases/tag/v0.1.0
"""
    )


def test_a_release_that_is_cut_again_gets_another_date() -> None:
    released = dated_changes(CHANGES, "0.1.1", DAY)
    assert dated_changes(released, "0.1.1", date(2027, 1, 3)) == released.replace("2027-01-02", "2027-01-03")


def test_changes_beside_a_section_of_the_version_are_refused() -> None:
    with pytest.raises(ReleaseError, match="has changes below"):
        dated_changes(CHANGES, "0.1.0", DAY)


def test_a_release_without_changes_is_refused() -> None:
    with pytest.raises(ReleaseError, match="says nothing below"):
        dated_changes(CHANGES.replace("### Added\n\n- A route.\n", ""), "0.1.1", DAY)
