"""Measures POST /embeddings against the raw endpoint, for 64 texts whose vectors take it a tenth of a second."""

import json
from collections.abc import Iterator
from statistics import median

from local_cloud.assembly import read_stacks, synthesize
from tools.benchmarks.answers.functions import endpoint, printed, variables_of
from tools.benchmarks.shared.pairs import Figure, Round, judge

DEPLOYMENT = "qwen3-embedding-0-6b"


def figures(rounds: int) -> Iterator[Figure]:
    """Figures of vectors. Raises SystemExit when a program fails."""
    (stack,) = read_stacks(synthesize([DEPLOYMENT]))
    with endpoint(variables_of(stack)) as variables:
        for encoding in ("float", "base64"):
            told = printed("tools.benchmarks.answers.vector_calls", str(rounds), encoding, variables=variables)
            taken = [Round(*each) for each in json.loads(told)]
            before, after = (median(getattr(each, name) for each in taken) for name in ("reference", "other"))
            note = f" ({before:.0f} -> {after:.0f} ms)"
            yield judge(f"/embeddings of 64 texts as {encoding} / boto3 call", taken, 1.15, note)
