"""Serving engines: their images by version, how each setting reaches them, and the request bodies they take."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ..project import kept_for_project
from . import layers
from .architectures import Architectures, architecture_tables, architectures
from .regions import image_region_sets, image_regions

EngineName = Literal[
    "lmi-vllm",
    "lmi-deepspeed",
    "lmi-fastertransformer",
    "lmi-neuronx",
    "lmi-huggingface",
    "lmi-tensorrt-llm",
    "tgi",
    "tgi-neuronx",
    "vllm",
    "sglang",
    "llama-cpp",
    "tei",
    "huggingface",
    "transformers",
    "custom",
]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)

Platform = Literal["gpu", "cpu", "neuron"]
Processor = Literal["x86_64", "arm64"]
Machine = tuple[Platform | None, Processor | None]
BUILD = re.compile(r"-v\d+(\.\d+)*$")


@dataclass(frozen=True)
class Variable:
    """The container's variable for one of our settings.

    values: the engine's word for each of our words; None = every value is passed on as it is. A value that maps to None
    is accepted and needs no variable, because the weights state it themselves.
    also: other variables that must have the same value.
    """

    name: str
    values: Mapping[str, str | None] | None = None
    also: tuple[str, ...] = ()

    def word_for(self, value: object) -> str | None:
        """Return the value of the variable; None = the variable is not needed.

        Raises KeyError for a value that this version does not take.
        """
        return str(value) if self.values is None else self.values[str(value)]


@dataclass(frozen=True)
class Legacy:
    """The reason not to choose an engine for new deployments, its date (such as "2024-12"), and the successor."""

    since: str
    reason: str
    successor: str


@dataclass(frozen=True)
class EngineVersion:
    """One published image, with all that holds for this version of its engine.

    engine: the name of its engine.
    repository: in AWS's image account; empty, with `tag` None, for the user's own image.
    platform, arch: None = not known, because the image is the user's own.
    cuda: version of CUDA in the image; None = it holds no CUDA.
    regions: the regions that have the image; None = AWS does not state them.
    bodies: the request shapes that it takes to generate text; empty = it generates none.
    tasks: the form of the requests for each other value of `model.task`: tei, openai (vectors) or jina (scores).
    handler: the built-in handler that runs if the user brings none; None = the image chooses one.
    handlers: all names of built-in handlers that this version has.
    settings_in: "archive" = a serving.properties in the model data, "environment" = variables of the container.
    variables: by the name of our setting, for example `model` or `tensor_parallel_degree`.
    constants: variables with the same value in every deployment.
    architectures: None = the catalog does not know which models this version runs.
    default_dtype: the type it computes in if none is set; None = 16 bits, or the type of the model's files.
    vllm, transformers: their versions in the image; None = not stated, or not in it.
    facts_from: the label of the version whose facts these are; empty = the catalog has this version.
    """

    engine: str
    label: str
    repository: str
    tag: str | None
    platform: Platform | None
    arch: Processor | None
    cuda: float | None
    regions: frozenset[str] | None
    bodies: tuple[str, ...]
    tasks: Mapping[str, str]
    handler: str | None
    handlers: tuple[str, ...]
    settings_in: Literal["environment", "archive"]
    dtypes: tuple[str, ...]
    default_dtype: str | None
    quantizations: tuple[str, ...]
    variables: Mapping[str, Variable]
    constants: Mapping[str, str]
    architectures: Architectures | None
    vllm: str | None
    transformers: str | None
    facts_from: str = ""

    def begins_with(self, name: str) -> bool:
        """Whether `name` begins the label, the toolkit's usual name ("4.26.0-gpu"), or the image tag.

        The tag counts only for a name with a hyphen, because TGI's tags begin with PyTorch's version.
        """
        names = (self.label, self.label.partition("-transformers")[2], self.tag if "-" in name else None)
        return bool(name) and any(f"{each}-".startswith((f"{name}.", f"{name}-")) for each in names if each)


@dataclass(frozen=True)
class VariableRow:
    """The columns of `Variable`."""

    name: str
    values: Mapping[str, str | None] | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class VersionRow:
    """The columns of a version in a file; a column that is left out is its engine's."""

    tag: str
    cuda: float | None = None
    vllm: str | None = None
    transformers: str | None = None
    repository: str = ""
    platform: Platform | None = None
    arch: Processor | None = None
    regions: str | None = None
    bodies: tuple[Literal["inputs", "messages", "prompt"], ...] = ()
    tasks: Mapping[str, Literal["tei", "openai", "jina"]] = field(default_factory=dict)
    handler: str | None = None
    handlers: tuple[str, ...] = ()
    settings_in: Literal["environment", "archive"] = "environment"
    dtypes: tuple[str, ...] = ()
    default_dtype: str | None = None
    quantizations: tuple[str, ...] = ()
    variables: Mapping[str, str | VariableRow | None] = field(default_factory=dict)
    constants: Mapping[str, str | None] = field(default_factory=dict)
    architectures: str | None = None


@dataclass(frozen=True)
class Engine:
    """A serving engine.

    server: the program in the container, which decides on the form of settings and requests.
    other_defaults: default versions for processors and accelerators that `default_version` is not made for.
    parameters: the ranges that the engine itself enforces on the parameters of a request.
    names: all names that a body may have, by the key that holds the prompt: "" = names of the body, "parameters." =
    names in that object. Synonyms, of which a body may have one, share an entry. Empty = the engine ignores unknown
    names.
    most_answers: largest number of answers to all prompts of a request; None = no limit.
    """

    name: str
    title: str
    server: Literal["djl", "tgi", "vllm", "sglang", "llama-cpp", "tei", "huggingface", "transformers", "own"]
    repository: str
    legacy: Legacy | None
    default_version: str
    other_defaults: tuple[str, ...]
    parameters: Mapping[str, Mapping[str, float]]
    names: Mapping[str, Mapping[str, list[str]]]
    most_answers: int | None
    versions: Mapping[str, EngineVersion]

    def version(self, name: str | None, machine: Machine | None = None) -> EngineVersion | None:
        """Return the version with that label, or the newest whose label or image tag begins with it: "2.0", "0.36.0".

        name: None = the default version.
        machine: kind and processor, to choose among several images of one name.
        Returns None if there is no such version, or none for this machine.
        """
        if name is None:
            return self.default(machine)
        if name in self.versions:
            return self.versions[name]
        fitting = self.named(name)
        made_for = [known for known in fitting if (known.platform, known.arch) == machine]
        if len({(known.platform, known.arch) for known in fitting}) == 1:
            made_for = fitting
        return made_for[-1] if made_for else None

    def named(self, name: str) -> list[EngineVersion]:
        """Return all versions whose label or tag begins with the name."""
        return [known for known in self.versions.values() if known.begins_with(name)]

    def default(self, machine: Machine | None = None) -> EngineVersion:
        """Return the default version for this kind and processor, or for this kind, or for all."""
        defaults = [self.versions[label] for label in (self.default_version, *self.other_defaults)]
        exact = (known for known in defaults if (known.platform, known.arch) == machine)
        near = (known for known in defaults if machine and known.platform == machine[0])
        return next(exact, None) or next(near, defaults[0])


@kept_for_project
def engine(name: str) -> Engine:
    """Return the engine of that name.

    Raises KeyError for a name that is not in `ENGINES`, CatalogError for an invalid row of the project.
    """
    if name not in ENGINES:
        raise KeyError(name)
    file = f"engines/{name}.json"
    data = layers.read(file)
    layers.demand_types(file, data["versions"], VersionRow)
    return Engine(
        name=name,
        title=data["title"],
        server=data["server"],
        repository=data["repository"],
        legacy=Legacy(**data["legacy"]) if data["legacy"] else None,
        default_version=data["default_version"],
        other_defaults=tuple(data.get("other_defaults", ())),
        parameters=data["parameters"],
        names=data.get("names", {}),
        most_answers=data.get("most_answers"),
        versions={label: _version(name, label, row, data) for label, row in data["versions"].items()},
    )


@kept_for_project
def find_image(uri: str, wanted: str = "") -> EngineVersion | None:
    """Return the published image that this URI names, in any account; None = the catalog does not have it.

    wanted: the engine to prefer if one image holds several; otherwise the engine in the image's name.
    """
    repository, _, tag = uri.rpartition("/")[2].partition(":")
    for name in sorted(ENGINES, key=lambda name: (name != wanted, name.rpartition("-")[2] not in tag)):
        known = [known for known in engine(name).versions.values() if known.repository == repository and known.tag]
        same = [version for version in known if _is_same_image(tag, version.tag or "")]
        if same:
            return next((version for version in same if version.tag == tag), same[-1])  # a moving tag is on the newest
    return None


def _is_same_image(tag: str, known: str) -> bool:
    """Whether two tags name the same image; tags of builds end in `-v1.2`, or in `.3` on Amazon Linux 2023.

    Some images also have a shorter tag, without the version of Ubuntu or of CUDA.
    """
    if known.startswith("server-"):
        return tag == known or tag.startswith(f"{known}.") or known.startswith(f"{tag}.")
    tag, known = BUILD.sub("", tag), BUILD.sub("", known)
    return tag == known or ("-" in tag and known.startswith(f"{tag}-"))


def image_tags(repository: str) -> frozenset[str]:
    """Return all tags of one of AWS's repositories that the catalog knows."""
    versions = (version for name in ENGINES for version in engine(name).versions.values())
    return frozenset(version.tag for version in versions if version.tag and version.repository == repository)


def _version(name: str, label: str, row: dict[str, Any], data: dict[str, Any]) -> EngineVersion:
    said = {**data, **row}  # a version's own columns win over its engine's
    table = said["architectures"]
    # An engine's own table goes by the engine's labels, a library's table by the library's version in the image.
    version = label if table == name else said.get(table)
    for column, known in (("regions", image_region_sets()), ("architectures", architecture_tables())):
        if said[column] and said[column] not in known:
            problem = f"{said[column]!r} is not allowed; use {', '.join(sorted(known))} or null"
            raise layers.refuse(f"engines/{name}.json", label, column, problem)
    return EngineVersion(
        engine=name,
        label=label,
        repository=said["repository"],
        tag=row["tag"],
        platform=said["platform"],
        arch=said.get("arch", "x86_64"),
        cuda=row.get("cuda"),
        regions=image_regions(said["regions"]) if said["regions"] else None,
        bodies=tuple(said["bodies"]),
        tasks=said.get("tasks", {}),
        handler=said["handler"],
        handlers=tuple(said["handlers"]),
        settings_in=said["settings_in"],
        dtypes=tuple(said["dtypes"]),
        default_dtype=said.get("default_dtype"),
        quantizations=tuple(said["quantizations"]),
        variables={name: _variable(value) for name, value in _overridden("variables", row, data).items()},
        constants=_overridden("constants", row, data),
        architectures=architectures(table, version) if table and version else None,
        vllm=row.get("vllm"),
        transformers=row.get("transformers"),
    )


def _overridden(key: str, row: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Return the engine's entries with those of the version over them; null removes one."""
    return {name: value for name, value in {**data[key], **row.get(key, {})}.items() if value is not None}


def _variable(value: str | dict[str, Any]) -> Variable:
    if isinstance(value, str):
        return Variable(value)
    return Variable(value["name"], value.get("values"), tuple(value.get("also", ())))
