"""Micro-benchmarks behind the figures in docs/decisions."""
