"""A deployment for which every question to the catalog has been answered once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..catalog.engines import EngineVersion, engine
from ..catalog.instances import types_for
from ..catalog.openai_api import openai_api
from ..deployment.model import Deployment
from .component_copy import ComponentCopy, component_copy
from .container import Container
from .image import (
    container_image,
    cuda_of,
    host_image,
    image_version,
    machine_image,
    needs_archive,
    schema_version,
    shared_host_image,
)
from .parallelism import default_degree, parallel_devices
from .placement import Placement
from .variables import ContainerSettings, container_settings, is_read

_MACHINE_BATCH = 4
# The API's routes for models that make no text, and the key of the engine's body for each form of it.
_ROUTE_OF_TASK = {"embed": "embeddings", "rerank": "rerank"}
_KEY_OF_FORM = {"tei": "inputs", "openai": "input"}
_LENGTHS = ("max_new_tokens", "max_tokens", "max_completion_tokens")


@dataclass(frozen=True)
class Resolution:
    """Everything that constructs, functions, rules and reports ask about a deployment.

    image: `repository:tag` in AWS's image account, or the whole URI if the deployment names one; empty = the catalog
    has no such version. With `hosting.mode: ec2`: the machine's image, as a reference to an SSM parameter.
    version: the engine's version; empty for an own image.
    cuda: the version in the container; None = none, or not named.
    inference_ami_version: the host image; None = SageMaker's default.
    derived: variables that follow from settings, also if an explicit variable wins over them.
    environment: variables of the container in the template.
    properties: lines of the serving.properties in an archive; None = the model data needs no archive.
    bodies: shapes of requests that the engine takes.
    parameters: ranges of the parameters of requests, by name.
    placements: one for each known instance type, best first.
    """

    deployment: Deployment
    image: str
    version: str
    cuda: float | None
    inference_ami_version: str | None
    derived: Mapping[str, str]
    environment: Mapping[str, str]
    properties: Mapping[str, str] | None
    bodies: tuple[str, ...]
    parameters: Mapping[str, Mapping[str, float]]
    container: Container
    placements: tuple[Placement, ...]

    @property
    def openai_routes(self) -> tuple[str, ...]:
        """The OpenAI routes that the engine can answer; empty if the deployment has no OpenAI routes.

        A text prompt can be sent as `inputs` as well. Messages can't: for an engine without a chat template, or an own
        handler, the template would be a guess.
        """
        serving, wanted = self.deployment.serving, self.deployment.api.openai
        if self.deployment.model.task != "generate":
            return (_ROUTE_OF_TASK[self.deployment.model.task],) if self.task_form and wanted is not False else ()
        chat = "messages" in self.bodies and serving.handler is None
        if wanted is False or not (wanted or chat):
            return ()
        served = {"chat": chat, "completions": not {"prompt", "inputs"}.isdisjoint(self.bodies)}
        return tuple(route for route, is_served in served.items() if is_served)

    @property
    def streams(self) -> bool:
        """Whether callers can get an answer as a stream; OpenAI's routes turn a whole answer into a stream."""
        return bool(self.makes_text and (self.openai_routes or self.openai_facts.get("streams")))

    @property
    def makes_text(self) -> bool:
        """Whether the model generates text, and no vectors or scores."""
        return self.deployment.model.task == "generate"

    @property
    def task_form(self) -> str:
        """The form of the engine's requests for vectors or scores (EngineVersion.tasks); empty = it makes none."""
        return self.container.task_form

    @property
    def openai_facts(self) -> Mapping[str, object]:
        """The values of inference_api.shared.openai_facts.OpenAIFacts that differ from its defaults."""
        kind = self.container.openai_kind
        api = openai_api(kind)
        takes_prompt = "prompt" in self.bodies and kind != "transformers"
        facts: dict[str, object] = {
            "names": self.container.model_names,
            "any_model": self._takes_any_model,
            "streams": [form for form in self.bodies if form in api.streams],
            "asks_usage": [form for form in self.bodies if form in api.asks_usage],
            "inputs": None if takes_prompt or "inputs" not in self.bodies else api.inputs,
            "grammar": api.grammar and "messages" in self.bodies,
            "keeps_model": kind == "own",
            "chat_template": bool(self.container.shape and self.container.shape.chat_template),
        }
        facts |= {} if self.makes_text else self._facts_of_vectors
        return {name: value for name, value in facts.items() if value}

    @property
    def _facts_of_vectors(self) -> dict[str, object]:
        """The facts about a model that makes vectors or scores."""
        container, form, is_embedding = self.container, self.task_form, self.deployment.model.task == "embed"
        shape = container.shape
        return {
            "embeds": form if is_embedding else "",
            "reranks": "" if is_embedding else form,
            "most_texts": container.most_texts,
            "takes_ids": is_embedding and container.server != "own",
            "max_tokens": container.context,
            "vocabulary": shape.vocabulary if shape and is_embedding else None,
            "dimensions": shape.vector_size if shape and is_embedding else None,
            "matryoshka": bool(shape and is_embedding and shape.matryoshka),
        }

    @property
    def _takes_any_model(self) -> bool:
        """Whether any name is accepted for the model: vLLM refuses names that are not the model's."""
        wanted = self.deployment.api.other_models
        return wanted == "accept" if wanted else not self.container.has_vllm_front_end

    @property
    def machine_batch_size(self) -> int:
        """Number of requests that a machine of `hosting.mode: ec2` takes at once."""
        return self.deployment.serving.max_batch_size or _MACHINE_BATCH

    @property
    def component_copy(self) -> ComponentCopy:
        """What a copy of the model takes of the best instance type, which the catalog must know."""
        return component_copy(self.placements[0])

    @property
    def least_copies(self) -> int:
        """Number of copies that fill the instances of `instance_count.min`, which are paid anyway.

        On a shared endpoint: the number that the deployment asks for.
        """
        if self.deployment.hosting.endpoint:
            return self.deployment.hosting.copies.min
        return max(1, self.deployment.hosting.instance_count.min) * max(1, self.component_copy.per_instance)

    @property
    def most_copies(self) -> int:
        """Number of copies that fill the instances of `instance_count.max`; on a shared endpoint, the one asked for."""
        if self.deployment.hosting.endpoint:
            return self.deployment.hosting.copies.max
        return self.deployment.hosting.instance_count.max * max(1, self.component_copy.per_instance)

    @property
    def most_batches(self) -> int:
        """Largest number of batches in which an update starts the new copies, or the new instances."""
        rolling = self.deployment.hosting.rolling
        count = self.most_copies if self.deployment.uses_components else self.deployment.instance_count.max
        return math.ceil(count / rolling.batch) if rolling else 1

    def instances_during_update(self, count: int) -> int:
        """Return how many instances run at once while an update replaces all that run on this number of them."""
        rolling = self.deployment.hosting.rolling
        if rolling is None:
            return 2 * count
        copies = max(1, self.component_copy.per_instance) if self.deployment.uses_components else 1
        return count + math.ceil(rolling.batch / copies)

    @property
    def volume_takes_key(self) -> bool:
        """Whether SageMaker takes a key for the model's volume: not for the disk that some types have of their own."""
        return all(each.instance.volume_size_allowed is not False for each in self.placements)


def resolve(deployment: Deployment) -> Resolution:
    """Resolve any deployment; parts that are not in the catalog are left out, and rules name them."""
    serving, hosting = deployment.serving, deployment.hosting
    types = types_for(on_machines=hosting.runs_on_machines)
    known = [types[name] for name in hosting.instance_types if name in types]
    machine = (known[0].kind, known[0].arch) if known else None
    version = image_version(serving, machine)
    deriving = version or engine(serving.engine).default(machine)
    server, in_archive = engine(deriving.engine).server, needs_archive(serving, version)

    def derived(degree: int) -> tuple[ContainerSettings, dict[str, str]]:
        settings = container_settings(deployment, deriving, degree, needs_archive=in_archive)
        return settings, {name: value for name, value in settings.variables.items() if is_read(name, server)}

    settings, read = derived(1)
    container = Container(deployment, version, known[0].kind if known else "gpu", read)
    if known:  # the degree follows from all other settings
        settings, with_degree = derived(default_degree(container, min(known, key=parallel_devices)))
        read |= with_degree
    schema, cuda = schema_version(serving, version, machine), cuda_of(serving, version)
    return Resolution(
        deployment=deployment,
        image=machine_image(known) if hosting.runs_on_machines else container_image(serving, version),
        version="" if serving.image_uri or version is None else version.label,
        cuda=cuda,
        inference_ami_version=(
            shared_host_image(deployment.shared.endpoint, known)
            if deployment.shared
            else host_image(hosting, known, cuda)
        ),
        derived=settings.derived,
        environment=settings.environment,
        properties=settings.properties,
        bodies=_bodies(deployment, schema),
        parameters=_ranges(serving.engine, container.longest_answer) if deployment.model.task == "generate" else {},
        container=container,
        placements=tuple(Placement(container, instance) for instance in known),
    )


def _bodies(deployment: Deployment, version: EngineVersion) -> tuple[str, ...]:
    """Return the key of a body that holds the prompt, or the text; several if the engine takes several."""
    task = deployment.model.task
    if task == "generate" or task not in version.tasks:
        return version.bodies
    return ("query",) if task == "rerank" else (_KEY_OF_FORM[version.tasks[task]],)


def moved(resolution: Resolution, instance_type: str) -> Resolution:
    """Return the deployment on another type, with the volume that suits it."""
    changed = {"instance_type": instance_type, "volume_size_in_gb": None}
    hosting = resolution.deployment.hosting.model_copy(update=changed)
    return resolve(resolution.deployment.model_copy(update={"hosting": hosting}))


def _ranges(engine_name: str, longest_answer: int | None) -> Mapping[str, Mapping[str, float]]:
    """Return the engine's own ranges, with a maximum for answer lengths if prompt and answer share a limit."""
    ranges = engine(engine_name).parameters
    if longest_answer is None:
        return ranges
    return {**ranges, **{name: {**ranges.get(name, {}), "maximum": longest_answer} for name in _LENGTHS}}
