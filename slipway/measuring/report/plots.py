"""Plots over the load as inline SVG: latency, and token rate. Colours are the page's, by class."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from slipway.measuring.figures.level import METRICS, Level, Metric
from slipway.measuring.figures.percentiles import SHOWN
from slipway.measuring.figures.shown import number

_WIDTH, _HEIGHT = 400, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 360, 14, 214
_LABEL_HEIGHT = 15
_LABEL_WIDTH = 34
_TIMED: tuple[Metric, ...] = ("total", "ttft")


@dataclass(frozen=True)
class _Line:
    """One line of a plot. points: load and value. The page's classes also tell lines apart by dashes."""

    name: str
    kind: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Plot:
    """One plot. caption: value and unit. loads: all measured loads, also those without an answer."""

    caption: str
    axis: str
    loads: tuple[float, ...]
    lines: tuple[_Line, ...]


def plots(found: Sequence[Level]) -> Iterator[Plot]:
    """Return the plots that have a value, separately for closed and open loops."""
    for axis in ("clients", "requests/s"):
        by_load = {
            (level.clients or level.rate or 0): level for level in found if (level.rate is None) == (axis == "clients")
        }
        for metric in _TIMED:
            yield from _latency(axis, by_load, metric)
        rates = tuple((load, level.token_rate) for load, level in by_load.items() if level.token_rate is not None)
        if rates:
            yield Plot("Output tokens/s", axis, tuple(by_load), (_Line("", "p50", rates),))


def _latency(axis: str, by_load: dict[float, Level], metric: Metric) -> Iterator[Plot]:
    times = {
        share: tuple(
            (load, time) for load, level in by_load.items() if (time := level.percentile(metric, share)) is not None
        )
        for share in SHOWN
    }
    highest = max((time for points in times.values() for _, time in points), default=None)
    if highest is None:
        return
    scale, unit = (1, "s") if highest >= 10 else (1000, "ms")
    lines = tuple(
        _Line(f"P{share}", f"p{share}", tuple((load, time * scale) for load, time in points))
        for share, points in times.items()
    )
    name = METRICS[metric]
    yield Plot(f"{name[0].upper()}{name[1:]}, {unit}", axis, tuple(by_load), lines)


def svg(plot: Plot) -> str:
    """Draw the plot as SVG. The page has the same numbers in tables."""
    step, highest = _scale(max(value for line in plot.lines for _, value in line.points))
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(_words(plot))}">']
    for index in range(round(highest / step) + 1):
        y = _y(index * step, highest)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{index * step:,.10g}</text>')
    parts += _load_axis(plot)
    for line in plot.lines:
        parts += _drawn(line, plot.loads, highest)
    parts += _names(plot, highest)
    return "\n".join([*parts, "</svg>"])


def _words(plot: Plot) -> str:
    """Return the text for screen readers: each line's name with its values."""
    lines = (
        f"{line.name or 'rate'} {', '.join(f'{number(value)} at {load:g}' for load, value in line.points)}"
        for line in plot.lines
    )
    return f"{plot.caption} over {plot.axis}: {'; '.join(lines)}"


def _load_axis(plot: Plot) -> Iterator[str]:
    last = -math.inf
    for load in plot.loads:
        x = _x(load, plot.loads)
        if x - last >= _LABEL_WIDTH:
            last = x
            yield f'<text x="{x:.1f}" y="{_BOTTOM + 18}" text-anchor="middle">{load:g}</text>'
    yield f'<text class="axis" x="{(_LEFT + _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">{plot.axis}</text>'


def _drawn(line: _Line, loads: Sequence[float], highest: float) -> Iterator[str]:
    at = [(_x(load, loads), _y(value, highest)) for load, value in line.points]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
    yield f'<path class="line {line.kind}" d="M{path}"/>'
    for (x, y), (load, value) in zip(at, line.points, strict=True):
        words = escape(f"{line.name} {number(value)} at {load:g}".strip())
        yield f'<circle class="dot {line.kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{words}</title></circle>'


def _names(plot: Plot, highest: float) -> Iterator[str]:
    """The labels beside the lines' last points, from the lowest up, without overlap."""
    free: float = _BOTTOM + _LABEL_HEIGHT
    for line in sorted((each for each in plot.lines if each.points), key=lambda each: each.points[-1][1]):
        load, value = line.points[-1]
        free = min(_y(value, highest) + 4, free - _LABEL_HEIGHT)
        yield f'<text class="name {line.kind}" x="{_x(load, plot.loads) + 10:.1f}" y="{free:.1f}">{line.name}</text>'


def _x(load: float, loads: Sequence[float]) -> float:
    """The horizontal position on a logarithmic scale."""
    low, high = math.log(min(loads)), math.log(max(loads))
    share = (math.log(load) - low) / (high - low) if high > low else 0.5
    return _LEFT + 20 + share * (_RIGHT - _LEFT - 40)


def _y(value: float, highest: float) -> float:
    return _BOTTOM - value / highest * (_BOTTOM - _TOP)


def _scale(highest: float) -> tuple[float, float]:
    """The distance of the ticks (a step of 1, 2, 2.5 or 5; at most six ticks), and the end of the axis."""
    rough = (highest or 1) / 5
    size = 10 ** math.floor(math.log10(rough))
    step = next(each * size for each in (1, 2, 2.5, 5, 10) if each * size >= rough)
    return step, step * math.ceil((highest or 1) / step - 1e-9)
