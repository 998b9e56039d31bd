"""The figures of a report as short texts: a row for each figure, a cell for each instance type."""

from collections.abc import Callable
from typing import NamedTuple

from llm_hosting.catalog.instances import types_for
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Figures, Report
from llm_hosting.resolution.adapter_variables import needed_rank


class FigureRow(NamedTuple):
    """One figure of all instance types. `cells` follow the order of the types."""

    label: str
    cells: tuple[str, ...]


class _Texts(NamedTuple):
    """Two forms of one text: `full` if one type has the whole width, `brief` for a narrow column."""

    full: str
    brief: str


def rows(report: Report, deployment: Deployment) -> list[FigureRow]:
    """All figures except the memory of the accelerators."""
    adapters = {"adapters": lambda figures: _adapters(figures, deployment)} if deployment.model.adapters else {}
    texts: dict[str, Callable[[Figures], _Texts]] = {
        "KV cache": _cache,
        **adapters,
        "copies": lambda figures: _copies(figures, deployment),
        "disk": _disk,
        "start": _start,
        "answer": lambda figures: _answer(figures, deployment),
        "price": lambda figures: _price(figures, deployment),
    }
    makes_text = deployment.model.task == "generate"
    unknown = {"KV cache": any(each.keeps_cache for each in report.figures), "answer": makes_text}
    texts = {label: text for label, text in texts.items() if unknown.get(label, True)}
    if deployment.hosting.sleeps and not deployment.hosting.endpoint:
        texts["idle"] = _idle
    is_brief = len(report.figures) > 1
    return [
        FigureRow(label, tuple(text(figures).brief if is_brief else text(figures).full for figures in report.figures))
        for label, text in texts.items()
    ]


def weights_fit(figures: Figures) -> bool:
    """Whether the weights fit beside the engine. An unknown size counts as zero."""
    return (figures.weights_in_gb or 0) + figures.overhead_in_gb + figures.adapters_in_gb <= figures.memory_in_gb


def _cache(figures: Figures) -> _Texts:
    if not weights_fit(figures):
        return _Texts("none", "none")
    if figures.cached_tokens is None:
        return _Texts("not known", "not known")
    tokens, requests = f"{figures.cached_tokens:,} tokens", figures.requests_at_full_length
    if requests is None:
        return _Texts(tokens, tokens)
    return _Texts(
        f"{tokens}, or {requests:,.1f} requests of {figures.context:,}",
        f"{tokens}, {requests:,.1f} x {figures.context:,}",
    )


def _adapters(figures: Figures, deployment: Deployment) -> _Texts:
    count = len(deployment.model.adapters)
    rank = f", of rank {needed_rank(deployment)} or less" if deployment.has_adapter_components else ""
    memory = f"{figures.adapters_in_gb:.2f} GB on each accelerator, {figures.adapters_on_host_in_gb:.2f} GB of the host"
    return _Texts(f"{count}{rank}: {memory}", f"{count}: {figures.adapters_in_gb:.2f} GB")


def _copies(figures: Figures, deployment: Deployment) -> _Texts:
    count = deployment.hosting.copies
    copies = f"{count.min} to {count.max}" if count.min < count.max else f"{count.max}"
    own = f"{copies} on {deployment.hosting.endpoint}" if deployment.hosting.endpoint else ""
    return _Texts(
        f"{own or f'{figures.copies} on one instance'}{_shared(figures)}",
        f"{figures.copies} of degree {figures.degree}, {figures.accelerators}",
    )


def _shared(figures: Figures) -> str:
    if not figures.devices:
        return f", which has {figures.accelerators}"
    cores = f"{figures.devices} NeuronCores: " if "AWS " in figures.accelerators else ""
    return f", each on {figures.degree} of {cores}{figures.accelerators}"


def _disk(figures: Figures) -> _Texts:
    weights = "?" if figures.download_in_gb is None else f"{figures.download_in_gb:,.1f}"
    disk = f"{figures.disk_in_gb:,}" if figures.disk_in_gb else "?"
    full = f"{weights} GB of weights, on a disk of {disk} GB".replace("? GB", "unknown size")
    return _Texts(full, f"{weights} of {disk} GB")


def _start(figures: Figures) -> _Texts:
    timeout = f"{figures.start_timeout_in_seconds:,} s"
    if figures.start_in_seconds is None:
        return _Texts(f"not known; the timeout is {timeout}", f"? of {timeout}")
    seconds = f"{figures.start_in_seconds:,.0f}"
    if figures.asleep_usd_per_month is not None:
        return _Texts(f"about {seconds} s from asleep; the set-up at the deploy may take {timeout}", f"{seconds} s")
    return _Texts(f"about {seconds} s; the timeout is {timeout}", f"{seconds} of {timeout}")


def _answer(figures: Figures, deployment: Deployment) -> _Texts:
    tokens, seconds = deployment.serving.max_new_tokens, figures.answer_in_seconds
    if tokens is None:
        return _Texts("estimated once serving.max_new_tokens is set", "?")
    if seconds is None:
        return _Texts(f"not known for {tokens:,} tokens", "?")
    limit = (
        f"; POST /generate waits {deployment.answer_limit_in_seconds} s" if deployment.hosting.answers_at_once else ""
    )
    return _Texts(f"about {seconds:,.1f} s for {tokens:,} tokens{limit}", f"{seconds:,.1f} s for {tokens:,} tokens")


def _idle(figures: Figures) -> _Texts:
    """Return the price of a month by its busy hours, and how long the first token of a wake takes."""
    seconds = "?" if figures.wake_in_seconds is None else f"{figures.wake_in_seconds:,.0f}"
    prices = ", ".join(f"{price:,.0f} with {hours}" for hours, price in figures.usd_per_month.items()) or "not known"
    month = f"USD a month by busy hours a day: {prices}"
    return _Texts(f"{month}; the first token of a wake after about {seconds} s (estimates)", f"{month}; {seconds} s")


def _price(figures: Figures, deployment: Deployment) -> _Texts:
    count, instance = (
        deployment.instance_count,
        types_for(on_machines=deployment.hosting.runs_on_machines)[figures.instance_type],
    )
    if not instance.price():
        return _Texts("not known", "?")
    least = max(count.min, 1)
    how_many = (
        f"{count.min} to {count.max} instances" if count.is_scaled else "one" if least == 1 else f"{least} instances"
    )
    price = instance.price(least, count.max)
    if deployment.hosting.endpoint:
        how_many = f"all models of {deployment.hosting.endpoint}"
    if figures.asleep_usd_per_month is not None:
        asleep = f"{figures.asleep_usd_per_month * least:.2f} USD a month for the disk"
        return _Texts(f"{price} for {how_many} while awake; asleep {asleep}", price)
    return _Texts(f"{price} for {how_many}", price)
