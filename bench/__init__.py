"""Benchmarks of the service, each compared with a floor: the least that the same work can cost."""
