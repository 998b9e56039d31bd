"""Memory of an accelerator on several instance types: what weights, engine and KV cache of one model take."""

from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.recommendation import Alternative, alternatives
from tools.pictures.drawing import Drawing

MODEL, CONTEXT = "Qwen/Qwen3-8B", 8192
_TYPES = ("ml.g4dn.xlarge", "ml.g6.xlarge", "ml.g5.12xlarge", "ml.g6e.xlarge", "ml.p5.4xlarge")
_LEFT, _TOP, _ROW, _BAR, _WIDTH = 250, 84, 50, 18, 1010
_KINDS = {"weights": "solid", "engine": "strong", "KV cache": "box"}


def picture() -> str:
    """The SVG."""
    hosting = {"instance_type": "ml.g6.xlarge"}
    deployment = Deployment.model_validate({"model": {"id": MODEL}, "hosting": hosting})
    found = {each.instance.type: each for each in alternatives(deployment, context=CONTEXT, requests=1)}
    rows = [found[name] for name in _TYPES]
    drawing = Drawing(
        _WIDTH,
        _TOP + _ROW * len(rows) + 10,
        f"Memory of {MODEL} on five instance types",
        "For each type a bar as long as the memory of one accelerator that the engine has: weights, engine, KV cache. "
        + " ".join(f"{each.instance.type}: {_words(each)}." for each in rows),
    )
    drawing.text(24, 34, f"{MODEL} with {CONTEXT:,} tokens: memory of each accelerator", "title", room=_WIDTH)
    for position, (name, kind) in enumerate(_KINDS.items()):
        drawing.box(_LEFT + 110 * position, 50, 14, 14, kind)
        drawing.text(_LEFT + 20 + 110 * position, 62, name, "quiet", room=90)
    scale = (_WIDTH - _LEFT - 230) / max(each.figures.memory_in_gb for each in rows)
    for position, each in enumerate(rows):
        _row(drawing, each, _TOP + _ROW * position, scale)
    return drawing.svg()


def _row(drawing: Drawing, each: Alternative, y: float, scale: float) -> None:
    figures = each.figures
    drawing.text(24, y + 14, each.instance.type, "code", room=_LEFT - 24)
    drawing.text(24, y + 31, figures.accelerators.replace("NVIDIA ", ""), "quiet", room=_LEFT - 24)
    left, x = figures.memory_in_gb, float(_LEFT)
    sizes = {"weights": figures.weights_in_gb or 0, "engine": figures.overhead_in_gb, "KV cache": left}
    for name, kind in _KINDS.items():
        width = max(0.0, min(left, sizes[name])) * scale
        left -= min(left, sizes[name])
        if width:
            drawing.box(x, y + 4, width, _BAR, kind)
        x += width
    drawing.text(x + 12, y + 18, _words(each), "quiet", room=_WIDTH - x - 12)


def _words(each: Alternative) -> str:
    figures = each.figures
    if each.problems:
        missing = (figures.weights_in_gb or 0) + figures.overhead_in_gb - figures.memory_in_gb
        return f"{figures.memory_in_gb:g} GB: {missing:.1f} GB are missing"
    return f"{figures.memory_in_gb:g} GB: {each.requests or 0:,.0f} requests at once"
