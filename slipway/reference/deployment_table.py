"""The table of the shipped deployments: what each one costs and needs, from the figures that `check` prints."""

from collections.abc import Iterator
from pathlib import Path

from llm_hosting.catalog.instances import types_for
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Figures
from llm_hosting.sources import handler_names
from slipway.checking.check import check

_HOURS_OF_A_MONTH = 730


def deployment_table(root: Path) -> Iterator[str]:
    """Yield the lines of the table. root: the project."""
    yield "| Deployment | Model and engine | Runs on | USD/h awake | USD/h asleep | First answer | Memory used, GB |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    handlers = handler_names(root)
    for path in sorted((root / "deployments").glob("*.yaml")):
        result = check(path, handlers)
        assert result.deployment, path.name
        yield f"| {' | '.join(_cells(path.stem, result.deployment, result.report.figures[0]))} |"


def _cells(name: str, deployment: Deployment, figures: Figures) -> Iterator[str]:
    yield f"`{name}`"
    yield f"{deployment.model.id}, {deployment.serving.engine}"
    yield f"{figures.instance_type}, {figures.accelerators}; {deployment.hosting.mode}"
    yield _awake(deployment, figures)
    yield _asleep(deployment, figures)
    yield "not known" if figures.start_in_seconds is None else f"{figures.start_in_seconds:,.0f} s"
    yield _memory(figures)


def _awake(deployment: Deployment, figures: Figures) -> str:
    hosting, count = deployment.hosting, deployment.hosting.instance_count
    instance = types_for(on_machines=hosting.runs_on_machines)[figures.instance_type]
    rate = instance.usd_per_hour or instance.ec2_usd_per_hour
    if rate is None:
        return "not known"
    prices = " to ".join(f"{number * rate:.2f}" for number in sorted({max(count.min, 1), count.max}))
    return prices if instance.usd_per_hour else f"> {prices}"


def _asleep(deployment: Deployment, figures: Figures) -> str:
    if figures.asleep_usd_per_month is not None:
        return f"{figures.asleep_usd_per_month / _HOURS_OF_A_MONTH:.3f}"
    return "0" if deployment.hosting.instance_count.min == 0 or deployment.hosting.sleeps else "never sleeps"


def _memory(figures: Figures) -> str:
    each = f", on each of {figures.devices}" if figures.devices > 1 else ""
    if figures.weights_in_gb is None:
        return "not known"
    return f"{figures.weights_in_gb + figures.overhead_in_gb:.1f} of {figures.memory_in_gb}{each}"
