"""Types and formats of weights: the engines' spellings, and bytes per parameter."""

DTYPES = {
    "fp32": ("fp32", "float32", "float", "f32"),
    "fp16": ("fp16", "float16", "half", "f16"),
    "bf16": ("bf16", "bfloat16"),
    "int8": ("int8",),
}
QUANTIZATIONS = {
    "awq": ("awq", "awq_marlin"),
    "gptq": ("gptq", "gptq_marlin", "marlin"),
    "fp8": ("fp8", "fbgemm_fp8"),
    "int8": ("int8", "eetq", "smoothquant", "static_int8", "dynamic_int8"),
    "bitsandbytes8": ("bitsandbytes8", "bitsandbytes"),
    "bitsandbytes4": ("bitsandbytes4", "bitsandbytes-nf4", "bitsandbytes-fp4"),
    "mxfp4": ("mxfp4",),
    "nvfp4": ("nvfp4", "modelopt_fp4"),
    "gguf": ("gguf",),
}
PACKED_BEFORE = ("awq", "gptq", "gguf")  # made only before loading; engines make the other formats while they load
BYTES_PER_PARAMETER = {
    "fp32": 4.0,
    "fp16": 2.0,
    "bf16": 2.0,
    "int8": 1.0,
    "fp8": 1.0,
    "bitsandbytes8": 1.05,
    # Four bits and a scale per group; embeddings and norms stay in 16 bits.
    "awq": 0.6,
    "gptq": 0.6,
    "bitsandbytes4": 0.6,
    "mxfp4": 0.55,
    "nvfp4": 0.6,
    "gguf": 0.55,
}


def normal(given: str, known: dict[str, tuple[str, ...]]) -> str | None:
    """Return our word for an engine's spelling; None = the word is not among these."""
    return next((name for name, words in known.items() if given.lower() in words), None)
