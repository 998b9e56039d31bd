"""What CloudWatch demands of a dashboard's body.

Source: Amazon CloudWatch API Reference, "Dashboard Body Structure and Syntax", and the quotas of dashboards.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

COLUMNS = 24
_MOST_WIDGETS, _MOST_OF_WIDGET, _MOST_OF_DASHBOARD, _MOST_ALARMS, _MOST_LOG_GROUPS = 500, 500, 2500, 100, 50
_HIGHEST, _MOST_DIMENSIONS = 1000, 30
# What the properties of each type must have.
_NEEDED = {"text": ("markdown",), "metric": ("region",), "log": ("region", "query"), "alarm": ("alarms",)}
_FUNCTIONS_TAKE_NO_IDS = re.compile(r"'[^']*'|\"[^\"]*\"|\[[^\]]*\"[^\]]*\]")  # texts of SEARCH and its like
_ID = re.compile(r"(?<![A-Za-z0-9_])[a-z][A-Za-z0-9_]*")


def problems(body: str) -> list[str]:
    """Return what is wrong with a body, each with its place; empty = CloudWatch takes it."""
    try:
        document = json.loads(body)
    except ValueError:
        return ["/: the body is not valid JSON"]
    widgets = document.get("widgets") if isinstance(document, dict) else None
    if not isinstance(widgets, list):
        return ["/: the body is no object with a list of widgets"]
    found = [f"/widgets/{number}{each}" for number, widget in enumerate(widgets) for each in _of_widget(widget)]
    if len(widgets) > _MOST_WIDGETS:
        found.append(f"/widgets: {len(widgets)} of at most {_MOST_WIDGETS} widgets")
    if not found and (count := sum(map(len, map(_metrics, widgets)))) > _MOST_OF_DASHBOARD:
        found.append(f"/widgets: {count} of at most {_MOST_OF_DASHBOARD} metrics")
    return found


def _of_widget(widget: Any) -> Iterator[str]:
    kind = widget.get("type") if isinstance(widget, dict) else None
    properties = widget.get("properties") if isinstance(widget, dict) else None
    if kind not in _NEEDED:
        yield f"/type: {kind!r} is none of {', '.join(_NEEDED)}"
    elif not isinstance(properties, dict):
        yield "/properties: missing"
    else:
        yield from _of_place(widget)
        yield from (f"/properties/{name}: missing" for name in _NEEDED[kind] if not properties.get(name))
        if kind == "metric":
            yield from _of_metrics(properties)
        if len(properties.get("alarms") or []) > _MOST_ALARMS:
            yield f"/properties/alarms: more than {_MOST_ALARMS}"
        if str(properties.get("query", "")).count("SOURCE ") > _MOST_LOG_GROUPS:
            yield f"/properties/query: more than {_MOST_LOG_GROUPS} log groups"


def _of_place(widget: dict[str, Any]) -> Iterator[str]:
    for name, least, most in (("x", 0, COLUMNS - 1), ("y", 0, None), ("width", 1, COLUMNS), ("height", 1, _HIGHEST)):
        value = widget.get(name)
        if type(value) is not int or value < least or (most is not None and value > most):
            yield f"/{name}: {value!r} is no whole number from {least}{f' to {most}' if most else ''}"
            return
    if widget["x"] + widget["width"] > COLUMNS:
        yield f"/width: column {widget['x'] + widget['width']} of {COLUMNS}"


def _metrics(widget: dict[str, Any]) -> list[Any]:
    found = widget["properties"].get("metrics", [])
    return found if isinstance(found, list) else []


def _of_metrics(properties: dict[str, Any]) -> Iterator[str]:
    rows = properties.get("metrics")
    if not isinstance(rows, list) or not rows or not all(isinstance(each, list) and each for each in rows):
        yield "/properties/metrics: no list of metrics"
        return
    if len(rows) > _MOST_OF_WIDGET:
        yield f"/properties/metrics: {len(rows)} of at most {_MOST_OF_WIDGET}"
    options = [row[-1] if isinstance(row[-1], dict) else {} for row in rows]
    ids = [each["id"] for each in options if "id" in each]
    yield from (
        f"/properties/metrics: the id {each!r} stands twice" for each in sorted({e for e in ids if ids.count(e) > 1})
    )
    for number, (row, option) in enumerate(zip(rows, options, strict=True)):
        place, names = f"/properties/metrics/{number}", [each for each in row if each is not option]
        if expression := option.get("expression"):
            unknown = set(_ID.findall(_FUNCTIONS_TAKE_NO_IDS.sub("", expression))) - set(ids)
            yield from (f"{place}: the expression has the unknown id {each!r}" for each in sorted(unknown))
        elif len(names) < 2 or len(names) % 2 or len(names) > 2 + 2 * _MOST_DIMENSIONS:
            yield f"{place}: {len(names)} parts are no namespace, name and pairs of dimensions"
        elif not all(isinstance(each, str) and each for each in names):
            yield f"{place}: a part of the metric is no text"
