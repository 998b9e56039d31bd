"""A project of a user with facts and rules of its own, which is in use for the time of a test."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from llm_hosting.project import use_project

HEAD = {"source": "release notes of AWS's images", "as_of": "2026-11-20"}


@contextmanager
def own_project(folder: Path, catalog: Mapping[str, object], rules: str = "") -> Iterator[Path]:
    """Use a project with these files of `catalog/`, each below `HEAD` unless it is a text, and this rules.py."""
    (folder / "deployments").mkdir(parents=True, exist_ok=True)
    if not (folder / "cdk.json").exists():
        (folder / "cdk.json").write_text('{"context": {}}')
    for name, content in catalog.items():
        path = folder / "catalog" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps({**HEAD, **content}))  # type: ignore[dict-item]
    if rules:
        (folder / "rules.py").write_text(rules)
    use_project(folder)
    try:
        yield folder
    finally:
        use_project(None)
