"""Writes the report of a bench from its results alone: Markdown, one HTML page, and the results as JSON."""

from pathlib import Path

from slipway.measuring.figures.results import Results
from slipway.measuring.report.markdown import markdown
from slipway.measuring.report.page import page


def write(results: Results, folder: Path) -> Path:
    """Write `results.json`, `report.md` and `report.html` into the folder. Returns the page's path."""
    results.write(folder)
    (folder / "report.md").write_text(markdown(results), encoding="utf-8")
    path = folder / "report.html"
    path.write_text(page(results), encoding="utf-8")
    return path
