"""Benchmarks: ratios to a reference in the same run, time to a stated gap. ``python -m benchmarks --help``."""
