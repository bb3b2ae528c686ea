"""Benchmarks: what the core does against what a competent notebook would write. Run with `python -m tests.bench`."""
