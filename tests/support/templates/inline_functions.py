"""A plugin of pytest (`-p support.templates.inline_functions`): tests import each function from its one inline text.

Only the first case of a parametrized test runs: where a module comes from can't depend on the case.

The folder that `INLINE_FUNCTIONS` names holds the functions' index.py and, as `playground_index.py`, the playground's.
"""

import importlib
import os
import sys
from importlib.resources import files
from typing import Any

import pytest

import llm_hosting.playground
from support.repository import ROOT

_FOLDERS = (f"{ROOT / 'lambda_src'}/", f"{files('llm_hosting') / 'playground' / 'serve.py'}")

sys.path.insert(0, os.environ["INLINE_FUNCTIONS"])
importlib.import_module("index")
importlib.import_module("playground_index")
sys.modules["llm_hosting.playground.serve"] = importlib.import_module("serve")
setattr(llm_hosting.playground, "serve", sys.modules["llm_hosting.playground.serve"])  # noqa: B010  (a package without attributes)


def _keep_out(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and str(arguments[0]).startswith(_FOLDERS):
        raise PermissionError(f"{arguments[0]} was opened")


sys.addaudithook(_keep_out)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
    items[:] = reversed(first.values())
