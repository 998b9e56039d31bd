"""Rules over models on Neuron: cores, heads, memory of the host, compilation, positions, batches."""

from collections.abc import Iterator

from ..catalog.engines import numbers
from ..deployment import Deployment
from .finding import error, warning
from .memory import in_gb, weights_in_files
from .plan import Plan, container, plans

_TOPOLOGIES = {
    "ml.trn1": (1, 2, 8, 16, 32),
    "ml.trn1n": (1, 2, 8, 16, 32),
    "ml.inf2": (1, 2, 3, 4, 6, 8, 10, 12, 24),
}
_PADS_FROM = (0, 24)  # djl-serving, branch 0.24.0-dlc: djl_python/transformers_neuronx.py
_COMPILES_SOON, _COMPILATION_IN_SECONDS = 3.0, 1800  # billions of parameters; what LMI's own samples give
_SHARE_OF_HOST_MEMORY = 0.75  # 13.5 GB were killed on the 16 GiB of ml.inf2.xlarge
_TOOLKIT, _WORKERS = "huggingface-pytorch-inference-neuron:", "SAGEMAKER_MODEL_SERVER_WORKERS"
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


@warning
def heads_fit_cores(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Groups of key and value heads are spread or copied evenly over cores (aws-neuron/transformers-neuronx#92)."""
    for plan in plans(deployment):
        known, shape = _TOPOLOGIES.get(plan.instance.family), plan.shape
        by_vllm = plan.environment.get("OPTION_ROLLING_BATCH") == "vllm"
        if known and by_vllm and shape and shape.heads and shape.heads % plan.degree:
            yield (
                "serving.tensor_parallel_degree",
                f"{plan.degree} cores don't divide the {shape.heads} heads of {plan.model_id}, on which vLLM insists; "
                "use a divisor, or another OPTION_ROLLING_BATCH.",
            )
            continue
        groups = shape.kv_heads if shape and shape.kv_heads != shape.heads else None
        if known and groups and not _even(groups, plan.degree):
            fitting = [n for n in known if n <= plan.devices and _even(groups, n)]
            yield (
                "serving.tensor_parallel_degree",
                f"{plan.degree} cores can't share the {groups} key and value heads of {plan.model_id} evenly; such "
                f"models were seen to fail: use one of {', '.join(map(str, fitting))}.",
            )


def _even(groups: int, degree: int) -> bool:
    return groups % degree == 0 or degree % groups == 0


@warning
def weights_pass_host_memory(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Weights go to the cores through the memory of the machine, where containers were killed (optimum-neuron#595)."""
    for plan in plans(deployment):
        size, memory = weights_in_files(plan), plan.instance.memory_in_gib * 1024**3
        if plan.instance.kind == "neuron" and size and size > _SHARE_OF_HOST_MEMORY * memory:
            yield (
                "hosting.instance_type",
                f"{plan.instance.type!r} has {plan.instance.memory_in_gib:g} GiB of memory beside its cores, through "
                f"which the {in_gb(size)} of {plan.model_id} are loaded: use a larger type of the family.",
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
def compilation_fits_timeout(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """LMI compiles at the start what is not compiled already: minutes for each billion parameters."""
    plan = container(deployment)
    given = deployment.hosting.startup_timeout_in_seconds
    size = plan.parameters_in_billions or 0
    is_compiled = plan.environment.keys() & {"OPTION_LOAD_SPLIT_MODEL", "OPTION_COMPILED_GRAPH_PATH"}
    if plan.engine == "lmi-neuronx" and not is_compiled and size > _COMPILES_SOON and given < _COMPILATION_IN_SECONDS:
        yield (
            "hosting.startup_timeout_in_seconds",
            f"{given} s may be too short to compile {plan.model_id} at the start; use {_COMPILATION_IN_SECONDS} or "
            "more, or weights that are compiled already.",
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


@warning
def workers_fit_cores(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The toolkit starts a worker for each vCPU, and on Inferentia 1 each takes a core (aws-neuron-sdk#471)."""
    if _TOOLKIT not in (deployment.serving.image_uri or ""):
        return
    for plan in plans(deployment):
        instance, workers = plan.instance, plan.number(_WORKERS) or plan.instance.vcpu
        if instance.family == "ml.inf1" and workers > plan.devices:
            yield (
                f"serving.environment.{_WORKERS}",
                f"{int(workers)} workers need a core each, and {instance.type} has {plan.devices}: the runtime then "
                f"does not start; set it to {plan.devices} or less.",
            )
