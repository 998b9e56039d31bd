"""Tokens are drawn from the distribution that temperature, top-k and top-p define."""

import importlib
from math import sqrt

import pytest

from model_src.generation.request import GREEDY, Sampling
from model_src.generation.sampling import distribution, draw

torch = importlib.import_module("torch")

LIKELIHOODS = [0.15, 0.5, 0.1, 0.25]
ROOTS = [sqrt(each) / sum(map(sqrt, LIKELIHOODS)) for each in LIKELIHOODS]


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(), LIKELIHOODS),
        (Sampling(temperature=2), ROOTS),
        (Sampling(temperature=0.5), [0.0225 / 0.345, 0.25 / 0.345, 0.01 / 0.345, 0.0625 / 0.345]),
        (Sampling(top_k=2), [0, 2 / 3, 0, 1 / 3]),
        (Sampling(top_k=1), [0, 1, 0, 0]),
        (Sampling(top_k=9), LIKELIHOODS),
        (Sampling(top_p=0.7), [0, 2 / 3, 0, 1 / 3]),
        (Sampling(top_p=0.8), [0.15 / 0.9, 0.5 / 0.9, 0, 0.25 / 0.9]),
        (Sampling(top_p=0.4), [0, 1, 0, 0]),
        (Sampling(top_p=1e-9), [0, 1, 0, 0]),
        (Sampling(top_k=3, top_p=0.8), [0, 2 / 3, 0, 1 / 3]),  # 0.5 + 0.25 of 0.9 is more than 0.8
        (Sampling(temperature=2, top_p=0.6), [0, sqrt(2) / (1 + sqrt(2)), 0, 1 / (1 + sqrt(2))]),
    ],
)
def test_the_distribution_is_the_one_computed_by_hand(sampling: Sampling, expected: list[float]) -> None:
    logits = torch.tensor([LIKELIHOODS, LIKELIHOODS[::-1]], dtype=torch.float64).log()
    torch.testing.assert_close(
        distribution(logits, sampling), torch.tensor([expected, expected[::-1]], dtype=torch.float64)
    )


def test_a_flat_distribution_keeps_a_nucleus_of_thousands() -> None:
    shares = distribution(torch.zeros(2, 5000, dtype=torch.float64), Sampling(top_p=0.9))
    assert (shares > 0).sum(-1).tolist() == pytest.approx([4500, 4500], abs=1)


def test_temperature_0_takes_the_most_likely_token() -> None:
    logits = torch.tensor([LIKELIHOODS, LIKELIHOODS[::-1]]).log()
    assert draw(logits, GREEDY, [torch.Generator(), torch.Generator()]) == [1, 2]


def test_half_precision_is_drawn_in_full() -> None:
    assert distribution(torch.zeros(1, 3, dtype=torch.bfloat16), Sampling()).dtype == torch.float32


def test_draws_follow_the_distribution() -> None:
    count = 4000
    logits = torch.tensor([LIKELIHOODS]).log().expand(count, -1)
    generators = [torch.Generator().manual_seed(seed) for seed in range(count)]
    drawn = torch.tensor(draw(logits, Sampling(), generators))
    for token, share in enumerate(LIKELIHOODS):
        assert (drawn == token).float().mean().item() == pytest.approx(share, abs=4 * sqrt(share * (1 - share) / count))
