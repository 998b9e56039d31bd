"""Rules over `hosting.endpoint`: settings of a shared endpoint, and room for all models on it."""

from collections.abc import Iterator

from ...deployment.finding import Finding
from ...deployment.model import Deployment
from ...deployment.settings.hosting import CopyCount, Hosting
from ...resolution import Resolution
from ...resolution.packing import Packing, packing_of
from .requirements import Requirement, broken
from .rule import error, warning

_THIS = "this deployment"
# Settings of the whole endpoint that its file does not offer.
_OF_ENDPOINT = ("routing", "routing_prefix_in_bytes", "provision_timeout_in_seconds", "update_wait_in_seconds")


def _is_shared(deployment: Deployment) -> bool:
    return deployment.hosting.endpoint is not None


_NEEDED = (
    Requirement(
        "hosting.endpoint",
        lambda d: _is_shared(d) and not d.hosting.answers_at_once,
        "{value} is refused with hosting.mode: {deployment.hosting.mode}, because only real-time endpoints are shared",
        "remove it, or use mode: realtime",
    ),
    Requirement(
        "hosting.endpoint",
        lambda d: _is_shared(d) and d.shared is None,
        "{value} is found from a deployment file only, in the project around it",
        "pass the path of a file",
    ),
    Requirement(
        "hosting.instance_count",
        lambda d: _is_shared(d) and "instance_count" in d.hosting.model_fields_set,
        "is refused with hosting.endpoint, whose file has the number of instances",
        "remove it; hosting.copies has the number of copies of the model",
    ),
    Requirement(
        "hosting.copies",
        lambda d: not _is_shared(d) and "copies" in d.hosting.model_fields_set,
        "is refused without hosting.endpoint, where all copies that fit run on each instance",
        "remove it, or use hosting.instance_count",
    ),
    Requirement(
        "hosting.copies.max",
        lambda d: d.hosting.copies.max < d.hosting.copies.min,
        "{value} is less than min ({deployment.hosting.copies.min})",
        "use {deployment.hosting.copies.min} or more",
    ),
    Requirement(
        "hosting.copies.min",
        lambda d: d.hosting.idle == "zero" and d.hosting.copies.min != CopyCount().min,
        "{value} is refused with hosting.idle: zero, where no copy runs without requests",
        "remove it, or use a schedule",
    ),
    *(
        Requirement(
            f"hosting.{name}",
            lambda d, name=name: _is_shared(d) and getattr(d.hosting, name) != Hosting.model_fields[name].default,  # type: ignore[misc]
            "{value} is refused with hosting.endpoint, because it concerns the other models on it, too",
            "remove it",
        )
        for name in _OF_ENDPOINT
    ),
)


@error
def settings_fit_shared_endpoint(resolution: Resolution) -> Iterator[Finding]:
    """On a shared endpoint a deployment has the settings of its copies, and the endpoint's file those of instances."""
    yield from broken(_NEEDED, resolution.deployment)


@error
def degree_is_set_on_shared_endpoint(resolution: Resolution) -> Iterator[Finding]:
    """Without a degree a model takes all accelerators of an instance, and leaves none to the others."""
    container, serving = resolution.container, resolution.deployment.serving
    takes_degree = container.version is not None and "tensor_parallel_degree" in container.version.variables
    is_set = serving.tensor_parallel_degree or container.explicit_value("tensor_parallel_degree")
    for placement in resolution.placements:
        if _is_shared(resolution.deployment) and takes_degree and not is_set and placement.devices > 1:
            yield Finding(
                "serving.tensor_parallel_degree",
                f"is needed with hosting.endpoint: the {placement.devices} accelerators of {placement.instance.type} "
                "are for several models",
                f"use the number for a copy of this one, 1 to {placement.devices}",
            )


@error
def copies_fit_on_shared_endpoint(resolution: Resolution) -> Iterator[Finding]:
    """The least copies of all models on a shared endpoint, one of each that sleeps, fit on its instances at once."""
    shared, packing = resolution.deployment.shared, _packing(resolution)
    if not (shared and packing) or packing.at_first() or not (needed := packing.instances_needed):
        return  # a copy that fits on no instance breaks other rules
    yield Finding(
        "hosting.endpoint",
        f"'shared/{shared.name}' has no room for all copies on {packing.words(shared.endpoint)}",
        f"set instance_count.max of {shared.file} to {needed}, or move a model to another endpoint",
    )


@warning
def most_copies_fit_on_shared_endpoint(resolution: Resolution) -> Iterator[Finding]:
    """Scaling finds no place for a copy if all models of a shared endpoint run their largest numbers of copies."""
    shared, packing = resolution.deployment.shared, _packing(resolution)
    if shared and packing and packing.at_first() and not packing.at_most():
        yield Finding(
            "hosting.copies.max",
            f"may find no room when all models scale out on {packing.words(shared.endpoint)}",
            f"raise instance_count.max of {shared.file}, or lower copies.max of a model",
        )


def _packing(resolution: Resolution) -> Packing | None:
    deployment = resolution.deployment
    shared = deployment.shared
    return packing_of(shared.endpoint, {_THIS: deployment, **deployment.neighbours}) if shared else None
