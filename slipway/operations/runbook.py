"""Shows a paragraph of docs/runbook.md, which an installed Slipway has, too."""

import re
import sys

from llm_hosting.deployment.nearest import nearest
from llm_hosting.home import HOME


def run(paragraph: str | None) -> int:
    """Print a paragraph by its anchor, or by a link to it; None = the anchors of all. Returns the exit status."""
    found = paragraphs()
    if paragraph is None:
        print("\n".join(found))
        return 0
    anchor = paragraph.rpartition("#")[2]
    if anchor not in found:
        print(f"{anchor}: the runbook has no such paragraph; did you mean {nearest(anchor, found)}?", file=sys.stderr)
        return 2
    print(found[anchor])
    return 0


def paragraphs() -> dict[str, str]:
    """Return the text of each paragraph by its anchor, which is GitHub's. A heading without text is none."""
    page = (HOME / "docs" / "runbook.md").read_text(encoding="utf-8")
    parts = [part.strip() for part in re.split("^(?=##+ )", page, flags=re.MULTILINE)[1:]]
    return {_anchor(part.partition("\n")[0].lstrip("# ")): part for part in parts if "\n" in part}


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
