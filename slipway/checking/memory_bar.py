"""A bar that shows how weights, engine and KV cache share the memory of an accelerator."""

from rich.text import Text

from llm_hosting.preflight.report import Figures
from slipway.checking.shown_figures import weights_fit

_STYLES = {"weights": "blue", "engine": "magenta", "adapters": "yellow", "KV cache": "green", "free": "dim"}
_MISSING = "red"
# The glyphs differ, so that the bar can be read without colour.
_GLYPHS = {"weights": "█", "engine": "▓", "adapters": "▒", "KV cache": "░", "free": "·"}
_ASCII_GLYPHS = {"weights": "#", "engine": "+", "adapters": "a", "KV cache": ".", "free": " "}


def memory_bar(figures: Figures, width: int, *, ascii_only: bool) -> Text:
    """Draw the bar. Its width stands for the memory that the engine may use; it is red if weights and engine need more.

    Returns an empty bar if the size of the weights is not known.
    """
    parts = _parts(figures)
    glyphs = _ASCII_GLYPHS if ascii_only else _GLYPHS
    whole = sum(parts.values())
    bar, seen = Text(), 0.0
    for name, size in parts.items():
        start, seen = seen, seen + size
        cells = round(seen / whole * width) - round(start / whole * width)
        bar.append(glyphs[name] * cells, _STYLES[name] if weights_fit(figures) else _MISSING)
    return bar


def legend(figures: Figures, *, ascii_only: bool) -> Text:
    """Return the sizes that the bar shows, each with its glyph."""
    glyphs = _ASCII_GLYPHS if ascii_only else _GLYPHS
    parts = _parts(figures)
    if not parts:
        return Text(f"{figures.memory_in_gb} GB for weights of unknown size")
    text = Text()
    for name, size in parts.items():
        text.append(f"{glyphs[name]} ", _STYLES[name] if weights_fit(figures) else _MISSING)
        text.append(f"{size:.1f} {name}  ")
    text.append(f"{'of' if weights_fit(figures) else 'but only'} {figures.memory_in_gb} GB")
    return text


def _parts(figures: Figures) -> dict[str, float]:
    if figures.weights_in_gb is None:
        return {}
    parts = {"weights": figures.weights_in_gb, "engine": figures.overhead_in_gb}
    parts |= {"adapters": figures.adapters_in_gb} if figures.adapters_in_gb else {}
    left = figures.memory_in_gb - sum(parts.values())
    return parts | ({"KV cache" if figures.keeps_cache else "free": left} if left > 0 else {})
