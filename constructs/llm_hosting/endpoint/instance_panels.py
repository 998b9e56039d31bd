"""What hardware shows on a dashboard: how many instances run, how busy they or a component's copies are."""

from aws_cdk import aws_cloudwatch as cloudwatch

from ..catalog.instances import InstanceType
from ..dashboard.cost import Awake, RegionalPrice
from ..dashboard.panel import Panel, Question, graph, metric
from ..surroundings import Surroundings

_OF_INSTANCES, _OF_COMPONENTS = "/aws/sagemaker/Endpoints", "/aws/sagemaker/InferenceComponents"
_HARDWARE = {"CPUUtilization": "CPU", "MemoryUtilization": "memory"}
_GPUS = {"GPUUtilization": "GPU", "GPUMemoryUtilization": "GPU memory"}


def instance_panels(
    dimensions: dict[str, str], price: RegionalPrice | None, most: int, surroundings: Surroundings
) -> list[Panel]:
    """Return the panels of an endpoint's instances. dimensions: `EndpointName` and `VariantName`.

    price: of one. most: how many may run.
    """
    # Each instance reports its CPU once a minute; SageMaker has no metric of their number.
    minutes = metric(_OF_INSTANCES, "CPUUtilization", dimensions, cloudwatch.Stats.SAMPLE_COUNT)
    return Awake(minutes, "instance", most, price).panels(surroundings)


def busy_instances(dimensions: dict[str, str], instance: InstanceType) -> Panel:
    """Return how busy an endpoint's instances are. dimensions: `EndpointName` and `VariantName`."""
    shown = _HARDWARE | {"DiskUtilization": "disk"} | (_GPUS if instance.kind == "gpu" else {})
    parts = [metric(_OF_INSTANCES, name, dimensions, label=label) for name, label in shown.items()]
    return Panel(
        Question.FULL,
        "The hardware is an average of the instances; CPU and GPU add up their cores and devices, so four GPUs at work "
        "are 400 %. GPU memory says little, because an engine takes its share at the start.",
        [graph("Hardware", *parts, unit="%")],
    )


def busy_copies(dimensions: dict[str, str], instance: InstanceType) -> Panel:
    """Return how busy the copies of an inference component are. dimensions: `InferenceComponentName`."""
    shown = _HARDWARE | (_GPUS if instance.kind == "gpu" else {})
    parts = [metric(_OF_COMPONENTS, f"{name}Normalized", dimensions, label=label) for name, label in shown.items()]
    return Panel(
        Question.FULL,
        "The hardware is an average of the model's copies, in percent of what a copy reserves. SageMaker has no metric "
        "of the number of copies; `slipway status` shows it.",
        [graph("Hardware", *parts, unit="%")],
    )


def in_flight(name: str, dimensions: dict[str, str]) -> Panel:
    """Return the requests in flight on a copy of the model, which scaling follows. name: of the metric."""
    most = metric("AWS/SageMaker", name, dimensions, cloudwatch.Stats.MAXIMUM, label="the busiest copy")
    return Panel(
        Question.FULL,
        "Scaling follows the requests in flight on a copy of the model.",
        [graph("Requests in flight", most, unit="requests")],
    )


def engine_panel(page: str | None) -> Panel:
    """Return where the figures of the engine are. page: of the endpoint; None = they are switched off."""
    where = (
        f"The engine's own queue and its KV cache are on [SageMaker's page of the endpoint]({page}), in Insights."
        if page
        else "The engine's own queue and its KV cache are not measured: `hosting.detailed_observability` is off."
    )
    return Panel(Question.FULL, where)
