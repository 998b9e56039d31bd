"""Models by their id on the Hugging Face Hub, with the shape that decides how much memory they need."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from ..project import kept_for_project
from . import layers
from .layers import CatalogError
from .vision import VisionShape

MODELS_FILE = Path(__file__).with_name("models.json")


@dataclass(frozen=True)
class ModelShape:
    """Facts of config.json and the files of a repository; None = not known.

    ids: all repositories of this shape.
    architecture: the first of `architectures` in config.json.
    active_parameters_in_billions: parameters that a mixture of experts uses per token; None = all.
    experts, experts_per_token: of each layer with experts, without shared ones; None = no mixture, or not known.
    layers: layers with a KV cache over all tokens; for an encoder-decoder model those of the decoder.
    kv_heads: heads of keys and values; fewer than `heads` with grouped-query attention.
    context: the longest sequence in tokens (max_position_embeddings).
    dtype: type of the weights in the files, or of the weights that are not quantized.
    quantization: format of the quantized files; None = not quantized.
    weights_in_gb: decimal GB of the files that a container loads.
    gated: a download needs a token whose account has accepted the licence.
    sliding_window: tokens that some or all layers look back; other layers keep the whole context.
    layers_with_window: number of layers that look back no further than the window; None = the architecture's usual
    pattern.
    kv_heads_without_window, head_size_without_window: of layers without a window; None = as in the other layers.
    layers_with_state: layers that keep a recurrent state, which does not grow with the request, beside or instead of
    keys and values; None = none, or not known.
    state_in_bytes: that state of one layer and one request.
    intermediate_size: width of the MLP; for a mixture that of the narrowest expert, the shared one included.
    vocabulary: rows of the embeddings (vocab_size).
    latent_size: cached values per token of latent attention (kv_lora_rank + qk_rope_head_dim); None = no latent
    attention, or the architecture's size.
    indexer_bytes: cached for a token by the indexers of sparse attention, in all layers together; None = no indexers.
    quantization_block: weights that share a scale (group_size, weight_block_size); None = not known, or one scale for
    each tensor or channel.
    quant_method: as in quantization_config; several methods write the same format, each in its own way.
    rope: the type of rope_scaling, which a library may not compute yet.
    chat_template: whether the tokenizer's files hold a chat template.
    vector_size: length of the vectors of an embedding model; pooling: how its files make one of those of a text's
    tokens, in the words of `model.pooling`, or in those of the files; matryoshka: whether the first part of a vector is
    a vector, too.
    labels: of a classifier, as in id2label; a model that scores how texts fit a query has one.
    model_type: in config.json, of the part that generates text; wrapper: of the whole model, if that is another one.
    vision: the part that reads images; None = there is none, or it is not known.
    needs: by table of architectures.json, the first version that runs the model, if it is later than for its
    architecture and its rope.
    """

    ids: tuple[str, ...]
    architecture: str
    parameters_in_billions: float | None
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
    experts: int | None = None
    experts_per_token: int | None = None
    intermediate_size: int | None = None
    vocabulary: int | None = None
    latent_size: int | None = None
    indexer_bytes: int | None = None
    layers_with_window: int | None = None
    kv_heads_without_window: int | None = None
    head_size_without_window: int | None = None
    layers_with_state: int | None = None
    state_in_bytes: int | None = None
    quantization_block: int | None = None
    quant_method: str | None = None
    rope: str | None = None
    chat_template: bool | None = None
    vector_size: int | None = None
    pooling: str | None = None
    matryoshka: bool | None = None
    labels: int | None = None
    model_type: str | None = None
    wrapper: str | None = None
    vision: VisionShape | None = None
    needs: Mapping[str, str] = field(default_factory=dict)


def model_shape(hub_id: str) -> ModelShape | None:
    """Return the shape of a model on the Hub, ignoring the case of letters; None = it is not in the catalog."""
    return _shapes().get(hub_id.lower())


@kept_for_project
def model_shapes() -> tuple[ModelShape, ...]:
    """Return all rows. Raises CatalogError for the first invalid one."""
    data = layers.read(MODELS_FILE.name)
    layers.demand_types(
        MODELS_FILE.name,
        {hub_id: {"source": "", **row} for row in data["models"] for hub_id in row["ids"]},
        ModelShape,
    )
    return shapes_of(data)


def shapes_of(data: Mapping[str, Any]) -> tuple[ModelShape, ...]:
    """Return the rows of a file's content. Raises CatalogError for a missing or an unknown column."""
    every = {each.name for each in fields(ModelShape)}
    needed = {each.name for each in fields(ModelShape) if each.default is each.default_factory is MISSING}
    shapes = []
    for row in ({"source": data["source"], **row} for row in data["models"]):
        missing, unknown = sorted(needed - row.keys()), sorted(row.keys() - every)
        if missing or unknown:
            wrong = [f"lacks {name}; write null if it is not known" for name in missing]
            wrong += [f"has {name}, which is not a column" for name in unknown]
            raise CatalogError(f"models.json: the row of {row.get('ids')} {', '.join(wrong)}. See docs/models.md.")
        vision = VisionShape(**row["vision"]) if row.get("vision") else None
        shapes.append(ModelShape(**{**row, "ids": tuple(row["ids"]), "vision": vision}))
    return tuple(shapes)


@kept_for_project
def _shapes() -> dict[str, ModelShape]:
    return {hub_id.lower(): shape for shape in model_shapes() for hub_id in shape.ids}
