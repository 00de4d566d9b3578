"""One deliberate fault, the promise that it breaks, and the tests that have to find it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """In the file `path`, `before` occurs once and is replaced by `after`.

    `suite` is the target of the Makefile that runs `tests`. A fault that pytest does not look for
    has a `command` instead, whose last lines name what failed.
    """

    promise: str
    path: str
    before: str
    after: str
    suite: str
    tests: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
