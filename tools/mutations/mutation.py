"""A deliberate fault, the promise that it breaks, and the tests that must find it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """In the file `path`, `before` occurs once and is replaced by `after`.

    `suite` is the Makefile target that runs `tests`. A fault that pytest does not test for has a
    `command` instead, whose last lines name the failure.
    """

    promise: str
    path: str
    before: str
    after: str
    suite: str
    tests: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
