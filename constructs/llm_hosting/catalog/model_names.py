"""Facts in the name of a repository that the catalog does not list: base model, quantization, size."""

import re
from dataclasses import replace
from functools import cache

from .models import ModelShape, model_shape, model_shapes

# Words for a format, a training stage or a release of the same model.
_BESIDE_THE_MODEL = re.compile(
    r"hf|chat|instruct|it|base|pt|awq|gptq|gguf|ggml|fp8|(mx|nv)?fp4|fp16|bf16|int[48]|[48]bit|bnb|nf4|w[48]a\d+|g?128g?|dynamic|"
    r"meta|quantized|marlin|unsloth|v\d+|true|act|actorder|safetensors|sharded"
)
_QUANTIZED = re.compile(
    r"(?i)(?P<awq>awq)|(?P<gptq>gptq|w4a16|int4)|(?P<mxfp4>mxfp4)|(?P<nvfp4>fp4)|(?P<fp8>fp8)|"
    r"(?P<int8>w8a8|w8a16|int8)|(?P<bitsandbytes4>bnb-4bit|nf4)|(?P<gguf>gguf)"
)
_PACKED_SOMEHOW = re.compile(r"(?i)[2-8][-_]?bit|hqq|auto-?round|quanto(?!r)|aqlm|eetq")
# Formats of other programs, by the names of their repositories.
_FOREIGN_FORMATS = {
    "llama.cpp of 2023 (GGML)": re.compile(r"(?i)/[^/]*ggml"),
    "ExLlama": re.compile(r"(?i)exl[23]($|[-_.])"),
    "MLX": re.compile(r"(?i)[-_]mlx($|[-_])|mlx-\d+bit"),
    "ONNX Runtime": re.compile(r"(?i)[-_]onnx($|[-_])"),
    "OpenVINO": re.compile(r"(?i)[-_]openvino($|[-_])|[-_]ov$"),
    "CTranslate2": re.compile(r"(?i)(^|/)ct2|[-_]ct2($|[-_])"),
    "LiteRT": re.compile(r"(?i)[-_](litert|tflite)($|[-_])"),
}
# Classes that do not generate text: vision, audio, embedding, classification.
CLASS_NOT_OF_TEXT = re.compile(
    r"^(XLM|Distil|Modern)?(Bert|Roberta|RoBERTa)\w*|^(MistralModel|Gemma3TextModel|Whisper\w*)|\w+For(\w+Classification|QuestionAnswering)"
)
_SIZE = re.compile(r"(?i)(?:^|[-_/.])(?:(?P<experts>\d+)x)?(?P<size>\d+(?:\.\d+)?)(?P<unit>[bm])(?=$|[-_.])")
# Family names in the names of fine-tunes, with a repository of the same architecture; the first match wins.
_FAMILIES = (
    (r"t5gemma|(?<![a-z])m?t5(?![a-z])|ul2|byt5", "google/flan-t5-xl"),
    (r"mixtral", "mistralai/Mixtral-8x7B-v0.1"),
    (r"mistral-7b|zephyr-7b|openhermes", "mistralai/Mistral-7B-v0.1"),
    (r"llama-?3\.[123]", "meta-llama/Llama-3.1-8B"),
    (r"code-?llama|llama-?[23](?!\.)|vicuna|wizardlm", "NousResearch/Llama-2-7b-hf"),
    (r"qwen2[._]5-?vl", "Qwen/Qwen2.5-VL-7B-Instruct"),
    (r"qwen2-?vl", "Qwen/Qwen2-VL-7B-Instruct"),
    (r"qwen3-?vl-\d+b(?!-a\d)", "Qwen/Qwen3-VL-8B-Instruct"),
    (r"qwen3-\d+b-a\d+b", "Qwen/Qwen3-30B-A3B"),
    (r"qwen3(?![.-]?(5|next|vl|coder-next|omni))", "Qwen/Qwen3-8B"),
    (r"qwen(1\.5|2|2\.5)(?!.*(vl|moe|omni|audio|a\d+b))", "Qwen/Qwen2.5-7B"),
    (r"gemma-?2(?![\db])", "google/gemma-2-9b-it"),
    (r"gemma-?3(?![\dn])", "google/gemma-3-4b-it"),
    (r"falcon-(7|40|180)b", "tiiuae/falcon-7b"),
    (r"gpt-oss(?!.*distill)", "openai/gpt-oss-20b"),
    (r"deepseek-v3", "deepseek-ai/DeepSeek-V3"),
    (r"^phi-3(\.5)?-m(ini|edium)(?!.*llama)", "microsoft/Phi-3-mini-4k-instruct"),
    (r"starcoder2", "bigcode/starcoder2-3b"),
)


def shape_of(hub_id: str) -> ModelShape | None:
    """The catalog's row, else that of the model in the name, without the facts of its own files."""
    return model_shape(hub_id) or _shape_by_name(hub_id)


def family_of(hub_id: str) -> ModelShape | None:
    """A model of the family in the name, for its architecture and its needs; the size may differ."""
    name = hub_id.rpartition("/")[2].lower()
    return next((model_shape(example) for words, example in _FAMILIES if re.search(words, name)), None)


def foreign_format(hub_id: str) -> str | None:
    """The only program that loads the files of a repository of that name; None = the name has no such format."""
    return next((name for name, words in _FOREIGN_FORMATS.items() if words.search(hub_id)), None)


def packing_in_name(hub_id: str) -> str | None:
    """The word for a quantization whose format is unknown: "4bit", "HQQ"."""
    named = None if quantization_in_name(hub_id) else _PACKED_SOMEHOW.search(hub_id)
    return named[0] if named else None


def quantization_in_name(hub_id: str) -> str | None:
    """For example "awq" for `TheBloke/Llama-2-7B-AWQ`."""
    named = _QUANTIZED.search(hub_id)
    return named.lastgroup if named else None


def size_in_name(hub_id: str) -> float | None:
    """Billions of parameters (`-7b`, `-350m`, `-8x7b`); experts of a mixture share about a fifth of their layers."""
    found = _SIZE.search(hub_id.rpartition("/")[2])
    if not found:
        return None
    size = float(found["size"]) / (1000 if found["unit"] in "mM" else 1)
    return size * int(found["experts"]) * 0.82 if found["experts"] else size


@cache
def _shape_by_name(hub_id: str) -> ModelShape | None:
    words = _words(hub_id)
    held = [(stem, shape) for stem, shape in _stems() if words == stem or (_names_size(stem) and _holds(words, stem))]
    longest = max((len(stem) for stem, _ in held), default=0)
    shapes = [shape for stem, shape in held if len(stem) == longest]
    if not shapes or len({(shape.architecture, shape.layers, shape.heads) for shape in shapes}) > 1:
        return None
    plain = [shape for shape in shapes if shape.quantization is None]
    model = (plain or shapes)[0]
    is_repack = len(words) == longest
    return replace(
        model,
        ids=(hub_id,),
        quantization=quantization_in_name(hub_id),
        quantization_block=None,
        weights_in_gb=None,
        gated=False,
        context=model.context if is_repack else None,
        source=f"the name, which holds that of {model.ids[0]}",
    )


@cache
def _stems() -> tuple[tuple[tuple[str, ...], ModelShape], ...]:
    stems = ((_words(hub_id), shape) for shape in model_shapes() for hub_id in shape.ids)
    return tuple((stem, shape) for stem, shape in stems if len(stem) > 1)


def _words(hub_id: str) -> tuple[str, ...]:
    """`TheBloke/Llama-2-7B-Chat-AWQ` and `meta-llama/Llama-2-7b-chat-hf` -> llama, 2, 7b."""
    name = re.sub(r"llama(\d)", r"llama-\1", hub_id.rpartition("/")[2].lower())
    return tuple(word for word in re.split(r"[-_]", name) if word and not _BESIDE_THE_MODEL.fullmatch(word))


def _holds(words: tuple[str, ...], stem: tuple[str, ...]) -> bool:
    return any(words[start : start + len(stem)] == stem for start in range(len(words) - len(stem) + 1))


def _names_size(words: tuple[str, ...]) -> bool:
    return any(map(_is_size, words))


def _is_size(word: str) -> bool:
    return re.fullmatch(r"(\d+x)?\d+(\.\d+)?[bm]", word) is not None
