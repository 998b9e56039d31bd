"""Lambda: functions, their invocations and metrics, and the queues that feed them."""

from local_cloud.emulator.lambda_ import concurrency, event_sources, functions, invocations, metrics


def install(emulator_only: tuple[str, ...]) -> None:
    """Apply all repairs; functions do not see the environment variables in `emulator_only`."""
    functions.install(emulator_only)
    invocations.install()
    metrics.install()
    event_sources.install()
    concurrency.install()
