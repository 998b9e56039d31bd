"""Rules over compiled models on Neuron: cores, positions, batches."""

from collections.abc import Iterator

from ..catalog.engines import numbers
from ..deployment import Deployment
from .finding import error, warning
from .plan import Plan, container, plans

_TOPOLOGIES = {
    "ml.trn1": (1, 2, 8, 16, 32),
    "ml.trn1n": (1, 2, 8, 16, 32),
    "ml.inf2": (1, 2, 3, 4, 6, 8, 10, 12, 24),
}
_PADS_FROM = (0, 24)  # djl-serving, branch 0.24.0-dlc: djl_python/transformers_neuronx.py
_NEURON_BATCH_IS_FIXED = {"lmi-neuronx", "tgi-neuronx"}


@error
def cores_form_a_topology(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The collectives of Neuron know some numbers of cores only (huggingface/optimum-neuron#424, #619)."""
    for plan in plans(deployment):
        known = _TOPOLOGIES.get(plan.instance.family, ())
        if known and plan.degree not in known and plan.degree <= plan.devices:
            choices = ", ".join(str(degree) for degree in known if degree <= plan.devices)
            yield (
                "serving.tensor_parallel_degree",
                f"{plan.degree} cores are no topology of {plan.instance.type}; use one of {choices}.",
            )


@error
def neuron_positions(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The compiled model has no more positions than the model itself."""
    plan = container(deployment)
    context = plan.shape.context if plan.shape else None
    if plan.engine in _NEURON_BATCH_IS_FIXED and context and (plan.max_model_len or 0) > context:
        yield (
            "serving.max_model_len",
            f"{plan.max_model_len:,} positions are more than the {context:,} of {plan.model_id}; use {context} or "
            "less.",
        )


@warning
def batch_fits_neuron(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Shapes are compiled: what the server batches has to be what the model was compiled for."""
    plan = container(deployment)
    if plan.engine == "lmi-neuronx" and (plan.batch or 1) > 1:
        yield from _lmi_neuron_batch(plan)
    compiled, served = plan.number("HF_BATCH_SIZE"), plan.number("MAX_BATCH_SIZE")
    if plan.engine == "tgi-neuronx" and compiled and compiled != (served or compiled + 1):
        yield (
            "serving.environment.MAX_BATCH_SIZE",
            f"is {f'{served:.0f}' if served else 'not set'}, but the model is compiled for batches of "
            f"{compiled:.0f} (HF_BATCH_SIZE); set both to the same number.",
        )


def _lmi_neuron_batch(plan: Plan) -> Iterator[tuple[str, str]]:
    label, batch = plan.version.label if plan.version else "", plan.batch
    delay = plan.by_hand("max_batch_delay_in_ms") or plan.deployment.serving.max_batch_delay_in_ms
    rolls = plan.environment.get("OPTION_ROLLING_BATCH", "disable") != "disable"
    if plan.version and numbers(label) < _PADS_FROM:
        yield (
            "serving.max_batch_size",
            f"{batch} is a batch that has to be full on lmi-neuronx {label}, which refuses fewer prompts; use "
            "serving.version 0.24.0 or newer, which pads, or 1.",
        )
    elif not delay and not rolls:
        yield (
            "serving.max_batch_size",
            f"{batch} without serving.max_batch_delay_in_ms: each call is padded to {batch} prompts and computed "
            "alone; set a delay, so that calls share a batch, or use 1.",
        )
