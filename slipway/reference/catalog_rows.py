"""Writes rows of the catalog's models.json from lock files."""

import json
import sys
from collections.abc import Sequence
from dataclasses import MISSING, fields
from datetime import date
from pathlib import Path
from typing import Any

from llm_hosting.catalog.layers import own_files
from llm_hosting.catalog.models import MODELS_FILE, ModelShape
from llm_hosting.catalog.vision import VisionShape
from llm_hosting.deployment.lock import LockError, read_lock
from llm_hosting.file_errors import why

Row = dict[str, Any]

_OF_THE_CATALOG = ("ids", "source", "needs")  # a lock does not hold these
_COLUMNS = [each for each in fields(ModelShape) if each.name not in ("ids", "source")]
_OPTIONAL = {each.name for each in _COLUMNS if each.default is not MISSING or each.default_factory is not MISSING}

_USUAL_VISION = {each.name: each.default for each in fields(VisionShape) if each.default is not MISSING}


def catalog_of(project: Path, name: str = MODELS_FILE.name) -> Path:
    """Return the file for a project's rows: our own in a checkout of Slipway, otherwise one of the project.

    Raises CatalogError if the project's file can't be used.
    """
    if MODELS_FILE.is_relative_to(project.resolve()):
        return MODELS_FILE.with_name(name)
    own_files()
    return project / "catalog" / name


def run(locks: Sequence[Path], catalog: Path) -> int:
    """Write the rows. Returns the exit status: 0 if they are written, 2 after a problem, which was printed; then no
    row is written.

    catalog: the file with the rows; it is made if it is missing.
    """
    new: dict[str, Any] = {
        "source": "files of the models at the commits of their locks",
        "as_of": str(date.today()),
        "models": [],
    }
    content: dict[str, Any] = json.loads(catalog.read_text()) if catalog.exists() else new
    rows = {hub_id: row for row in content["models"] for hub_id in row["ids"]}
    said = []
    for path in locks:
        try:
            hub_id, facts = _facts(path)
        except (OSError, UnicodeError) as error:
            print(f"{path} can't be read: {why(error)}.", file=sys.stderr)
            return 2
        except LockError as error:
            print(f"{path.name} {error}", file=sys.stderr)
            return 2
        known = next((each for each in rows if each.lower() == hub_id.lower()), hub_id)
        said.append(f"{known}: {_difference(rows.get(known), facts)}")
        old = rows.get(known, {})
        gated = old.get("gated") if facts["gated"] is None else facts["gated"]  # files in S3 do not tell
        rows[known] = facts | {"needs": old.get("needs", {}), "gated": gated}
    catalog.parent.mkdir(exist_ok=True)
    catalog.write_text(written(content, rows))
    print("\n".join(said))
    return 0


def written(content: dict[str, Any], rows: dict[str, Row]) -> str:
    """The text of models.json: a line for each shape, with all ids that share it, sorted."""
    shared: dict[str, list[str]] = {}
    for hub_id, row in rows.items():
        named = [each.name for each in _COLUMNS if each.name in row]  # a project's row may have a few columns only
        names = [name for name in named if name not in _OPTIONAL or row[name] not in (None, {})]
        kept = {name: row[name] for name in (*names, *(name for name in ("source",) if name in row))}
        shared.setdefault(json.dumps(kept, ensure_ascii=False), []).append(hub_id)
    lines = [f'    {{"ids": {json.dumps(sorted(ids, key=str.lower))}, {kept[1:]}' for kept, ids in shared.items()]
    head = json.dumps(content | {"models": []}, indent=2, ensure_ascii=False).removesuffix("[]\n}")
    return f"{head}[\n{(',' + chr(10)).join(sorted(lines, key=str.lower))}\n  ]\n}}\n"


def _facts(path: Path) -> tuple[str, Row]:
    lock = read_lock(path.read_text(), path.name)
    facts = {name: value for name, value in vars(lock.shape).items() if name not in _OF_THE_CATALOG}
    if vision := lock.shape.vision:
        facts["vision"] = {name: value for name, value in vars(vision).items() if value != _USUAL_VISION.get(name)}
    if not (facts["architecture"] and facts["parameters_in_billions"]):
        raise LockError("lacks architecture or size, without which a row is of no use")
    return lock.model_id, facts


def _difference(row: Row | None, facts: Row) -> str:
    if row is None:
        return "added"
    changed = (f"{name} {row.get(name)} -> {facts[name]}" for name in facts if row.get(name) != facts[name])
    return ", ".join(changed) or "unchanged"
