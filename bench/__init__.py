"""Benchmarks. Each compares the service with a floor, which is the minimum cost of the same work."""
