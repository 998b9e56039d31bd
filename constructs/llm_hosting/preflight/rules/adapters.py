"""Rules over LoRA adapters: engines that load them, where they lie, and whether they fit the model."""

import re
from collections.abc import Iterator

from ...catalog.versions import is_before
from ...deployment.finding import Finding
from ...deployment.lock import AdapterLock
from ...resolution import Container, Resolution
from ...resolution.adapter_variables import PREFIXES, RANKS, USUAL_RANK, locked_adapters, needed_rank
from .rule import error, note, unknown

_AT_START = ("vllm", "sglang")  # engines that load an adapter by a flag
_COMPONENTS_FROM = "0.31"  # LMI 13, the first with SageMaker's multi-adapter inference
# LMI 15 runs vLLM in asynchronous mode, which takes adapters from LMI 16 on (djl-serving#2901).
_NOT_BY_ITSELF_FROM, _ASYNCHRONOUS_FROM = "0.33", "0.34"
_NAME_IN_LMI = "lmi"
_OF_COPY = re.compile(
    r"[-_.](unsloth|bnb|[48]bit|awq|gptq|gguf|int[48]|fp8|nvfp4|mxfp4|w[48]a(8|16)|quantized|dynamic|hf)(?=[-_.]|$)"
)
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_COMMIT = re.compile("[0-9a-f]{40}")
_READS_HIDDEN = ("q_proj", "k_proj", "v_proj", "qkv_proj", "gate_proj", "up_proj", "gate_up_proj")
_WRITES_HIDDEN = ("o_proj", "down_proj")
_OF_EMBEDDINGS = ("lm_head", "embed_tokens")  # models often share them, under one of the names
# vLLM finds the device of these by a tensor that each layer has (lora/layers/utils.py); of others it is not known.
_PACKED_BASES = (None, "awq", "gptq", "fp8", "int8", "bitsandbytes4", "bitsandbytes8")
# IAM takes 10,240 characters for all inline policies of a role. An adapter's policy names its prefix three times; the
# rest is for weights, image, network and logs.
_POLICIES_IN_BYTES, _POLICY_IN_BYTES, _NAMED = 8500, 240, 3
_OF_A_MODEL = 700  # characters of the policies for image, handler and weights of one more model


@error
def adapters_fit_engine(resolution: Resolution) -> Iterator[Finding]:
    """LMI's vLLM loads adapters into a running real-time endpoint; vLLM's and SGLang's images load one at their start.

    Source: docs.djl.ai, adapters; SageMaker's multi-adapter inference came with LMI 13.
    """
    container, deployment = resolution.container, resolution.deployment
    if not deployment.model.adapters:
        return
    if deployment.serving.engine in _AT_START:
        return
    if not deployment.has_adapter_components:
        problem = f"is refused with the engine {deployment.serving.engine}, which loads no adapters"
        yield Finding("model.adapters", problem, "use serving.engine: lmi-vllm, or merge the adapter and the model")
    elif not deployment.hosting.answers_at_once:
        problem = f"{deployment.hosting.mode} is refused with model.adapters, which SageMaker loads into real-time"
        yield Finding(
            "hosting.mode", f"{problem} endpoints only", "use realtime, or a deployment for each merged model"
        )
    elif container.has_own_code:
        yield Finding("model.adapters", "is refused with code of your own, which would have to load them", "remove it")
    elif container.label and not _takes_components(container):
        problem = f"LMI {container.label} does not load adapters into a running model"
        yield Finding("serving.version", problem, "use 0.34.0-lmi16 or newer")


def _takes_components(container: Container) -> bool:
    if is_before(container.label, _COMPONENTS_FROM):
        return False
    is_asynchronous = not is_before(container.label, _NOT_BY_ITSELF_FROM) and container.has_vllm_front_end
    return not is_asynchronous or not is_before(container.label, _ASYNCHRONOUS_FROM)


@error
def adapters_can_be_reached(resolution: Resolution) -> Iterator[Finding]:
    """SageMaker loads adapters from S3; the images of vLLM and SGLang load one from the Hub, at its newest commit.

    These images hand each variable to the engine as one argument, and it names one adapter.
    """
    deployment, engine = resolution.deployment, resolution.deployment.serving.engine
    if engine in _AT_START and len(deployment.model.adapters) > 1:
        problem = f"names {len(deployment.model.adapters)}, and {engine} loads one at its start"
        yield Finding("model.adapters", problem, "leave one, or use serving.engine: lmi-vllm")
    for name, source in deployment.model.adapters.items():
        field, is_in_s3 = f"model.adapters.{name}", source.startswith("s3://")
        if deployment.has_adapter_components and not is_in_s3:
            fix = f"run `slipway stage <name> --adapter {name} --to s3://...`, and write that prefix here"
            yield Finding(field, f"{source} is on the Hub, and SageMaker loads adapters from S3", fix)
        elif engine in _AT_START and is_in_s3:
            problem = f"{source} is in S3, and {engine} loads adapters from the Hub"
            yield Finding(field, problem, "name its id on the Hub, or use serving.engine: lmi-vllm")
        elif engine in _AT_START and "@" in source:
            problem = f"{source} names a revision, and {engine} loads the newest commit"
            yield Finding(field, problem, "leave the revision out, or use serving.engine: lmi-vllm")


@error
def adapter_has_own_name(resolution: Resolution) -> Iterator[Finding]:
    """A request chooses the model or an adapter by one name, so no adapter has a name of the model's."""
    container = resolution.container
    taken = {each.lower() for each in (container.model_id, _NAME_IN_LMI, *container.model_names)}
    for name in resolution.deployment.model.adapters:
        if name in taken:
            yield Finding(f"model.adapters.{name}", "is a name of the model itself", "use another name")


@error
def adapter_is_of_model(resolution: Resolution) -> Iterator[Finding]:
    """An adapter holds differences from one model: name, commit, sizes and number of layers must be the same.

    A quantized copy of the model counts as the model. A path, which names no model, is not compared.
    """
    for name, adapter in locked_adapters(resolution.deployment):
        if reason := _other_model(resolution, adapter):
            fix = f"use an adapter of {resolution.container.model_id}, or that model"
            yield Finding(f"model.adapters.{name}", f"is {reason}", fix)


def _other_model(resolution: Resolution, adapter: AdapterLock) -> str | None:
    """Return why the adapter is of another model; None = it is of this one, or nothing says."""
    container, shape = resolution.container, resolution.container.shape
    base, revision = adapter.base or "", adapter.base_revision or ""
    if _HUB_ID.fullmatch(base) and _plain_name(base) != _plain_name(container.model_id):
        return f"an adapter of {base}, not of {container.model_id}"
    commits = {each for each in (resolution.deployment.revision, container.revision) if each}
    if _COMMIT.fullmatch(revision) and commits and revision not in commits:
        return f"an adapter of {base or 'the model'} at {revision[:7]}, not at {min(commits)[:7]}"
    if shape is None or shape.wrapper or not shape.hidden_size:
        return None
    for module, (inputs, outputs) in adapter.modules.items():
        width = inputs if module in _READS_HIDDEN else outputs if module in _WRITES_HIDDEN else shape.hidden_size
        if width != shape.hidden_size:
            return (
                f"an adapter of a model with hidden size {width:,} (its {module}), and {container.model_id} has "
                f"{shape.hidden_size:,}"
            )
    if shape.layers and not shape.layers_with_state and adapter.layers > shape.layers:
        return f"an adapter of {adapter.layers} layers, and {container.model_id} has {shape.layers}"
    return None


def _plain_name(hub_id: str) -> str:
    """Return the name without the owner and without the words of quantized copies."""
    name = hub_id.rpartition("/")[2].lower()
    while (shorter := _OF_COPY.sub("", name)) != name:
        name = shorter
    return name


@error
def adapter_fits_rank(resolution: Resolution) -> Iterator[Finding]:
    """vLLM refuses an adapter of a larger rank than MAX_LORA_RANK, which Slipway sets unless the file does.

    Source: vLLM's lora/peft_helper.py.
    """
    container = resolution.container
    variable = f"{PREFIXES.get(container.server, '')}MAX_LORA_RANK"
    most = container.number(variable) or RANKS[-1]
    for name, adapter in locked_adapters(resolution.deployment):
        if adapter.rank > RANKS[-1]:
            problem = f"has rank {adapter.rank}, and vLLM takes at most {RANKS[-1]}"
            yield Finding(f"model.adapters.{name}", problem, "merge it and the model")
        elif adapter.rank > most:
            problem = f"has rank {adapter.rank}, more than the {most:g} of {variable}"
            fix = f"set serving.environment.{variable} to {needed_rank(resolution.deployment)}, or remove it"
            yield Finding(f"model.adapters.{name}", problem, fix)


@error
def adapter_is_plain(resolution: Resolution) -> Iterator[Finding]:
    """vLLM refuses DoRA, modules_to_save, tensors that are not of LoRA, and modules that the model lacks.

    Source: vLLM's lora/peft_helper.py and lora/lora_model.py.
    """
    lock = resolution.container.lock
    known = lock.modules if lock and not resolution.container.is_mixture else ()
    for name, adapter in locked_adapters(resolution.deployment):
        lacking = [each for each in adapter.modules if known and each not in (*known, *_OF_EMBEDDINGS)]
        if adapter.use_dora:
            problem = "is a DoRA adapter, which vLLM does not load"
        elif adapter.modules_to_save:
            problem = f"replaces whole modules ({', '.join(adapter.modules_to_save)}), which vLLM does not load"
        elif adapter.others:
            problem = f"holds tensors that are not of LoRA, such as {adapter.others[0]:.100}"
        elif lacking:
            problem = f"adapts {', '.join(lacking)}, which {resolution.container.model_id} does not have"
        else:
            continue
        yield Finding(f"model.adapters.{name}", problem, "train it again without them, or merge it and the model")


@error
def adapters_fit_role(resolution: Resolution) -> Iterator[Finding]:
    """IAM takes 10,240 characters for the policies of a role, and the role reads each adapter by its prefix.

    The role of a shared endpoint reads what all deployments on it read.
    """
    deployment = resolution.deployment
    neighbours = deployment.neighbours.values()
    sharing = [each for each in (deployment, *neighbours) if each.has_adapter_components]
    prefixes = [prefix for each in sharing for prefix in each.model.adapters.values()]
    size = sum(_POLICY_IN_BYTES + _NAMED * len(prefix) for prefix in prefixes) + _OF_A_MODEL * len(neighbours)
    if size <= _POLICIES_IN_BYTES or not deployment.uses_components:
        return
    limit = f"need about {size:,} characters; IAM leaves {_POLICIES_IN_BYTES:,} for them"
    if shared := deployment.shared:
        problem = (
            f"'shared/{shared.name}' has {len(neighbours) + 1} models and {len(prefixes)} adapters, whose policies"
        )
        yield Finding("hosting.endpoint", f"{problem} {limit}", "use shorter prefixes, or another endpoint")
    else:
        problem = f"names {len(prefixes)} adapters, and policies to read them {limit}"
        yield Finding("model.adapters", problem, "use shorter prefixes, or a second deployment")


@unknown
def adapters_are_known(resolution: Resolution) -> Iterator[Finding]:
    """The lock states the rank, base model and modules of an adapter; without them nobody knows whether it fits."""
    known = dict(locked_adapters(resolution.deployment))
    for name in resolution.deployment.model.adapters:
        if name not in known:
            problem = "is not in the lock, so its model, rank, modules and memory are not checked"
            yield Finding(f"model.adapters.{name}", problem, "run `slipway lock <name>`")


@unknown
def quantized_model_takes_adapters(resolution: Resolution) -> Iterator[Finding]:
    """vLLM computes adapters beside AWQ, GPTQ, FP8, INT8 and bitsandbytes weights; of others nothing is published."""
    container = resolution.container
    if resolution.deployment.model.adapters and container.quantization not in _PACKED_BASES:
        problem = f"whether {container.engine} computes adapters beside {container.quantization} weights is not known"
        yield Finding("model.adapters", problem, "try it, or use another form of the model")


@note
def adapter_is_loaded_at_start(resolution: Resolution) -> Iterator[Finding]:
    """The images of vLLM and SGLang load their adapter at each start, so that another one is an update."""
    engine = resolution.deployment.serving.engine
    if resolution.deployment.model.adapters and engine in _AT_START:
        problem = f"is loaded at each start of {engine}, so another adapter is an update of the endpoint"
        yield Finding("model.adapters", problem, "use serving.engine: lmi-vllm to change adapters while it runs")


@note
def rank_follows_from_adapters(resolution: Resolution) -> Iterator[Finding]:
    """MAX_LORA_RANK is a setting of the model, so the first adapter of a larger rank updates the model itself."""
    deployment, rank = resolution.deployment, needed_rank(resolution.deployment)
    variable = f"{PREFIXES.get(resolution.container.server, '')}MAX_LORA_RANK"
    if deployment.model.adapters and rank > USUAL_RANK and variable not in deployment.serving.environment:
        problem = f"needs {variable} {rank}, which is set; an adapter of a larger rank will update the model"
        yield Finding("model.adapters", problem, f"set serving.environment.{variable} yourself to keep room")
