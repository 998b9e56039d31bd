"""The settings of the model: its id, weights, task and adapters."""

from typing import Annotated, Literal

from pydantic import Field

from .section import KmsKeyArn, Section

# A part of a component's name, which may have 63 characters, and of `model` in a request.
AdapterName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$", max_length=32)]


AdapterSource = Annotated[
    str,
    Field(
        description="S3 prefix that ends with `/`, such as `s3://bucket/legal/`, or an id on the Hub, `org/name`",
        max_length=1024,
        pattern=r"^(s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/([A-Za-z0-9_!.'()-]+/)+"
        r"|[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*(@[A-Za-z0-9_./-]{1,128})?)$",
    ),
]


def archive_of_adapter(prefix: str) -> str:
    """Return the place of an adapter's archive, beside its prefix: two adapters may lie side by side."""
    return f"{prefix.rstrip('/')}.tar.gz"


class Model(Section):
    """The model that is served and where its weights come from."""

    id: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)?$",
        max_length=200,
        description="Model id on the Hugging Face Hub, for example `Qwen/Qwen3-4B`.",
    )
    revision: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_./-]{1,128}$",
        description="Commit, branch or tag on the Hub; null = the newest commit.",
    )
    weights: str | None = Field(
        None,
        max_length=1024,
        pattern=r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/([A-Za-z0-9_!.'()-]+/)+$",
        description="S3 prefix that holds the uncompressed weights, `s3://bucket/prefix/`; null = the container "
        "downloads them from the Hub.",
    )
    weights_kms_key_arn: KmsKeyArn | None = Field(
        None,
        description="KMS key that encrypts the objects under `weights`, and those of `adapters`; null = none, or a key "
        "that AWS manages.",
    )
    parameters_in_billions: float | None = Field(
        None,
        gt=0,
        le=10_000,
        description="Number of parameters, for the memory check of a model that neither a lock file nor the catalog "
        "knows; null = the number that they state.",
    )
    dtype: Literal["fp32", "fp16", "bf16", "int8"] | None = Field(
        None, description="Number format in which the engine computes; null = the engine and the model decide."
    )
    quantization: (
        Literal["awq", "gptq", "fp8", "int8", "bitsandbytes4", "bitsandbytes8", "mxfp4", "nvfp4", "gguf"] | None
    ) = Field(
        None,
        description="Format of quantized weights: the one in which they are stored, or the one into which the engine "
        "converts them; null = the format of the model's own files.",
    )
    task: Literal["generate", "embed", "rerank"] = Field(
        "generate",
        description="What the model answers with: `generate` = text, `embed` = a vector for each text (POST "
        "/embeddings), `rerank` = how well each text fits a query (POST /rerank).",
    )
    pooling: Literal["mean", "cls", "last-token"] | None = Field(
        None,
        description="`task: embed` only: how the vectors of a text's tokens become one; null = as the model's files "
        "say.",
    )
    hub_token_secret_arn: str | None = Field(
        None,
        pattern=r"^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+$",
        description="Secret with a Hugging Face token, for gated models; `stage` uses it. Without `weights` the "
        "container gets the token in its environment, which everybody who may describe the model can read.",
    )
    files: list[Annotated[str, Field(max_length=200)]] | None = Field(
        None, min_length=1, description="Patterns of the files that `stage` copies; null = the files that engines load."
    )
    adapters: dict[AdapterName, AdapterSource] = Field(
        default_factory=dict,
        max_length=50,
        description="LoRA adapters of the model by name; callers choose one by this name in `model`. Each is an S3 "
        "prefix with its files, `s3://bucket/prefix/`, or for the engines `vllm` and `sglang` an id on the Hub, "
        "`org/name` or `org/name@revision`.",
    )
