"""README.md and docs/ are true: the example deploys without a warning, and every link leads somewhere."""

import re
from pathlib import Path

import pytest

from llm_hosting.fleets.file import parse_fleet
from llm_hosting.preflight.validation import load
from support.repository import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"!?\[[^]]*\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")


def test_the_example_of_the_readme_has_neither_error_nor_warning(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    file = tmp_path / "chat.yaml"
    file.write_text(example)
    _, findings = load(file, {})  # raises DeploymentError for an error
    assert [each for each in findings if each.level != "note"] == []


def test_the_example_of_a_fleet_is_valid(tmp_path: Path) -> None:
    (file := tmp_path / "chat.yaml").write_text(
        re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "fleet.md").read_text(), re.DOTALL)[0]
    )
    assert parse_fleet(file)[1] == []


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for file, anchor in LINK.findall(page.read_text()):
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), file
        assert not anchor or anchor in anchors(target), f"{file}#{anchor}"


def test_the_readme_leads_to_every_page() -> None:
    linked = {file for file, _ in LINK.findall((ROOT / "README.md").read_text())}
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"docs/{page.name}" not in linked] == []


def test_the_glossary_has_each_word_once_and_in_order() -> None:
    words = re.findall(r"^\| ([a-z][^|]*) \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    assert words
    assert words == sorted(set(words))


def test_every_path_in_the_table_where_to_change_something_exists() -> None:
    section = (ROOT / "docs" / "architecture.md").read_text().split("## Where to change something")[1].split("\n## ")[0]
    paths = re.findall(r"`([\w./<>*-]+/[\w./<>*-]*|[\w-]+\.(?:py|js|json|sh))`", section)
    assert len(paths) > 30
    folders = ("constructs", "lambda_src", "local_cloud", "model_src", "playground", "slipway")
    files = {file.name for folder in folders for file in (ROOT / folder).rglob("*.*")}
    missing = [each for each in paths if each not in files and not list(ROOT.glob(re.sub("<[^>]*>", "*", each)))]
    assert missing == []
