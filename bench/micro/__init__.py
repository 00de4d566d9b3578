"""Micro-benchmarks: the figures of the pages in docs/decisions."""
