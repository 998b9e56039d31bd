"""Rows that are decoded together give the same tokens as alone, and as transformers' own `generate`."""

import importlib
from collections import Counter
from collections.abc import Callable
from math import exp, sqrt
from pathlib import Path
from typing import Any

import pytest

from model_src.generation.language_model import LanguageModel, load
from model_src.generation.request import GREEDY, Sampling
from model_src.generation.rows import Group, Row, passes

torch = importlib.import_module("torch")
transformers = importlib.import_module("transformers")

PROMPTS = ["The value of", "A class definition is an executable statement that binds", "def"]
NUCLEUS = Sampling(temperature=0.9, top_k=50, top_p=0.9)


@pytest.fixture(scope="module")
def own(weights: Path) -> Any:
    """Load the model by transformers, in double precision, so that results do not depend on the size of a batch."""
    return transformers.AutoModelForCausalLM.from_pretrained(weights, dtype=torch.float64).eval()


@pytest.fixture(scope="module")
def model(weights: Path, own: Any) -> LanguageModel:
    return LanguageModel(own, transformers.AutoTokenizer.from_pretrained(weights), "tiny", 64, Sampling())


def tokens(model: LanguageModel, prompt: str) -> list[int]:
    return model.tokens_of("prompt", prompt, {})


def row(
    model: LanguageModel,
    prompt: list[int],
    sampling: Sampling = GREEDY,
    *,
    length: int = 12,
    seed: int = 0,
    stop: tuple[str, ...] = (),
    ends: frozenset[int] | None = None,
) -> Row:
    generator = torch.Generator().manual_seed(seed)
    return Row(prompt, length, sampling, generator, model.ends if ends is None else ends, stop, model.text_of)


def decoded(model: LanguageModel, *rows: Row) -> list[list[int]]:
    group = Group(model, rows)
    while group.rows:
        group.step()
    return [each.tokens for each in rows]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_tokens_are_those_of_generate(model: LanguageModel, own: Any, prompt: str) -> None:
    read = tokens(model, prompt)
    theirs = own.generate(torch.tensor([read]), do_sample=False, max_new_tokens=30, pad_token_id=0)[0, len(read) :]
    assert decoded(model, row(model, read, length=30)) == [theirs.tolist()]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("sampling", [Sampling(), NUCLEUS, Sampling(temperature=1.5, top_p=0.8)])
def test_sampled_tokens_are_those_of_generate_with_that_seed(
    model: LanguageModel, own: Any, sampling: Sampling, seed: int
) -> None:
    read = tokens(model, PROMPTS[0])
    torch.manual_seed(seed)
    options = {"temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p}
    theirs = own.generate(torch.tensor([read]), do_sample=True, max_new_tokens=30, pad_token_id=0, **options)
    assert decoded(model, row(model, read, sampling, length=30, seed=seed)) == [theirs[0, len(read) :].tolist()]


def test_tokens_follow_the_model_s_distribution(model: LanguageModel, own: Any) -> None:
    """The first token of many samples is compared with shares that are computed from the model's logits."""
    read, count, sampling = tokens(model, PROMPTS[1]), 2000, Sampling(temperature=0.7, top_k=5)
    with torch.inference_mode():
        logits = own(torch.tensor([read])).logits[0, -1].tolist()
    weights = sorted(((exp(logit / 0.7), token) for token, logit in enumerate(logits)), reverse=True)[:5]
    samples = [row(model, read, sampling, length=1, seed=seed) for seed in range(count)]
    drawn = Counter(first for [first] in decoded(model, *samples))
    assert drawn.keys() == {token for _, token in weights}
    for weight, token in weights:
        share = weight / sum(each for each, _ in weights)
        assert drawn[token] / count == pytest.approx(share, abs=4 * sqrt(share * (1 - share) / count))


def test_samples_of_one_pass_are_those_of_separate_passes(model: LanguageModel) -> None:
    read = tokens(model, PROMPTS[0])
    together = decoded(model, *[row(model, read, NUCLEUS, seed=seed) for seed in range(4)])
    assert together == [decoded(model, row(model, read, NUCLEUS, seed=seed))[0] for seed in range(4)]
    assert len({tuple(each) for each in together}) == 4


def test_unlike_rows_are_each_answered_as_if_alone(model: LanguageModel) -> None:
    short, long, one = (tokens(model, prompt) for prompt in PROMPTS)
    greedy = decoded(model, row(model, short))[0]
    makers: list[Callable[[], Row]] = [
        lambda: row(model, short),
        lambda: row(model, short, NUCLEUS, seed=7, length=3),
        lambda: row(model, long, NUCLEUS, seed=8, length=20),
        lambda: row(model, long, Sampling(temperature=2.0), seed=9),
        lambda: row(model, one, stop=("the",), length=25),
        lambda: row(model, short, ends=frozenset(greedy[2:3])),
        lambda: row(model, short, stop=(model.text_of(greedy[3:5]),)),
    ]
    together, alone = [make() for make in makers], [make() for make in makers]
    decoded(model, *together)
    for each in alone:
        decoded(model, each)
    assert [(each.tokens, each.text, each.ended) for each in together] == [
        (each.tokens, each.text, each.ended) for each in alone
    ]
    assert {each.ended for each in together} == {"stop", "length"}


SIZE = {"vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
SHARED_KEYS = {**SIZE, "intermediate_size": 48, "num_key_value_heads": 2}
CONVOLUTION = {"layer_types": ["conv", "full_attention"]}


@pytest.mark.parametrize(
    ("name", "settings", "dtype"),
    [
        ("Qwen3", {**SHARED_KEYS, "head_dim": 8}, torch.float64),  # positions are rotations, heads share keys
        (
            "Bloom",
            {"vocab_size": 300, "hidden_size": 32, "n_layer": 2, "n_head": 4},
            torch.float32,
        ),  # takes no positions
        ("Lfm2", {**SHARED_KEYS, **CONVOLUTION}, torch.float64),  # a layer's state is no key-value cache
    ],
)
def test_other_architectures_are_batched_in_the_same_way(name: str, settings: dict[str, Any], dtype: Any) -> None:
    torch.manual_seed(3)
    configuration = getattr(transformers, f"{name}Config")(**settings, eos_token_id=None)
    own = getattr(transformers, f"{name}ForCausalLM")(configuration).to(dtype).eval()
    model = LanguageModel(own, None, "tiny", 64, Sampling())
    prompts = [[5, 6, 7], list(range(10, 30)), [9]]
    rows = [Row(each, 10, GREEDY, torch.Generator(), frozenset(), (), str) for each in prompts]
    alone = {"do_sample": False, "max_new_tokens": 10, "pad_token_id": 0}
    theirs = [
        own.generate(torch.tensor([each]), attention_mask=torch.ones(1, len(each), dtype=torch.long), **alone)
        for each in prompts
    ]
    assert decoded(model, *rows) == [
        tokens[0, len(each) :].tolist() for each, tokens in zip(prompts, theirs, strict=True)
    ]


def test_an_end_token_ends_a_row_and_is_no_part_of_it(model: LanguageModel) -> None:
    read = tokens(model, PROMPTS[0])
    greedy = decoded(model, row(model, read))[0]
    end = next(token for token in greedy if token != greedy[0])
    ended = row(model, read, ends=frozenset([end]))
    assert decoded(model, ended) == [greedy[: greedy.index(end)]]
    assert ended.ended == "stop"


def test_a_stop_sequence_is_cut_off(model: LanguageModel) -> None:
    read = tokens(model, PROMPTS[1])
    sampling = Sampling(temperature=1.0)
    whole = row(model, read, sampling, length=20)
    decoded(model, whole)
    stop = whole.text[5:7]
    stopped = row(model, read, sampling, length=20, stop=("never to be found", stop))
    decoded(model, stopped)
    assert (stopped.text, stopped.ended) == (whole.text[: whole.text.index(stop)], "stop")


def test_each_prompt_is_read_once_and_ended_rows_cost_nothing(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes, forward = [], model.forward

    def counting(read: Any, mask: Any, cache: Any) -> Any:
        shapes.append(tuple(read.shape))
        return forward(read, mask, cache)

    monkeypatch.setattr(model, "forward", counting)
    first, second = tokens(model, PROMPTS[0]), tokens(model, PROMPTS[2])
    decoded(model, *[row(model, first, length=length) for length in (4, 2, 4)], row(model, second, length=3))
    assert shapes == [(2, max(len(first), len(second))), (4, 1), (3, 1), (2, 1)]


def test_a_row_without_a_waiting_caller_is_left_unfinished(model: LanguageModel) -> None:
    kept, left = (row(model, tokens(model, PROMPTS[0])) for _ in range(2))
    left.is_wanted = lambda: False
    decoded(model, left, kept)
    assert (len(left.tokens), left.ended, len(kept.tokens), kept.ended) == (1, None, 12, "length")


def test_logits_that_are_not_finite_are_a_failure(weights: Path) -> None:
    broken = load(weights, "broken", None)
    with torch.no_grad():
        broken._model.transformer.wte.weight.fill_(float("nan"))
    with pytest.raises(FloatingPointError):
        decoded(broken, row(broken, [1, 2]))


def test_a_pass_holds_as_many_rows_as_the_cache_has_room_for(model: LanguageModel) -> None:
    rows = [
        row(model, [1] * width, length=length) for width, length in [(6, 4), (2, 8), (2, 2), (2, 2), (2, 2), (30, 30)]
    ]
    assert [[rows.index(each) for each in group] for group in passes(rows, 29)] == [[0, 1], [2, 3, 4], [5]]
    assert [len(group) for group in passes(rows, 1)] == [1] * 6
    assert [len(group) for group in passes(rows, 360)] == [6]


def test_the_first_of_several_stop_sequences_cuts() -> None:
    stops = ("three", "two", "never")
    assert Row([1], 9, GREEDY, torch.Generator(), frozenset(), stops, lambda _: "one two three").text == "one "


def test_a_stop_sequence_is_looked_for_at_the_end_only() -> None:
    read: list[int] = []

    def text_of(tokens: list[int]) -> str:
        read.append(len(tokens))
        return bytes(tokens).decode(errors="replace")

    long = Row([1], 500, GREEDY, torch.Generator(), frozenset(), ("no", "\u00e9nd"), text_of)
    for token in b"x" * 400 + "\u00e9nd".encode():
        assert not long.ended
        long.take(token)
    assert (long.ended, max(read) < 20, long.text) == ("stop", True, "x" * 400)
