"""A real model for `slipway local --real`: one process with torch, which all containers of a local cloud share."""

DEFAULT_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"  # small, with a chat template, and free to use
