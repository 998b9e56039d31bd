"""Fixtures for tests with torch and transformers. `make test-models` installs both; `make test` skips the tests."""

import importlib
import importlib.util
from pathlib import Path
from pydoc_data.topics import topics

import pytest

END = "<|endoftext|>"
TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore every test of this folder if torch is not installed."""
    return None if importlib.util.find_spec("torch") else True


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the same GPT-2 of two small layers each time, with its tokenizer, as `save_pretrained` does."""
    torch, tokenizers, transformers = map(importlib.import_module, ("torch", "tokenizers", "transformers"))
    folder = tmp_path_factory.mktemp("weights")
    pieces = tokenizers.ByteLevelBPETokenizer()
    pieces.train_from_iterator([topics["class"], topics["assignment"]], vocab_size=400, special_tokens=[END])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=pieces._tokenizer, eos_token=END, bos_token=END)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    size = {"n_layer": 2, "n_head": 2, "n_embd": 32, "n_positions": 64, "vocab_size": len(tokenizer)}
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**size, **ends)).save_pretrained(folder)
    return folder
