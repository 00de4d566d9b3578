"""Concurrent callers with the same key share one task, and nothing remains after it ends."""

import asyncio
import gc
from dataclasses import dataclass, field

import pytest

from imprint.domain.errors import Unavailable
from imprint.services.tasks.periodic_task import SingleFlight

KEY = "key"


@dataclass(slots=True)
class Work:
    """Work that, once released, returns its number or raises an exception."""

    problem: Exception | None = None
    started: int = 0
    task: asyncio.Task | None = None
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self) -> int:
        self.started += 1
        self.task = asyncio.current_task()
        number = self.started
        await self.released.wait()
        if self.problem is not None:
            raise self.problem
        return number


async def begin(flights: SingleFlight[str, int], work: Work, key: str = KEY) -> asyncio.Task[int]:
    """Start a caller that waits for the result."""
    caller = asyncio.create_task(flights.run(key, work))
    await let_others_run()
    return caller


async def let_others_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_concurrent_callers_share_one_task() -> None:
    flights, work = SingleFlight[str, int](), Work()
    callers = [await begin(flights, work) for _ in range(3)]
    work.released.set()
    assert await asyncio.gather(*callers) == [1, 1, 1]
    assert work.started == 1


async def test_a_caller_that_joins_does_not_start_its_own_work() -> None:
    flights, first, second = SingleFlight[str, int](), Work(), Work()
    callers = [await begin(flights, first), await begin(flights, second)]
    first.released.set()
    await asyncio.gather(*callers)
    assert second.started == 0


async def test_each_key_has_its_own_task() -> None:
    flights, work = SingleFlight[str, int](), Work()
    callers = [await begin(flights, work, "a"), await begin(flights, work, "b")]
    work.released.set()
    assert await asyncio.gather(*callers) == [1, 2]


async def test_a_result_is_not_cached() -> None:
    flights, work = SingleFlight[str, int](), Work()
    work.released.set()
    assert [await flights.run(KEY, work), await flights.run(KEY, work)] == [1, 2]


async def test_a_failure_reaches_every_caller() -> None:
    flights, work = SingleFlight[str, int](), Work(problem=LookupError("gone"))
    callers = [await begin(flights, work) for _ in range(3)]
    work.released.set()
    assert await asyncio.gather(*callers, return_exceptions=True) == [work.problem] * 3


async def test_a_failure_is_not_cached() -> None:
    flights, work = SingleFlight[str, int](), Work(problem=LookupError("gone"))
    work.released.set()
    with pytest.raises(LookupError):
        await flights.run(KEY, work)
    work.problem = None
    assert await flights.run(KEY, work) == 2


async def test_cancelling_the_first_caller_does_not_cancel_the_others() -> None:
    flights, work = SingleFlight[str, int](), Work()
    first, second = await begin(flights, work), await begin(flights, work)
    first.cancel()
    await asyncio.wait([first])
    work.released.set()
    left, stayed = await asyncio.gather(first, second, return_exceptions=True)
    assert (type(left), stayed) == (asyncio.CancelledError, 1)


async def test_work_abandoned_by_every_caller_can_be_joined_again() -> None:
    flights, work = SingleFlight[str, int](), Work()
    first = await begin(flights, work)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    later = await begin(flights, work)
    work.released.set()
    assert await later == 1


async def test_a_cancelled_task_raises_unavailable_for_every_caller() -> None:
    flights, work = SingleFlight[str, int](), Work()
    callers = [await begin(flights, work) for _ in range(2)]
    assert work.task is not None
    work.task.cancel()
    raised = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(each) for each in raised] == [Unavailable] * 2


async def test_a_failure_without_a_waiting_caller_is_not_reported() -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    flights, work = SingleFlight[str, int](), Work(problem=LookupError("gone"))
    caller = await begin(flights, work)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    work.released.set()
    await let_others_run()
    # asyncio reports an unretrieved exception once nothing refers to its task.
    work.task = None
    del caller
    gc.collect()
    assert not flights.is_running(KEY)
    assert reported == []


async def test_a_key_counts_as_running_until_its_task_ends() -> None:
    flights, work = SingleFlight[str, int](), Work()
    seen = [flights.is_running(KEY)]
    caller = await begin(flights, work)
    seen += [flights.is_running(KEY), flights.is_running("other")]
    work.released.set()
    await caller
    assert [*seen, flights.is_running(KEY)] == [False, True, False, False]
