"""Identifiers: random, and nobody's secret."""

import random
from uuid import UUID


def new_id() -> str:
    """A UUID of version 4, from a generator that every process seeds anew.

    Nobody gains anything by guessing one, so none waits for the system's own randomness.
    """
    return str(UUID(int=random.getrandbits(128), version=4))
