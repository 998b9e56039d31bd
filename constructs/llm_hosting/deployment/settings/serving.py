"""The settings of the container that serves the model."""

from typing import Annotated

from pydantic import Field

from ...catalog.engines import EngineName
from .section import Section

EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=1024)]


EnvironmentValue = Annotated[str, Field(max_length=1024)]


class Serving(Section):
    """The container that serves the model, and its settings."""

    engine: EngineName = Field(
        "lmi-vllm",
        description="Serving engine, which decides on the container image. `custom` needs `image_uri`. `transformers` "
        "has no image and is the only engine of `hosting.mode: ec2`.",
    )
    version: str | None = Field(
        None,
        description="Version of the engine's image, or its beginning: `2.0` means the newest 2.0 version of the "
        "catalog. It may be newer than the catalog, or the tag of a newer image. null = the catalog's default.",
    )
    image_uri: str | None = Field(
        None,
        pattern=r"^([0-9]{12}|\$\{AWS::AccountId\})\.dkr\.ecr\.([a-z0-9-]+|\$\{AWS::Region\})\."
        r"([a-z.]+|\$\{AWS::URLSuffix\})/[a-z0-9._/-]+(:[A-Za-z0-9_.-]{1,128}|@sha256:[0-9a-f]{64})?$",
        max_length=255,
        description="Amazon ECR image to use instead of the catalog's image; it may contain `${AWS::AccountId}`, "
        "`${AWS::Region}` and `${AWS::URLSuffix}`.",
    )
    tensor_parallel_degree: int | None = Field(
        None,
        ge=1,
        le=64,
        description="Number of accelerators (on Neuron: NeuronCores) that share one copy of the model; null = all of "
        "the instance, or the largest number that divides the model's heads and the blocks of its quantized weights.",
    )
    max_model_len: int | None = Field(
        None,
        ge=2,
        le=100_000_000,
        description="Longest prompt and answer together, in tokens; null = the limit of the model or the engine.",
    )
    max_batch_size: int | None = Field(
        None,
        ge=1,
        le=4096,
        description="Number of requests that the engine computes together; null = the engine's default.",
    )
    max_batch_tokens: int | None = Field(
        None,
        ge=1,
        le=10_000_000,
        description="Number of tokens of all requests together that the engine computes in one step; null = the "
        "engine's default. `tei` takes no text that is longer.",
    )
    max_batch_delay_in_ms: int | None = Field(
        None,
        ge=1,
        le=60_000,
        description="How long dynamic batching waits for a batch to fill; null = it does not wait.",
    )
    max_new_tokens: int | None = Field(
        None,
        ge=1,
        le=100_000_000,
        description="Longest answer that callers ask for, in tokens; the checks estimate how long it takes. null = no "
        "estimate.",
    )
    images_per_prompt: int | None = Field(
        None,
        ge=0,
        le=1000,
        description="Most images in a request to a vision-language model, which the API checks, and vLLM, too; vLLM "
        "then takes no video. 0 = texts only. null = as many as body and context hold.",
    )
    handler: str | None = Field(
        None,
        pattern=r"^[a-z][a-z0-9_]{0,49}$",
        description="Folder under `model_src/` with your own `model.py`, for the engines `lmi-...`; null = no code of "
        "your own.",
    )
    environment: dict[EnvironmentName, EnvironmentValue] = Field(
        default_factory=dict,
        max_length=100,
        description="Environment variables of the container; they win over the variables that other settings produce.",
    )
