"""Benchmarks. Each compares the service with a floor: the least that the same work can cost."""
