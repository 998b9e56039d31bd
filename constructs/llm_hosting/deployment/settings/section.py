"""What the models of several files share: their base class, and types of values."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

InstanceTypeName = Annotated[str, Field(min_length=1, max_length=64)]
KmsKeyArn = Annotated[str, Field(pattern=r"^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9_-]+$")]
TopicArn = Annotated[str, Field(pattern=r"^arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+$")]
RunbookUrl = Annotated[str, Field(pattern=r"^https?://[^\s#]+$", max_length=500)]
Region = Annotated[str, Field(pattern=r"^[a-z]{2,4}(-[a-z]+)+-[0-9]$")]
CapacityArn = Annotated[
    str, Field(pattern=r"^arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:[0-9]{12}:[a-z0-9-]{1,14}/.+$", max_length=258)
]
HostImage = Literal[
    "al2-ami-sagemaker-inference-gpu-2",
    "al2-ami-sagemaker-inference-gpu-2-1",
    "al2-ami-sagemaker-inference-gpu-3-1",
    "al2023-ami-sagemaker-inference-gpu-4-1",
    "al2-ami-sagemaker-inference-neuron-2",
]


class Section(BaseModel):
    """Base of all sections: frozen, strict types, no unknown keys."""

    # The patterns below spell out [A-Za-z0-9_]: \w takes letters that AWS refuses, and 0.1 s of each synth to compile.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())


class CountRange(Section):
    """The least and the largest number of instances or copies."""

    min: int
    max: int

    @property
    def is_scaled(self) -> bool:
        """Whether the number changes by itself."""
        return self.min < self.max
