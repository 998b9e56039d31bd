"""What the wheel and the source distribution hold, and that anyone builds the same bytes."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from zipfile import ZipFile

from package.conftest import Release, build
from support.repository import ROOT


def tracked() -> set[str]:
    # New files count, too: they are in the next commit.
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name for name in names if (ROOT / name).is_file()}


def test_the_wheel_installs_our_packages_alone(release: Release) -> None:
    names = ZipFile(release.wheel).namelist()
    package, version = release.wheel.name.split("-")[:2]
    folders = {"slipway", "llm_hosting", "inference_api", "local_cloud", "slipway_stacks"}
    assert {name.partition("/")[0] for name in names} == {*folders, f"{package}-{version}.dist-info"}
    assert {"slipway/py.typed", "llm_hosting/py.typed"} <= set(names)
    assert [name for name in names if "__pycache__" in name or Path(name).match("test_*.py")] == []


def test_the_source_distribution_holds_files_of_the_repository_and_no_tests_or_pictures(release: Release) -> None:
    with tarfile.open(release.source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names - tracked() == {"PKG-INFO"}
    assert [name for name in names if name.startswith(("tests/", "docs/pictures/"))] == []
    assert {"README.md", "LICENSE", "docs/install.md", "model_src/machine/setup.sh"} <= names


def test_another_folder_time_and_umask_give_the_same_bytes(release: Release, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for name in sorted(tracked()):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
        os.utime(copy / name, (0, 0))
        (copy / name).chmod((copy / name).stat().st_mode & 0o700)
    again = build(copy, tmp_path / "dist")
    assert again.wheel.read_bytes() == release.wheel.read_bytes()
    assert again.source.read_bytes() == release.source.read_bytes()
