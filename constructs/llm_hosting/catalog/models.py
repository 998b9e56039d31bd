"""Models by their id on the Hugging Face Hub: their shape, which decides how much memory they take."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any


class CatalogError(Exception):
    """A file of the catalog that can't be used: which one, which row, and what to mend."""


@dataclass(frozen=True)
class ModelShape:
    """What config.json and the files of a repository say; None = not known.

    ids: all repositories of this shape. architecture: the first of `architectures` in config.json.
    active_parameters_in_billions: those that one token passes, where a mixture of experts has more.
    layers: those that keep keys and values of every token; the decoder's where there is an encoder.
    kv_heads: heads of the keys and values; fewer than `heads` with grouped queries.
    context: tokens that the model was made for (max_position_embeddings).
    dtype: type of the weights in the files, or of what is not quantized in them.
    quantization: how the files are quantized; None = they are not.
    weights_in_gb: decimal GB of the files that a container loads.
    gated: the Hub asks for a licence to be accepted, so a download needs a token; None = not known.
    sliding_window: tokens that some or all layers look back; the others keep the whole context.
    intermediate_size: width of the MLP; in a mixture of one expert, the shared one included: the narrower.
    vocabulary: rows of the embeddings (vocab_size).
    latent_size: of the one vector that latent attention keeps of a token (kv_lora_rank + qk_rope_head_dim); None = it
    has none, or that of its architecture.
    quantization_block: weights that share a scale (group_size, weight_block_size); None = not known, or a scale for
    each tensor or channel.
    needs: by the name of a table in architectures.json, the first version that runs this model, where that is later
    than for its architecture.
    """

    ids: tuple[str, ...]
    architecture: str
    parameters_in_billions: float
    layers: int | None
    heads: int | None
    kv_heads: int | None
    head_size: int | None
    hidden_size: int | None
    context: int | None
    dtype: str | None
    quantization: str | None
    weights_in_gb: float | None
    gated: bool | None
    sliding_window: int | None
    source: str
    active_parameters_in_billions: float | None = None
    intermediate_size: int | None = None
    vocabulary: int | None = None
    latent_size: int | None = None
    quantization_block: int | None = None
    needs: Mapping[str, str] = field(default_factory=dict)


def model_shape(hub_id: str) -> ModelShape | None:
    """The shape of a model on the Hub, whatever the case of its letters; None = not in the catalog."""
    return _shapes().get(hub_id.lower())


@cache
def model_shapes() -> tuple[ModelShape, ...]:
    """All that the catalog knows. Raises CatalogError for the first row that is wrong."""
    return read_shapes(Path(__file__).with_name("models.json"))


def read_shapes(path: Path) -> tuple[ModelShape, ...]:
    """The rows of such a file. Raises CatalogError; types are left to the tests, since this runs at every check."""
    try:
        data: dict[str, Any] = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise CatalogError(f"{path.name} is not valid JSON: {error}.") from error
    every = {each.name for each in fields(ModelShape)}
    needed = {each.name for each in fields(ModelShape) if each.default is each.default_factory is MISSING}
    shapes = []
    for row in ({"source": data["source"], **row} for row in data["models"]):
        missing, unknown = sorted(needed - row.keys()), sorted(row.keys() - every)
        if missing or unknown:
            wrong = [f"lacks {name}; write null if it is not known" for name in missing]
            wrong += [f"has {name}, which is no column" for name in unknown]
            raise CatalogError(f"{path.name}: the row of {row.get('ids')} {', '.join(wrong)}. See docs/models.md.")
        shapes.append(ModelShape(**{**row, "ids": tuple(row["ids"])}))
    return tuple(shapes)


@cache
def _shapes() -> dict[str, ModelShape]:
    return {hub_id.lower(): shape for shape in model_shapes() for hub_id in shape.ids}
