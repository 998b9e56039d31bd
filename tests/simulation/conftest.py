"""The long trials run in processes of their own, beside the other tests."""

from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest

from simulation.scorecard import Scorecard
from simulation.trial import MODES, Trial


@pytest.fixture(scope="package")
def running() -> Iterator[dict[str, Future[Any]]]:
    """Scorecards to come, one for each mode."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield {mode: pool.submit(Scorecard.of, Trial(mode=mode, jobs=600)) for mode in MODES}


@pytest.fixture(scope="package", autouse=True)
def early(request: pytest.FixtureRequest) -> None:
    """Have them under way from the first test on, if any test of this run will want them."""
    if any("running" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("running")
