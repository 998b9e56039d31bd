"""The long trials run in their own processes, beside the other tests."""

from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest

from simulation.scorecard import Scorecard
from simulation.trial import MODES, Trial

JOBS = {"async": 600, "realtime": 600, "ec2": 2000}


@pytest.fixture(scope="package")
def running() -> Iterator[dict[str, Future[Any]]]:
    """The future scorecard of each mode."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield {mode: pool.submit(Scorecard.of, Trial.harsh(mode, jobs=JOBS[mode])) for mode in MODES}


@pytest.fixture(scope="package", autouse=True)
def early(request: pytest.FixtureRequest) -> None:
    """Start the long trials with the first test, if any test of this run uses them."""
    if any("running" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("running")
