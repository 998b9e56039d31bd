"""Commands that the benchmark of the generation worker runs with torch: `make` writes a model, `answer` uses it."""

import importlib
import sys
from pathlib import Path
from pydoc_data.topics import topics

END = "<|endoftext|>"


def make(folder: Path) -> None:
    """Write a GPT-2 of the published size (124 million parameters) with random weights and a new tokenizer."""
    torch, tokenizers, transformers = map(importlib.import_module, ("torch", "tokenizers", "transformers"))
    pieces = tokenizers.ByteLevelBPETokenizer()
    pieces.train_from_iterator(topics.values(), vocab_size=5000, special_tokens=[END])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=pieces._tokenizer, eos_token=END)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    transformers.GPT2LMHeadModel(transformers.GPT2Config(eos_token_id=None)).save_pretrained(folder)


def answer(folder: Path, prompt: str, length: int) -> None:
    """Load the model and answer one prompt, as a script that runs once for each request."""
    transformers = importlib.import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    read = tokenizer(prompt, return_tensors="pt")
    written = model.generate(**read, do_sample=True, max_new_tokens=length, pad_token_id=0)
    assert written.shape[1] == read["input_ids"].shape[1] + length
    print(tokenizer.decode(written[0]))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]))
    else:
        answer(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
