"""The price of a token: from what `bench --keep` measured, otherwise from the catalog's estimate."""

from functools import partial
from pathlib import Path

from llm_hosting.preflight.recommendation import alternatives
from llm_hosting.resolution import Resolution
from slipway.gateway.backend import Price
from slipway.measuring.figures.measured import KeptLevel, Measured, measured
from slipway.stack.project_file import file_of_stack

_PER_MILLION = 1_000_000


def price_of_stack(stack: str, model_id: str, root: Path) -> Price | None:
    """Return the price by the project's file of this stack. None: it has none, or it deploys another model now."""
    found = file_of_stack(stack, model_id, root)
    return price_of(*found) if found else None


def price_of(path: Path, resolution: Resolution) -> Price | None:
    """Return the price on the deployment's first instance type, with all the requests that it takes at once.

    Raises MeasuredError if the figures beside the file can't be read.
    """
    instance_type = resolution.placements[0].instance.type
    (found,) = alternatives(resolution.deployment, context=None, requests=1, types=[instance_type])
    for each in measured(path):
        own = (each.instance_type, each.degree, each.model) == (
            instance_type,
            found.figures.degree,
            resolution.container.model_id,
        )
        if own and (price := _measured_price(each)):
            return price
    estimate = found.usd_per_million_tokens_when_full
    if estimate is None or not {"chat", "completions"} & set(resolution.openai_routes):
        return None
    return Price(0, _rounded(estimate / _PER_MILLION), "estimated, for full batches; answers bear all of it")


def _measured_price(kept: Measured) -> Price | None:
    """Return the price at the highest rate that was measured; None = it can't be told."""
    if not kept.usd_per_hour:
        return None
    per_second, when = kept.usd_per_hour / 3600, f"measured {kept.measured_at[:10]}"
    if kept.route == "embeddings":
        rate = max(map(partial(_vector_tokens_per_second, kept), kept.levels), default=0)
        return Price(_rounded(per_second / rate), 0, f"{when}; vectors have no tokens of answers") if rate else None
    best = max((level.tokens_per_second or 0 for level in kept.levels), default=0)
    if not best:
        return None
    if not kept.prompt_tokens or not kept.answer_tokens:
        return Price(0, _rounded(per_second / best), f"{when}; answers bear all of it")
    of_each = _rounded(per_second / best * kept.answer_tokens / (kept.prompt_tokens + kept.answer_tokens))
    return Price(of_each, of_each, f"{when}; every token bears the same")


def _vector_tokens_per_second(kept: Measured, level: KeptLevel) -> float:
    """Estimate the tokens of texts that so many clients send, each after an answer; 0 = not known."""
    tokens = kept.batch * (kept.prompt_tokens or 0)
    return (level.clients or 0) * tokens / level.p50_in_seconds if level.p50_in_seconds else 0


def _rounded(usd: float) -> float:
    return float(f"{usd:.3g}")
