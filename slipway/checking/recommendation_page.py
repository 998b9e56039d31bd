"""Shows which instance types hold a model, with price, requests at once and memory, and why cheaper types do not."""

import sys
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from llm_hosting.catalog.instances import ec2_prices_as_of, prices_as_of
from llm_hosting.preflight.recommendation import REQUESTS_AT_ONCE, Alternative, left_out
from slipway.checking.memory_bar import memory_bar
from slipway.checking.recommendation import Recommendation, Sibling, is_measured

_SHOWN, _SHOWN_FAILING = 6, 3
_BAR = 6
_HELPS = {
    "weights-fit-memory": "weights of fewer bits (model.quantization)",
    "context-fits-memory": "a shorter context (--context)",
    REQUESTS_AT_ONCE: "fewer requests at once (--requests), or a shorter context (--context)",
}


def page(found: Sequence[Recommendation]) -> str:
    """Render the page for standard output. Uses colour on a terminal only, and only characters that the output can
    show.
    """
    console, encoding = Console(highlight=False), sys.stdout.encoding or "ascii"
    with console.capture() as captured:
        for position, each in enumerate(found):
            console.print(*([] if position == 0 else [Text()]), _recommendation(each, console), sep="\n")
    said = "\n".join(line.rstrip() for line in captured.get().splitlines())
    return said.encode(encoding, "backslashreplace").decode(encoding)


def _recommendation(found: Recommendation, console: Console) -> RenderableType:
    deployment = found.resolution.deployment
    version = found.resolution.version or deployment.serving.version or ""
    length = f" of {found.context:,} tokens" if found.context else ""
    parts: list[RenderableType] = [
        Text.assemble((deployment.model.id, "bold"), f" on {deployment.serving.engine} {version}".rstrip()),
        Text(f"{found.requests:,} requests{length} at once; facts: {found.facts}"),
        Text(),
    ]
    if fitting := [each for at, each in enumerate(found.choices) if at < _SHOWN or is_measured(each)]:
        parts += [_fitting(fitting, console)]
        if others := [each for each in found.fitting if each not in fitting]:
            parts.append(Text(f"Others that hold it: {_names(others)}.", "dim"))
        if own := left_out(deployment):
            parts.append(Text(f"Leave out {' and '.join(own)}: here each type has its own.", "dim"))
    else:
        parts += [Text("No instance type holds that.", "bold red")]
    if found.siblings:
        parts += [Text(), Text("packed weights of the same model; what they cost in quality is not known", "bold")]
        parts.append(_siblings(found.siblings))
    if found.hindrances:
        parts += [Text(), Text("whatever the type", "bold")]
        parts += [Text(f"{each.place}: {each.message}") for each in found.hindrances]
    elif failing := found.failing[:_SHOWN_FAILING]:
        title = "cheaper, but" if fitting else "the largest types, and what stops them"
        parts += [Text(), Text(title, "bold"), _failing(failing)]
        if not fitting and (helps := _helps(failing)):
            parts += [Text(), Text(f"What helps: {helps}.")]
    return Group(*parts)


def _helps(failing: Sequence[Alternative]) -> str:
    """What would make the model need less memory, if even the largest types are too small."""
    rules = [problem.rule for each in failing for problem in each.problems]
    return ", or ".join(dict.fromkeys(_HELPS[rule] for rule in rules if rule in _HELPS))


def _fitting(fitting: Sequence[Alternative], console: Console) -> RenderableType:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    for name in ("instance type", "accelerators"):
        table.add_column(name, no_wrap=True)
    for name in ("USD/h", "USD/1M", "full", "requests"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("memory", no_wrap=True)
    for each in fitting:
        bar = memory_bar(each.figures, _BAR, ascii_only=console.options.ascii_only)
        requests = "?" if each.requests is None else f"{each.requests:,.0f}"
        table.add_row(
            Text(each.instance.type, "bold"),
            each.figures.accelerators.replace("NVIDIA ", ""),
            _price(each),
            _per_million(each.usd_per_million_tokens, each),
            _per_million(each.usd_per_million_tokens_when_full, each, is_full=True),
            requests,
            bar,
        )
    ec2 = f"EC2's prices of {ec2_prices_as_of()}"
    of_endpoints = all(each.instance.type.startswith("ml.") for each in fitting)
    prices = f"SageMaker's prices of {prices_as_of()}, ~ estimated from {ec2}" if of_endpoints else ec2
    legend = f"USD/h: us-east-1, {prices}; USD/1M: a million tokens of answers at that load, full: with as many "
    legend += "requests as fit, ~ estimated"
    return Group(table, Text(legend, "dim"))


def _price(each: Alternative) -> str:
    price = each.instance.likely_usd_per_hour
    return f"{'' if each.instance.usd_per_hour else '~'}{price:.2f}" if price else "?"


def _per_million(price: float | None, each: Alternative, *, is_full: bool = False) -> str:
    rate = each.full_rate if is_full else each.rate
    return "?" if price is None or rate is None else f"{'' if rate.is_measured else '~'}{price:.2f}"


def _names(alternatives: Sequence[Alternative]) -> str:
    """The types by family, ordered by the cheapest of each: `ml.g6e.16xlarge, .24xlarge`."""
    sizes: dict[str, list[str]] = {}
    for each in alternatives:
        sizes.setdefault(each.instance.family, []).append(each.instance.type.removeprefix(each.instance.family))
    return "; ".join(f"{family}{', '.join(each)}" for family, each in sizes.items())


def _siblings(siblings: Sequence[Sibling]) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=True)
    table.add_column(overflow="fold")
    for _ in range(2):
        table.add_column(no_wrap=True)
    for each in siblings:
        cost = f"USD/1M {_per_million(each.best.usd_per_million_tokens, each.best)}"
        table.add_row(Text(each.model_id), Text(f"{each.best.instance.type} {_price(each.best)}"), Text(cost))
    return table


def _failing(failing: Sequence[Alternative]) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for each in failing:
        table.add_row(Text(f"{each.instance.type} {_price(each)}"), Text(f"{each.problems[0].problem}."))
    return table
