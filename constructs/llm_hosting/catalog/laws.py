"""Laws that every row of the catalog keeps: ours, which tests compare with them, and those of the user's project."""

import re
from collections.abc import Iterator

from ..project import kept_for_project
from . import layers
from .engines import EngineVersion, engine
from .instances import FILE as INSTANCES_FILE
from .instances import InstanceType, ec2_instances, instances, machine_prices
from .models import MODELS_FILE, ModelShape, model_shape
from .prices import FILE as PRICES_FILE
from .prices import instance_prices, service_prices
from .vision import problems_of_vision

Problem = tuple[str, str]  # a column, and what is wrong with it

SETTINGS = {
    "model",
    "revision",
    "weights",
    "tensor_parallel_degree",
    "max_model_len",
    "dtype",
    "quantization",
    "max_batch_size",
    "max_batch_tokens",
    "task",
    "pooling",
    "max_batch_delay_in_ms",
    "startup_timeout_in_seconds",
    "invocation_timeout_in_seconds",
    "served_model_name",
    "hub_token",
}
DTYPES = {"fp32", "fp16", "bf16", "int8"}
QUANTIZATIONS = {"awq", "gptq", "fp8", "int8", "bitsandbytes4", "bitsandbytes8", "mxfp4", "gguf", "nvfp4"}
_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2}
# Bytes per parameter of quantized files; embeddings stay in 16 bits, so a larger share of them means more.
_QUANTIZED_BYTES = {
    "awq": (0.5, 0.9),
    "gptq": (0.5, 0.8),
    "bitsandbytes4": (0.5, 0.8),
    "mxfp4": (0.5, 0.7),
    "nvfp4": (0.5, 1.0),
    "gguf": (0.5, 1.1),
    "fp8": (1.0, 1.21),
    "int8": (1.0, 1.2),
}
_TABLES = {"vllm", "sglang", "tgi", "tgi-neuronx", "lmi-neuronx", "lmi-tensorrt-llm", "transformers"}
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]+")


@kept_for_project
def demand_own_rows() -> None:
    """Raise CatalogError for the first row of the project that breaks a law."""
    own = layers.own_files()
    for file in own:
        if file == INSTANCES_FILE:
            prices = machine_prices()
            for column, problem in _problems_of_numbers(prices, *vars(prices)):
                raise layers.refuse(file, "machines", column, problem)
            for instance in (instances() | ec2_instances()).values():
                _demand(file, instance.type, problems_of_instance(instance))
        elif file == PRICES_FILE:
            for region in own[file].get("services", ()):
                _demand(file, region, _problems_of_numbers(service_prices(region)))
            for region, row in instance_prices().items():
                for name in (name for name, usd in row.items() if name != "as_of" and not usd > 0):
                    raise layers.refuse(file, region, name, f"{row[name]:g} is not allowed; use more than 0")
        elif file == MODELS_FILE.name:
            for hub_id in (each for row in own[file].get("models", ()) for each in row["ids"]):
                shape = model_shape(hub_id)
                assert shape
                _demand(file, hub_id, problems_of_model(shape))
        else:
            known = engine(file.removeprefix("engines/").removesuffix(".json"))
            if not known.repository:
                raise layers.CatalogError(f"catalog/{file}: {known.name} has no images of AWS; remove the file.")
            for version in known.versions.values():
                _demand(file, version.label, problems_of_version(version))


def _demand(file: str, row: str, problems: Iterator[Problem]) -> None:
    if layers.own_file(file, row):
        for column, problem in problems:
            raise layers.refuse(file, row, column, problem)


def problems_of_version(version: EngineVersion) -> Iterator[Problem]:
    """Yield what contradicts itself, or what no part of Slipway could use, in a version of an engine."""
    known, tag = engine(version.engine), version.tag or ""
    named = re.search(r"cu(\d{2})(\d)\b", tag)
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", tag) and known.repository:
        yield "tag", f"{tag!r} is not the tag of an image; use letters, digits, '.', '-' and '_'"
    if any(each is not version and _image(each) == _image(version) for each in known.versions.values() if tag):
        yield "tag", f"{tag!r} is there twice; lay columns over the row that has it"
    if not _names(tag, version.label) and _tags_name_versions(version):
        yield "tag", f"{tag!r} does not name the version {version.label}"
    if named and version.cuda != float(f"{named[1]}.{named[2]}"):
        yield "cuda", f"{version.cuda} is not the tag's {named[1]}.{named[2]}"
    elif (version.cuda is not None) != (version.platform == "gpu"):
        yield "cuda", "an image for GPUs has a version of CUDA, and no other image has one"
    if not version.bodies and known.server != "tei":
        yield "bodies", "name at least one of inputs, messages, prompt"
    if version.handler is not None and version.handler not in version.handlers:
        yield "handler", f"{version.handler!r} is not among the handlers of this version"
    if version.handlers and known.server != "djl":
        yield "handlers", f"{known.server} has no handlers; use []"
    if (version.settings_in == "archive") != ("SERVING_ENGINE" in version.constants):
        yield "constants", "SERVING_ENGINE belongs to versions with settings_in archive, and to no other"
    if version.settings_in == "archive" and known.server != "djl":
        yield "settings_in", f"{known.server} reads its settings from the environment"
    yield from _problems_of_numbers(version)
    yield from _problems_of_variables(version)


def _tags_name_versions(version: EngineVersion) -> bool:
    """Whether all tags that we know of labels of this form, in this repository, hold the numbers of their labels."""
    known, file = engine(version.engine), f"engines/{version.engine}.json"
    alike = [
        each
        for each in known.versions.values()
        if (each.repository, _NUMBER.sub("N", each.label)) == (version.repository, _NUMBER.sub("N", version.label))
        and not layers.own_file(file, each.label)
    ]
    return bool(alike) and all(_names(each.tag or "", each.label) for each in alike)


def _names(tag: str, label: str) -> bool:
    in_tag = _NUMBER.findall(tag)
    return all(any(f"{each}.".startswith(f"{number}.") for each in in_tag) for number in _NUMBER.findall(label))


def _image(version: EngineVersion) -> tuple[str, str | None]:
    return version.repository, version.tag


def _problems_of_variables(version: EngineVersion) -> Iterator[Problem]:
    for setting, variable in version.variables.items():
        if setting not in SETTINGS:
            yield f"variables.{setting}", f"is not a setting; use one of {', '.join(sorted(SETTINGS))}"
        for name in (variable.name, *variable.also):
            if not _VARIABLE.fullmatch(name):
                yield f"variables.{setting}", f"{name!r} is not a variable; use capital letters, digits and '_'"
    for name in version.constants:
        if not _VARIABLE.fullmatch(name):
            yield f"constants.{name}", "is not a variable; use capital letters, digits and '_'"
    if engine(version.engine).repository and "model" not in version.variables:
        yield "variables", "lacks model, without which the container has no model"
    for setting, values, allowed in (
        ("dtype", version.dtypes, DTYPES),
        ("quantization", version.quantizations, QUANTIZATIONS),
    ):
        if unknown := sorted(set(values) - allowed):
            yield f"{setting}s", f"{unknown[0]!r} is not allowed; use {', '.join(sorted(allowed))}"
        given = version.variables.get(setting)
        if engine(version.engine).repository and (given is not None) != bool(values):
            yield f"variables.{setting}", f"is there exactly if {setting}s are"
        words = given.values if given else None
        if words is not None and (lacking := sorted(set(values) - words.keys())):
            yield f"variables.{setting}", f"has no value for {lacking[0]}"
    if version.default_dtype not in (None, "fp32"):
        yield "default_dtype", f"{version.default_dtype!r} is not allowed; use fp32 or null"


def problems_of_instance(instance: InstanceType) -> Iterator[Problem]:
    """Yield what contradicts itself in an instance type."""
    if not re.fullmatch(r"(ml\.)?[a-z0-9-]+\.[a-z0-9-]+", instance.type):
        yield "", "is not the name of an instance type, such as ml.g6.2xlarge or c7a.large"
    yield from _problems_of_numbers(instance, "accelerator_count", "local_nvme_in_gb")
    if instance.memory_in_gib < instance.vcpu:
        yield "memory_in_gib", f"{instance.memory_in_gib:g} is less than 1 for each vCPU; the unit is GiB of the host"
    for columns, is_needed, kinds in (
        (("accelerator", "accelerator_count"), instance.kind != "cpu", "gpu and neuron"),
        (("accelerator_memory_in_mib", "memory_bandwidth_in_gb_per_s"), instance.kind != "cpu", "gpu and neuron"),
        (("compute_capability",), instance.kind == "gpu", "gpu"),
        (("neuron_cores",), instance.kind == "neuron", "neuron"),
    ):
        for column in columns:
            if bool(getattr(instance, column)) != is_needed:
                yield column, f"types of kind {kinds} have it, and no other"
    if instance.neuron_cores and instance.neuron_cores % instance.accelerator_count:
        yield "neuron_cores", f"{instance.neuron_cores} can't be divided by accelerator_count"
    has_disk = instance.local_nvme_in_gb
    if None not in (instance.volume_size_allowed, has_disk) and instance.volume_size_allowed == bool(has_disk):
        yield "volume_size_allowed", "must be true without an own disk (local_nvme_in_gb), and false with one"


def _problems_of_numbers(row: object, *may_be_0: str) -> Iterator[Problem]:
    for column, value in vars(row).items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and (value < 0 or (value == 0 and column not in may_be_0)):
            yield column, f"{value:g} is not allowed; use {'0 or more' if column in may_be_0 else 'more than 0'}"


def problems_of_model(shape: ModelShape) -> Iterator[Problem]:
    """Yield what contradicts itself in a model, or is not a value of its column."""
    for hub_id in shape.ids:
        if not re.fullmatch(r"([\w.-]+/)?[\w.-]+", hub_id):
            yield "ids", f"{hub_id!r} is not an id on the Hub, such as Qwen/Qwen3-4B"
    if not re.fullmatch(r"[A-Z]\w+", shape.architecture):
        yield "architecture", f"{shape.architecture!r} is not a class of config.json, such as Qwen3ForCausalLM"
    for column, allowed in (("dtype", {*_BYTES}), ("quantization", {*_QUANTIZED_BYTES})):
        value = getattr(shape, column)
        if value is not None and value not in allowed:
            yield column, f"{value!r} is not allowed; use {', '.join(sorted(allowed))} or null"
    if unknown := sorted(shape.needs.keys() - _TABLES):
        yield "needs", f"{unknown[0]!r} is not a table; use {', '.join(sorted(_TABLES))}"
    yield from _problems_of_numbers(shape, "layers_with_window")
    if shape.vision:
        yield from problems_of_vision(shape.vision)
    if not shape.parameters_in_billions:
        yield "parameters_in_billions", "must be more than 0; only a lock file may lack it"
        return
    if shape.context is not None and shape.context < 512:
        yield "context", f"{shape.context} is not a model's; use 512 or more, in tokens"
    if shape.heads and shape.kv_heads and shape.heads % shape.kv_heads:
        yield "kv_heads", f"{shape.kv_heads} does not divide heads, {shape.heads}"
    if (shape.active_parameters_in_billions or 0) >= shape.parameters_in_billions:
        yield "active_parameters_in_billions", "must be less than parameters_in_billions"
    if shape.vocabulary is not None and shape.vocabulary < 10_000:
        yield "vocabulary", f"{shape.vocabulary} is not a model's; use 10000 or more"
    # An expert is narrow: a token passes several.
    least = (shape.hidden_size or 0) / 4 if not shape.active_parameters_in_billions else 0
    if shape.intermediate_size is not None and shape.intermediate_size <= least:
        yield "intermediate_size", f"{shape.intermediate_size} is less than a quarter of hidden_size"
    if problem := _problem_of_size(shape, shape.parameters_in_billions):
        yield "weights_in_gb", problem


def _problem_of_size(shape: ModelShape, parameters: float) -> str:
    """Return how the size of the files contradicts the number of parameters and their format; empty = it does not."""
    if shape.weights_in_gb is None or shape.dtype not in _BYTES:
        return ""
    # GPT-2's files hold buffers beside the parameters, which matter in small models.
    plain = (_BYTES[shape.dtype] * 0.97, _BYTES[shape.dtype] * (1.05 if parameters > 0.5 else 1.16))
    least, most = _QUANTIZED_BYTES.get(shape.quantization or "", plain)
    if least <= shape.weights_in_gb / parameters <= most:
        return ""
    what = f"{shape.weights_in_gb:g} GB for {parameters:g} billion parameters in {shape.quantization or shape.dtype}"
    return f"{what} should be {least * parameters:.3g} to {most * parameters:.3g}"
