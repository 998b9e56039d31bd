"""A local cloud without any of our stacks, for tests of what the cloud itself does."""

from collections.abc import Iterator

import pytest

from local_cloud.cloud import LocalCloud, free_port


@pytest.fixture(scope="session")
def bare_cloud() -> Iterator[LocalCloud]:
    """One for the whole run, its clock 30 times as fast."""
    with LocalCloud(port=free_port(), clock_speed=30) as running:
        running.wait_until_ready()
        yield running
