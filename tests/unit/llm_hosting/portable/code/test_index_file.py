"""index.py: every file of the functions as text, and modules from there as from a folder."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_hosting.portable.code.index_file import InlineCodeError
from support.repository import ROOT
from support.templates.inline_code import index_file

FUNCTIONS, PAGE = ROOT / "lambda_src", ROOT / "constructs" / "llm_hosting" / "playground"
HANDLERS = sorted(path.stem for path in (FUNCTIONS / "inference_api" / "handlers").glob("[a-z]*.py"))
# The machine's own process starts from a folder, and that of the streaming runtime from both forms; the two calls wait
# for seconds.
NOT_AGAIN = (
    "--ignore=tests/unit/inference_api/worker/test_process.py",
    "--ignore=tests/unit/inference_api/http/test_streaming_runtime.py",
    "-k",
    "not say_nothing and not in_the_middle",
)


@pytest.fixture(scope="module")
def inline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inline")
    (folder / "index.py").write_text(index_file(FUNCTIONS, "inference_api.handlers."))
    (folder / "playground_index.py").write_text(index_file(PAGE, ""))
    return folder


@pytest.mark.parametrize(("folder", "handlers"), [(FUNCTIONS, "inference_api.handlers."), (PAGE, "")])
def test_it_holds_each_file_byte_for_byte_and_fits_a_literal_block(
    monkeypatch: pytest.MonkeyPatch, folder: Path, handlers: str
) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    text, index = index_file(folder, handlers), dict[str, Any](__name__="index", __file__="/var/task/index.py")
    exec(text, index)
    files = {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {name: content[1:].encode() for name, content in index["FILES"].items()} == {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in files
    }
    assert yaml.dump(text, Dumper=yaml.CSafeDumper, default_style="|").startswith('|\n  """This file')


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"if True:\n\tpass\n", "printable ASCII"),
        (b"a = 1 \n", "line 1: ends in a blank"),
        (b"a = 1\r\n", "printable ASCII"),
        (b"a = '\xe2\x80\xa6'\n", "printable ASCII"),
        (b"a = '\xff'\n", "printable ASCII"),
        (b"a = '\x00'\n", "printable ASCII"),
        (b"a = '''b'''\n", "end a string early"),
        (b"a = 'b'", "end a string early"),
        (b"# \\", "end a string early"),
    ],
)
def test_a_file_that_would_not_come_out_as_it_is_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_bytes(b"")
    (tmp_path / "package" / "module.py").write_bytes(content)
    with pytest.raises(InlineCodeError, match=re.escape("package/module.py") + f".*{message}"):
        index_file(tmp_path, "")


def test_a_module_in_a_folder_that_is_no_package_is_named(tmp_path: Path) -> None:
    (tmp_path / "package" / "inner").mkdir(parents=True)
    (tmp_path / "package" / "inner" / "page.html").write_text("")
    (tmp_path / "package" / "__init__.py").write_text("")
    index_file(tmp_path, "")
    (tmp_path / "package" / "inner" / "module.py").write_text("")
    with pytest.raises(InlineCodeError, match=r"package/inner/module\.py: .*add package/inner/__init__\.py"):
        index_file(tmp_path, "")


LOOK = """
import importlib, inspect, json, pkgutil, sys, traceback
from concurrent.futures import ThreadPoolExecutor
sys.path.insert(0, sys.argv[1])
index = importlib.import_module("index")
with ThreadPoolExecutor(20) as threads:
    found = list(threads.map(lambda name: getattr(index, name), 2 * sys.argv[2:]))
http, jobs = importlib.import_module("inference_api.http.gateway"), importlib.import_module("inference_api.jobs")
try:
    http.Request.from_event({})
except KeyError:
    trace = traceback.format_exc()
print(json.dumps({
    "handlers": [each.__wrapped__.__module__ if hasattr(each, "__wrapped__") else each.__module__ for each in found],
    "unknown": [hasattr(index, name) for name in ("no_such_handler", "__path__", "errors")],
    "file": http.__file__,
    "path": list(jobs.__path__),
    "source": inspect.getsource(http.Request.from_event),
    "trace": trace,
    "finders": len(sys.meta_path) - len(importlib.reload(index).sys.meta_path),
    "again": importlib.reload(importlib.import_module("inference_api.shared.errors")).__name__,
    "data": pkgutil.get_data("inference_api", "http/gateway.py").decode(),
}))
try:
    pkgutil.get_data("inference_api", "no.txt")
except OSError as error:
    print(type(error).__name__)
"""


def test_handlers_are_found_by_getattr_and_modules_are_as_in_a_folder(inline: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run(
        [sys.executable, "-c", LOOK, str(inline), *HANDLERS],
        env=environment,
        cwd=inline,
        capture_output=True,
        text=True,
        check=True,
    )
    content, missing = run.stdout.splitlines()
    found, source = json.loads(content), (FUNCTIONS / "inference_api" / "http" / "gateway.py").read_text()
    assert found["handlers"] == 2 * [f"inference_api.handlers.{name}" for name in HANDLERS]
    assert found["unknown"] == [False, False, False]
    assert (found["file"], found["path"]) == (
        f"{inline}/inference_api/http/gateway.py",
        [f"{inline}/inference_api/jobs"],
    )
    assert (found["finders"], found["again"]) == (0, "inference_api.shared.errors")
    assert found["source"] in source
    assert f'{inline}/inference_api/http/gateway.py", line ' in found["trace"]
    assert 'event["requestContext"].get("authorizer")' in found["trace"]
    assert (found["data"], missing) == (source, "FileNotFoundError")
    assert not (inline / "inference_api").exists()


@pytest.mark.slow
def test_the_functions_pass_their_tests_from_it_and_open_no_file_of_their_folders(inline: Path) -> None:
    """One case of each test: which form a module was read from can't depend on the case."""
    search = ":".join(map(str, (ROOT, ROOT / "constructs", ROOT / "tests")))
    run = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "-p",
                "support.templates.inline_functions",
            ),
            *(
                "-o",
                "pythonpath=. constructs tests",
                *NOT_AGAIN,
                "tests/unit/inference_api",
                "tests/unit/llm_hosting/playground",
            ),
        ],
        env=os.environ | {"PYTHONPATH": search, "INLINE_FUNCTIONS": str(inline)},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
