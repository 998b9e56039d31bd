"""The measurements behind docs/performance.md: `python -m tools.benchmarks`."""
