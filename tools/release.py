"""Cuts a release: sets the version, dates its changes, and keeps what later releases must not break.

docs/upgrading.md says what is kept and why. Nothing is committed; run it again until the version has a tag.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from support.deployments.known_deployments import DEPLOYMENTS
from support.releases.kept_releases import RELEASES, Release, kept_releases
from support.repository import ROOT

# Together they have every mode, way to authorize, route and type of resource. A test compares the types.
SHIPPED = ("qwen3-4b", "qwen3-4b-async", "qwen3-4b-zero", "gpt2-ec2")
VARIANTS = (
    *("isolated", "open", "own-image", "own-network", "playground"),
    *("pools", "rolling-copies", "scaled", "small-limits", "with-api-key"),
    *("customer-keys", "front-door", "governed", "private-network", "with-user-pool"),
)
FLEETS = ("qwen3-4b",)
UNRELEASED = "## [Unreleased]\n"
CHANGED = ("CHANGELOG.md", "pyproject.toml", "tests/releases")  # by a release
NEXT = f"""\
{{version}} is ready. Read the diff, run `make check test test-package`, then:
  git add {" ".join(CHANGED)} && git commit -m "Release {{version}}" && git tag v{{version}}
Push the branch and the tag (git push origin HEAD v{{version}}): .github/workflows/release.yml builds and publishes it.
"""


class ReleaseError(Exception):
    """The release can't be cut; the message is one sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Cut the release, and print what to do next. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version", nargs="?", help="such as 0.1.1")
    parser.add_argument("--date", type=date.fromisoformat, default=date.today(), help="of the release (default: today)")
    given = parser.parse_args(arguments)
    try:
        if not given.version:
            raise ReleaseError("Name the version: make release VERSION=0.1.1")
        demand_no_other_change(ROOT)
        check(given.version, [each.version for each in kept_releases()], tags())
        changelog, project = ROOT / "CHANGELOG.md", ROOT / "pyproject.toml"
        dated = dated_changes(changelog.read_text(), given.version, given.date)
        changelog.write_text(dated)
        project.write_text(re.sub(r'^version = ".*?"', f'version = "{given.version}"', project.read_text(), flags=re.M))
        keep(given.version)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    print(NEXT.format(version=given.version), end="")
    return 0


def check(version: str, kept: Sequence[str], tagged: Sequence[str]) -> None:
    """Refuse a version that is malformed, older than a kept one, or out already. Raises ReleaseError."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ReleaseError(f"{version!r} is no version of a release; use three numbers, such as 0.1.1.")
    if f"v{version}" in tagged:
        raise ReleaseError(f"{version} is out: git has the tag v{version}; choose the next version.")
    if kept and numbers(version) < numbers(kept[-1]):
        raise ReleaseError(f"{version} is older than the kept release {kept[-1]}; choose a later version.")


def demand_no_other_change(root: Path) -> None:
    """Refuse a tree with changes that are no part of a release. Raises ReleaseError."""
    others = [f":(exclude){each}" for each in CHANGED]
    command = ["git", "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", ".", *others]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    if names := [each[3:] for each in found.split("\0") if each]:
        raise ReleaseError(f"These changes are not in a commit: {', '.join(names)}; commit or remove them first.")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def breaks(version: str, earlier: str) -> bool:
    """Whether a version may break what an earlier one promised: its first number that is not 0 differs."""
    first = next((place for place, number in enumerate(numbers(earlier)) if number), 2)
    return numbers(version)[: first + 1] != numbers(earlier)[: first + 1]


def tags() -> list[str]:
    return subprocess.run(["git", "tag"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def dated_changes(text: str, version: str, day: date) -> str:
    """Return the changelog with the unreleased changes in the section of the version. Raises ReleaseError."""
    heading = f"## [{version}] - "
    before, _, rest = text.partition(UNRELEASED)
    changes, found, later = rest.partition("\n## [")
    if heading in text and changes.strip():
        raise ReleaseError(f"CHANGELOG.md has changes below [Unreleased]; {version} is not out, so move them there.")
    if heading in text:
        return re.sub(rf"^{re.escape(heading)}.*$", f"{heading}{day}", text, flags=re.MULTILINE)
    if not changes.strip():
        raise ReleaseError("CHANGELOG.md says nothing below [Unreleased]; write down what changed.")
    return f"{before}{UNRELEASED}\n{heading}{day}\n{changes}{found}{later}"


def keep(version: str) -> None:
    """Keep the release in tests/releases, and remove releases that it may break."""
    from simulation.world.release import KINDS, remains_of  # late: the CDK takes its time to import
    from support.releases.promises import promises
    from support.releases.release_templates import templates_of

    for each in kept_releases():
        if breaks(version, each.version) or each.version == version:
            shutil.rmtree(each.folder)
    release = Release(RELEASES / version)
    for name, files in (
        ("deployments", [DEPLOYMENTS / f"{each}.yaml" for each in SHIPPED]),
        ("deployments", [ROOT / "tests" / "deployments" / f"{each}.yaml" for each in VARIANTS]),
        ("fleets", [ROOT / "fleets" / f"{each}.yaml" for each in FLEETS]),
    ):
        copy(files, release.folder / name)
    shutil.copy(ROOT / "tests" / "support" / "releases" / "own_app.py", release.own_app)
    rows = [vars(moment) for mode in KINDS for moment in remains_of(mode)]
    release.keep(templates_of(release), promises(), rows)


def copy(files: Sequence[Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy(file, folder)


if __name__ == "__main__":
    sys.exit(main())
