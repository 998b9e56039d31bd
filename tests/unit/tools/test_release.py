"""A release has a version, dated changes and a commit, and takes the place of the releases that it may break."""

import os
import subprocess
from datetime import date
from pathlib import Path

import pytest

from tools.release import NEXT, ReleaseError, breaks, check, dated_changes, demand_no_other_change, main

CHANGES = """\
# Changelog

## [Unreleased]

### Added

- A route.

## [0.1.0] - 2026-11-24

The first release.
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


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit, and the changes of a release that took the place of the one before."""
    files = {"CHANGELOG.md": "1", "pyproject.toml": "1", "app.py": "1", "tests/releases/0.1.0/promises.json": "1"}
    write(tmp_path, files)
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "All"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    write(tmp_path, {"CHANGELOG.md": "2", "pyproject.toml": "2", "tests/releases/0.2.0/promises.json": "{}"})
    (tmp_path / "tests/releases/0.1.0/promises.json").unlink()
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_the_commit_that_is_advised_holds_the_whole_release(repository: Path) -> None:
    demand_no_other_change(repository)
    (command,) = (line for line in NEXT.format(version="0.2.0").splitlines() if "git commit" in line)
    author = {f"GIT_{role}_{what}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(command, shell=True, cwd=repository, env=os.environ | author, check=True, capture_output=True)
    show = ["git", "show", "--format=", "--name-status", "--no-renames", "v0.2.0"]
    assert subprocess.run(show, cwd=repository, check=True, capture_output=True, text=True).stdout.splitlines() == [
        "M\tCHANGELOG.md",
        "M\tpyproject.toml",
        "D\ttests/releases/0.1.0/promises.json",
        "A\ttests/releases/0.2.0/promises.json",
    ]


def test_other_changes_are_refused_by_their_names(repository: Path) -> None:
    write(repository, {"app.py": "2", "docs/new.md": "new"})
    with pytest.raises(ReleaseError, match=r"^These changes are not in a commit: app\.py, docs/new\.md; commit"):
        demand_no_other_change(repository)


def test_a_release_needs_a_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert capsys.readouterr().err == "Name the version: make release VERSION=0.1.1\n"


def test_a_release_without_a_tag_can_be_cut_again() -> None:
    check("0.1.0", ["0.1.0"], [])


def test_unreleased_changes_get_version_and_date() -> None:
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
