"""README.md and docs/ are true: examples deploy, every page can be found, and every linked file is there."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from llm_hosting.fleets.file import parse_fleet
from llm_hosting.preflight.validation import load
from slipway.__main__ import command_line
from support.repository import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"!?\[[^]]*\]\((?!https?:)([^)#\s]+)(?:#[^)\s]*)?\)")
IN_SITE = {
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "docs",
    "examples",
}  # which `make docs` copies


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_linked_file_exists_and_is_in_the_site(page: Path) -> None:
    """`make docs` runs this for pictures and files; the site's builder checks links to pages, and their anchors."""
    for file in LINK.findall(page.read_text()):
        target = (page.parent / file).resolve()
        assert target.is_file(), file
        assert target.relative_to(ROOT).parts[0] in IN_SITE, file


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_is_one(page: Path) -> None:
    """Parse the lines of code that run `slipway`, and look up the verbs that sentences name."""
    text, parser = page.read_text(), command_line()
    blocks = re.findall(r"^ *```(?:sh|bash|console)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    for line in re.findall(r"^(?: *\$)? *(slipway [^&|\n]*)", "\n".join(blocks).replace("\\\n", " "), re.MULTILINE):
        parser.parse_args(shlex.split(line, comments=True)[1:])
    for verb in re.findall(r"`slipway ([a-z]+)", text):
        with pytest.raises(SystemExit, match="0"):
            parser.parse_args([verb, "-h"])


def test_the_front_page_leads_to_every_page() -> None:
    front = ROOT / "docs" / "README.md"
    linked = {(front.parent / file).resolve() for file in LINK.findall(front.read_text())}
    assert set(PAGES) - linked == {front}


def test_the_site_lists_every_page_once() -> None:
    site = tomllib.loads((ROOT / "docs" / "zensical.toml").read_text())
    listed = re.findall(r"'([^']*\.md)'", str(site["project"]["nav"]))
    assert sorted(listed) == sorted(str(page.relative_to(ROOT)) for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_belongs_to_an_item_of_a_list_stands_four_spaces_in(page: Path) -> None:
    """GitHub is content with less; the site then ends the list."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"^ {1,3}(?:[-*] |\d+\. |```).*", text, re.MULTILINE) == []
    assert re.findall(r"\n\n {1,3}\S.*", text) == []


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
