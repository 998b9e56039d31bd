"""What docs/performance.md promises, measured: `python -m benchmarks`."""
