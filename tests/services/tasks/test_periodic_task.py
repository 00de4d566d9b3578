"""A periodic task continues after every failure, and counts failures an operator should see."""

import asyncio
from collections.abc import Iterator

import pytest
from prometheus_client import REGISTRY

from imprint.domain.errors import Unavailable
from imprint.services.tasks.periodic_task import run_periodically

HOURS = 3600.0


def put_off(name: str) -> float:
    return REGISTRY.get_sample_value("imprint_chores_put_off_total", {"chore": name}) or 0.0


class Rounds:
    """Rounds that raise the given problems in turn, and then end the task."""

    def __init__(self, *problems: Exception) -> None:
        self.problems: Iterator[Exception] = iter(problems)

    async def __call__(self) -> None:
        raise next(self.problems, asyncio.CancelledError())


async def run(name: str, *problems: Exception, optional: bool = False) -> None:
    with pytest.raises(asyncio.CancelledError):
        await run_periodically(name, Rounds(*problems), HOURS, retry_after=0.0, optional=optional)


async def test_an_unavailable_dependency_is_counted_and_retried_early() -> None:
    await run("counted", Unavailable.chain(), Unavailable.storage())
    assert put_off("counted") == 2


async def test_a_bug_is_counted_and_the_task_continues() -> None:
    await run("defect", KeyError("a mistake"), optional=True)
    assert put_off("defect") == 1


async def test_an_unavailable_dependency_is_not_counted_for_an_optional_task(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await run("optional", Unavailable.chain(), optional=True)
    assert put_off("optional") == 0
    assert caplog.records == []


async def test_rounds_start_one_interval_apart() -> None:
    rounds = 0

    async def count() -> None:
        nonlocal rounds
        rounds += 1

    task = asyncio.create_task(run_periodically("steady", count, HOURS, retry_after=0.0))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert rounds == 1
