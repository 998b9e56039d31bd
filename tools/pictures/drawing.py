"""A drawing as SVG: boxes, lines and text, in the colours of the reader's light or dark mode."""

from dataclasses import dataclass, field
from typing import Literal
from xml.sax.saxutils import escape

Anchor = Literal["start", "middle", "end"]

# By class: the property, its colour in light mode, its colour in dark mode.
_COLOURS = {
    ".page": ("fill", "#ffffff", "#0d1117"),
    ".page, .frame": ("stroke", "#d0d7de", "#3d444d"),
    ".box, .hollow": ("fill", "#f6f8fa", "#151b23"),
    ".box": ("stroke", "#818b98", "#656c76"),
    ".strong": ("fill", "#ddf4ff", "#121d2f"),
    ".strong, .flow, .hollow, .solid": ("stroke", "#0969da", "#4493f8"),
    ".solid, .arrow": ("fill", "#0969da", "#4493f8"),
    ".wire": ("stroke", "#818b98", "#656c76"),
    "text": ("fill", "#1f2328", "#f0f6fc"),
    ".quiet": ("fill", "#59636e", "#9198a1"),
}
_SHAPES = """\
text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
.code { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
.title { font-weight: 600; }
.quiet { font-size: 12px; }
.frame, .wire, .flow { fill: none; }
.frame { stroke-dasharray: 5 4; }
.flow, .hollow, .strong { stroke-width: 1.5; }"""
# Pixels for a letter by class, on average over a text in DejaVu, the widest of the fonts that readers have.
_LETTERS = {"": 7.9, "title": 8.8, "quiet": 7.3, "code": 7.3}


@dataclass
class Drawing:
    """Lengths are pixels; `name` is what screen readers say of the picture, `description` what it shows."""

    width: int
    height: int
    name: str
    description: str
    parts: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, words: str, kind: str = "", *, room: float, anchor: Anchor = "start") -> None:
        """One line with its baseline at y. Raises ValueError for words that may need more than `room` pixels."""
        needed = _LETTERS[kind] * len(words)
        if needed > room:
            raise ValueError(f"{words!r} may need {needed:.0f} pixels and has {room:g}")
        where = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.parts.append(f'<text{_class(kind)} x="{x:g}" y="{y:g}"{where}>{escape(words)}</text>')

    def box(self, x: float, y: float, width: float, height: float, kind: str = "box") -> None:
        """A rectangle with round corners."""
        self.parts.append(f'<rect{_class(kind)} x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>')

    def line(self, *points: tuple[float, float], kind: str = "wire", arrow: bool = False) -> None:
        """Through the points, which lie above or beside each other."""
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        end = ' marker-end="url(#arrow)"' if arrow else ""
        self.parts.append(f'<path{_class(kind)} d="{path}"{end}/>')

    def dot(self, x: float, y: float, *, solid: bool) -> None:
        """A joint on a wire."""
        self.parts.append(f'<circle{_class("solid" if solid else "hollow")} cx="{x:g}" cy="{y:g}" r="5"/>')

    def svg(self) -> str:
        """The file's content."""
        marker = (
            '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
            ' markerUnits="userSpaceOnUse" orient="auto"><path class="arrow" d="M0 0L8 4L0 8Z"/></marker>'
        )
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}"'
            f' width="{self.width}" height="{self.height}" role="img" aria-labelledby="name description">'
        )
        lines = [
            head,
            f'<title id="name">{escape(self.name)}</title>',
            f'<desc id="description">{escape(self.description)}</desc>',
            f"<style>\n{_SHAPES}\n{_rules(0)}\n@media (prefers-color-scheme: dark) {{\n{_rules(1)}\n}}\n</style>",
            f"<defs>{marker}</defs>",
            f'<rect class="page" x="0.5" y="0.5" width="{self.width - 1}" height="{self.height - 1}" rx="8"/>',
            *self.parts,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _rules(mode: int) -> str:
    return "\n".join(f"{names} {{ {colours[0]}: {colours[1 + mode]}; }}" for names, colours in _COLOURS.items())
