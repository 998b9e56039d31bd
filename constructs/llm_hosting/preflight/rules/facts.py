"""Rules over the facts about the model that other rules need."""

from collections.abc import Iterator

from ...deployment.finding import Finding
from ...resolution import Placement, Resolution
from ...resolution.parallelism import SPLITS_HEADS, rows_kept_whole
from .memory import TGI_TOKENS
from .rule import unknown
from .suitable_type import tokens_needed_at_once

_MEMORY, _LENGTH, _DEGREE = "memory for its context", "its greatest length", "the tensor parallel degree"
_QUESTIONS = {
    "context": _LENGTH,
    "layers": _MEMORY,
    "kv_heads": _MEMORY,
    "head_size": _MEMORY,
    "layers_with_window": _MEMORY,
    "heads": _DEGREE,
    "intermediate_size": _DEGREE,
}


@unknown
def needed_facts_are_known(resolution: Resolution) -> Iterator[Finding]:
    """Without a fact about the model, the rules that need it can't refuse; this names the missing facts."""
    container = resolution.container
    missing = {name for placement in resolution.placements for name in _missing(placement)}
    if missing:
        named = ", ".join(name for name in _QUESTIONS if name in missing)
        questions = " and ".join(dict.fromkeys(_QUESTIONS[name] for name in _QUESTIONS if name in missing))
        source, fix = "the catalog", "run `slipway lock <name>`, which asks the model itself"
        if container.lock:
            source, fix = (
                "the lock",
                "read the engine's log after a deploy, and silence needed-facts-are-known if it fits",
            )
        problem = f"{source} does not say {named} of {container.model_id}, so {questions} can't be checked"
        yield Finding("model.id", problem, fix)


def _missing(placement: Placement) -> Iterator[str]:
    """Yield the names of facts that rules for this engine and type need and do not have."""
    container, need, shape = placement.container, placement.memory, placement.container.shape
    if shape is None:  # `model-is-known` says so
        return
    if container.runs_vllm and not shape.context:
        yield "context"
    asks_tokens = container.engine == "tgi" and container.number(*TGI_TOKENS)
    if need.per_token is None and (asks_tokens or tokens_needed_at_once(placement) is not None):
        lacking = [name for name in ("layers", "kv_heads", "head_size") if not getattr(shape, name)]
        yield from lacking or ["layers_with_window"]
    if placement.degree > 1 and placement.instance.kind == "gpu":
        if not shape.heads and container.engine in SPLITS_HEADS:
            yield "heads"
        if not shape.intermediate_size and rows_kept_whole(container, placement.instance):
            yield "intermediate_size"
