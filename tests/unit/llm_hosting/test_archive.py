"""The archive of a handler: the same input gives the same bytes, and Java reads the settings back."""

import ast
import gzip
import io
import os
import re
import shutil
import sys
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_hosting.archive import ArchiveError, handler_folders, pack, settings_file
from local_cloud.model_server.djl.properties import parse_properties
from support.repository import ROOT

HANDLERS = ROOT / "model_src"
PROPERTIES = {"engine": "DeepSpeed", "option.tensor_parallel_degree": "8"}
# Modules that an image holds; all others are in the archive or in requirements.txt.
FROM_THE_IMAGE = {"deepspeed", "djl_python", "fastertransformer", "huggingface_hub", "torch", "transformers"}


def members(archive: bytes) -> list[tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as opened:
        return opened.getmembers()


def copy(source: Path, target: Path, *, backwards: bool = False) -> Path:
    """Copy `model_src`, with the files written in one order or the other, so that folders list them in that order."""
    for path in sorted(source.rglob("*"), reverse=backwards):
        if path.is_file() and "__pycache__" not in path.parts:
            written = target / path.relative_to(source)
            written.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, written)
    return target


def test_an_archive_holds_the_handler_the_shared_modules_and_the_settings() -> None:
    archive = pack(HANDLERS / "deepspeed", PROPERTIES)
    names = [member.name for member in members(archive)]
    assert names == ["generation_request.py", "model.py", "requirements.txt", "serving.properties", "weights.py"]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    first = copy(HANDLERS, tmp_path / "first")
    before = os.umask(0o077)
    try:
        second = copy(HANDLERS, tmp_path / "second", backwards=True)
    finally:
        os.umask(before)
    for age, path in enumerate(second.rglob("*.py")):
        os.utime(path, (age, age))
        path.chmod(0o600 if age % 2 else 0o755)
    (second / "deepspeed" / "__pycache__").mkdir()
    (second / "deepspeed" / "__pycache__" / "model.cpython-311.pyc").write_bytes(b"compiled")
    (second / "deepspeed" / ".DS_Store").write_bytes(b"seen by a file manager")
    turned = dict(reversed(PROPERTIES.items()))
    assert pack(first / "deepspeed", PROPERTIES) == pack(second / "deepspeed", turned)


def test_another_byte_gives_another_archive(tmp_path: Path) -> None:
    folder = copy(HANDLERS, tmp_path) / "deepspeed"
    before = pack(folder, PROPERTIES)
    (folder / "model.py").write_text((folder / "model.py").read_text() + "#")
    assert pack(folder, PROPERTIES) != before


def test_an_archive_names_no_time_owner_or_machine() -> None:
    archive = pack(HANDLERS / "transformers", PROPERTIES)
    assert archive[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # gzip's header without a name, a time or a system
    for member in members(archive):
        assert (member.mtime, member.uid, member.gid, member.uname, member.gname) == (0, 0, 0, "", "")
        assert (member.mode, member.isfile()) == (0o644, True)


@given(size=st.sampled_from([0, 1, 65_535, 65_536, 200_001]))
def test_any_size_of_a_file_unpacks_as_it_was(size: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("handlers") / "own"
    folder.mkdir()
    (folder / "model.py").write_bytes(b"x" * size)
    content = gzip.decompress(pack(folder, {}))
    with tarfile.open(fileobj=io.BytesIO(content)) as opened:
        file = opened.extractfile("model.py")
        assert file
        assert file.read() == b"x" * size


def test_settings_alone_make_an_archive() -> None:
    assert [member.name for member in members(pack(None, PROPERTIES))] == ["serving.properties"]


def test_settings_are_sorted_lines() -> None:
    assert settings_file({"option.b": "2", "engine": "Python"}) == b"engine=Python\noption.b=2\n"


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=40), max_size=5))
def test_any_setting_reads_back_as_it_was(properties: dict[str, str]) -> None:
    assert parse_properties(settings_file(properties).decode("ascii")) == properties


def test_properties_are_read_as_java_reads_them() -> None:
    text = r"""
# a comment
! another

engine = Python
  option.a: b = c
option.b   two words
option.c
long=one \
    two
path=C\:\\models
name=caf\u00e9
"""
    assert parse_properties(text) == {
        "engine": "Python",
        "option.a": "b = c",
        "option.b": "two words",
        "option.c": "",
        "long": "one two",
        "path": r"C:\models",
        "name": "café",
    }


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (None, None, "own: there is no model.py; DJL Serving runs the `handle` function of that file."),
        ("serving.properties", "engine=Python", "own/serving.properties is made of the deployment file"),
        ("weights.py", "", "own/weights.py would hide shared/weights.py; give it another name."),
    ],
)
def test_a_folder_without_a_valid_handler_is_refused(
    tmp_path: Path, file: str | None, text: str | None, message: str
) -> None:
    folder = copy(HANDLERS / "shared", tmp_path / "shared").parent / "own"
    folder.mkdir()
    if file and text is not None:
        (folder / "model.py").write_text("")
        (folder / file).write_text(text)
    with pytest.raises(ArchiveError, match=re.escape(message)):
        pack(folder, {})


def test_a_link_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "model.py").symlink_to(HANDLERS / "transformers" / "model.py")
    with pytest.raises(ArchiveError, match=r"own/model\.py is a link, which no archive holds; copy the file\."):
        pack(folder, {})


def test_the_handlers_are_the_folders_with_a_model() -> None:
    assert handler_folders(HANDLERS) == ("deepspeed", "fastertransformer", "transformers")


@pytest.mark.parametrize("handler", handler_folders(HANDLERS))
def test_a_handler_runs_on_its_images_python_and_imports_only_packages_of_the_image(handler: str) -> None:
    pinned = re.findall(r"^(\w+)==", (HANDLERS / handler / "requirements.txt").read_text(), re.MULTILINE)
    own = {path.stem for path in [*(HANDLERS / handler).glob("*.py"), *(HANDLERS / "shared").glob("*.py")]}
    known = {*own, *pinned, *FROM_THE_IMAGE, *sys.stdlib_module_names}
    for path in [HANDLERS / handler / "model.py", *(HANDLERS / "shared").glob("*.py")]:
        tree = ast.parse(path.read_text(), feature_version=(3, 8))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert {alias.name.partition(".")[0] for alias in node.names} <= known
            elif isinstance(node, ast.ImportFrom):
                assert node.module
                assert node.module.partition(".")[0] in known
