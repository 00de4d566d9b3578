"""Benchmarks. Each compares the service with a floor, the minimum cost of the same work."""
