"""Benchmarks: ratios to a reference in the same run, at a stated gap. ``python -m benchmarks --help``."""
