"""Reads the files of the catalog, with the rows of the user's project laid over ours."""

import contextlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from ..file_errors import why
from ..project import ProjectError, kept_for_project, project_in_use
from .row_types import problems

Data = dict[str, Any]

_OURS = Path(__file__).parent
_FOLDER = "catalog"  # in the user's project
# The sections of a file that hold rows, each with its form.
_SECTIONS: Mapping[str, Mapping[str, type]] = {
    "instances.json": {
        "instances": dict,
        "of_ec2_alone": dict,
        "machines": dict,
        "families_with_bf16": list,
        "prices_as_of": str,
        "ec2_prices_as_of": str,
    },
    "models.json": {"models": list},
    "prices.json": {"services": dict, "instances": dict},
}
_SECTIONS_OF_ENGINE: Mapping[str, type] = {"versions": dict}
_DATE = re.compile(r"20\d\d-[01]\d(-[0-3]\d)?")
_FIRST_ZONE = timedelta(hours=14)  # a day begins so long before it does in UTC


class CatalogError(ProjectError):
    """A file of the catalog is invalid; the message names file, row and fix."""


def read(name: str) -> Data:
    """Return our file with the project's rows over ours: a column that a row of the project names replaces ours.

    name: such as `models.json` or `engines/vllm.json`.
    """
    try:
        data: Data = json.loads((_OURS / name).read_text())
    except json.JSONDecodeError as error:
        raise CatalogError(f"{name} is not valid JSON: {error}.") from error
    own = own_files().get(name, {})
    for section in sections(name).keys() & own.keys():
        over = _models_over if name == "models.json" else _rows_over
        data[section] = over(data[section], own[section], own)
    return data


def engines() -> dict[str, Data]:
    """Return the files of all engines by the engines' names."""
    return {path.stem: read(f"engines/{path.name}") for path in sorted((_OURS / "engines").glob("*.json"))}


def sections(name: str) -> Mapping[str, type]:
    """Return the sections of a file that a project may lay rows over."""
    return _SECTIONS.get(name, _SECTIONS_OF_ENGINE)


@kept_for_project
def own_files() -> Mapping[str, Data]:
    """Return the files of the project's `catalog/` by name. Raises CatalogError for the first that can't be used."""
    project = project_in_use()
    folder = project / _FOLDER if project else None
    if folder is None or not folder.is_dir():
        return {}
    known = {*_SECTIONS, *(f"engines/{path.name}" for path in (_OURS / "engines").glob("*.json"))}
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.json"))
    for name in names:
        if name not in known:
            raise CatalogError(f"{_FOLDER}/{name} is not a file of the catalog; use one of {', '.join(sorted(known))}.")
    return {name: _own(folder / name, name) for name in names}


def own_file(name: str, row: str) -> str:
    """Return the project's file that has this row; empty = the row is ours alone.

    row: the label of a version, the id of a model, or an instance type.
    """
    return f"{_FOLDER}/{name}" if row.lower() in _own_rows(name) else ""


@kept_for_project
def _own_rows(name: str) -> frozenset[str]:
    own = own_files().get(name, {})
    return frozenset(each for section in sections(name) for each in _ids(own.get(section, ())))


def demand_types(name: str, rows: Mapping[str, Data], kind: type) -> None:
    """Raise CatalogError for a row of the project that has another form than this dataclass."""
    for row_id, row in rows.items():
        if own_file(name, row_id):
            for field, problem in problems(row, kind):
                raise refuse(name, row_id, field, problem)


def refuse(name: str, row: str, field: str, problem: str) -> CatalogError:
    """Return the error about a column of a project's row."""
    return CatalogError(f"{_FOLDER}/{name}: {': '.join(filter(None, (row, field)))}: {problem}.")


def _own(path: Path, name: str) -> Data:
    place = f"{_FOLDER}/{name}"
    try:
        data = json.loads(path.read_text(), object_pairs_hook=_without_repetition)
    except (OSError, UnicodeError) as error:
        raise CatalogError(f"{place} can't be read: {why(error)}.") from error
    except ValueError as error:
        raise CatalogError(f"{place} is not valid JSON: {error}.") from error
    forms = {"source": str, "as_of": str, **sections(name)}
    if not isinstance(data, dict):
        raise CatalogError(f"{place} must be an object with {', '.join(forms)}.")
    for key, value in data.items():
        if key not in forms:
            raise CatalogError(f"{place}: {key} can't be laid over ours; use {', '.join(forms)}.")
        if not isinstance(value, forms[key]):
            raise CatalogError(f"{place}: {key} must be {_WORDS[forms[key]]}.")
    for section in sections(name).keys() & data.keys():
        if problem := _problem_of_rows(name, section, data[section]):
            raise CatalogError(f"{place}: {section}: {problem}.")
    if not data.get("source") or not (day := _day(data.get("as_of", ""))):
        raise CatalogError(f"{place}: set source, a text, and as_of, the date of the facts such as 2026-11-20.")
    if day > (datetime.now(UTC) + _FIRST_ZONE).date():
        raise CatalogError(
            f"{place}: as_of: {data['as_of']} is in the future; use the day on which you read the facts."
        )
    return data


def _day(as_of: str) -> date | None:
    """Return the day, the first of a month without a day; None = the text is no date."""
    with contextlib.suppress(ValueError):
        return date.fromisoformat(f"{as_of}-01"[:10]) if _DATE.fullmatch(as_of) else None
    return None


def _problem_of_rows(name: str, section: str, rows: Any) -> str:
    """Return why no columns can be read from the rows of a section; empty = they can be read."""
    if section in ("prices_as_of", "ec2_prices_as_of"):
        return "" if _DATE.fullmatch(rows) else "use the date of the prices, such as 2026-11-20"
    if section == "families_with_bf16":
        return "" if all(isinstance(each, str) for each in rows) else "use names of families, such as c8i"
    if name == "models.json":
        ids = [row.get("ids") if isinstance(row, dict) else None for row in rows]
        if not all(each and isinstance(each, list) and all(isinstance(one, str) for one in each) for each in ids):
            return "write each row as an object with ids, the list of its ids on the Hub"
        twice = [hub_id for hub_id, count in Counter(_ids(rows)).items() if count > 1]
        return f"{twice[0]} is there twice" if twice else ""
    form, words = ((int, float), "a number") if section == "machines" else (dict, "an object of columns")
    wrong = [row for row, columns in rows.items() if not isinstance(columns, form)]
    return f"{wrong[0]} must be {words}" if wrong else ""


_WORDS: Mapping[type, str] = {str: "a text", dict: "an object of rows by name", list: "a list"}


def _without_repetition(pairs: list[tuple[str, Any]]) -> Data:
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice")
    return data


def _ids(rows: Any) -> list[str]:
    if isinstance(rows, dict):
        return [name.lower() for name in rows]
    return [each.lower() for row in rows if isinstance(row, dict) for each in row["ids"]]


def _rows_over(ours: Any, rows: Any, own: Data) -> Any:
    if isinstance(ours, str):
        return rows
    if isinstance(ours, list):
        return [*ours, *rows]
    return ours | {name: ours.get(name, {}) | row if isinstance(row, dict) else row for name, row in rows.items()}


def _models_over(ours: list[Data], rows: list[Data], own: Data) -> list[Data]:
    """Lay each id's row over ours of that id; other ids that share our row keep it."""
    known = {hub_id.lower(): row for row in ours for hub_id in row["ids"]}
    laid = [
        {**known.get(hub_id.lower(), {}), "source": own["source"], **row, "ids": [hub_id]}
        for row in rows
        for hub_id in row["ids"]
    ]
    taken = set(_ids(rows))
    kept = [{**row, "ids": [each for each in row["ids"] if each.lower() not in taken]} for row in ours]
    return [*(row for row in kept if row["ids"]), *laid]
