"""Fair queueing of large documents: concurrency, order and maximum waiting time."""

import asyncio
import threading

import pytest

from imprint.domain.errors import Code, Unavailable
from imprint.services.content.large_documents import FairQueue, LargeDocuments, Turn


class Visitors:
    """Tasks that enter a queue. Each keeps its slot until it is released."""

    def __init__(self, queue):
        self.queue = queue
        self.inside = []
        self.doors = {}

    def send(self, key, name):
        self.doors[name] = asyncio.Event()
        return asyncio.create_task(self._visit(key, name))

    async def _visit(self, key, name):
        async with self.queue.turn(key):
            self.inside.append(name)
            await self.doors[name].wait()

    async def let_go(self, name):
        self.doors[name].set()
        await settle()


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)


async def test_no_more_tasks_run_concurrently_than_there_are_slots():
    visitors = Visitors(FairQueue(2))
    tasks = [visitors.send(name, name) for name in "abc"]
    await settle()
    assert visitors.inside == ["a", "b"]
    await visitors.let_go("b")
    assert visitors.inside == ["a", "b", "c"]
    for name in "ac":
        await visitors.let_go(name)
    await asyncio.gather(*tasks)


async def test_keys_take_turns_regardless_of_how_many_tasks_a_key_has():
    visitors = Visitors(FairQueue(1))
    names = ["many 1", "many 2", "many 3", "one 1", "two 1"]
    tasks = [visitors.send(name.split()[0], name) for name in names]
    await settle()
    for turn in range(len(names)):
        await visitors.let_go(visitors.inside[turn])
    await asyncio.gather(*tasks)
    assert visitors.inside == ["many 1", "many 2", "one 1", "two 1", "many 3"]


async def test_a_task_that_waits_too_long_is_refused_as_overloaded():
    visitors = Visitors(FairQueue(1, seconds=0.05))
    first, second = visitors.send("a", "first"), visitors.send("b", "second")
    with pytest.raises(Unavailable) as refused:
        await second
    assert refused.value.code is Code.OVERLOADED
    await visitors.let_go("first")
    await first
    third = visitors.send("c", "third")
    await settle()
    assert visitors.inside == ["first", "third"]
    await visitors.let_go("third")
    await third


async def test_a_cancelled_task_frees_its_slot_and_its_queue_position():
    visitors = Visitors(FairQueue(1))
    first, second, third = (visitors.send(name, name) for name in "abc")
    await settle()
    second.cancel()
    await settle()
    visitors.doors["a"].set()
    await first
    # The third task is cancelled just as it is granted the slot.
    third.cancel()
    await settle()
    fourth = visitors.send("d", "d")
    await settle()
    assert visitors.inside[-1] == "d"
    await visitors.let_go("d")
    await fourth


async def test_one_document_is_built_at_a_time_even_if_a_request_is_cancelled():
    large = LargeDocuments()
    running, most, entered, released = 0, 0, threading.Event(), threading.Event()

    def work():
        nonlocal running, most
        running += 1
        most = max(most, running)
        entered.set()
        released.wait(10)
        running -= 1

    tasks = [asyncio.create_task(large.make(f"signer {number}", work)) for number in range(5)]
    await asyncio.to_thread(entered.wait, 10)
    tasks[0].cancel()
    await settle()
    released.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert most == 1


async def test_a_shared_task_runs_when_any_of_its_keys_has_its_turn():
    queue = FairQueue(1)
    visitors = Visitors(queue)
    tasks = [visitors.send("many", name) for name in ("first", "second", "third")]
    shared, entered = Turn(["many"]), asyncio.Event()

    async def visit():
        async with queue.take(shared):
            entered.set()

    tasks.append(asyncio.create_task(visit()))
    await settle()
    queue.join(shared, "one")
    queue.join(shared, "one")
    await visitors.let_go("first")
    await visitors.let_go("second")
    assert entered.is_set()
    assert visitors.inside == ["first", "second", "third"]
    await visitors.let_go("third")
    await asyncio.gather(*tasks)


async def test_a_shared_task_can_be_joined_before_it_queues_and_after_it_starts():
    queue = FairQueue(1)
    visitors = Visitors(queue)
    first = visitors.send("a", "first")
    await settle()
    shared, entered, leave = Turn(["many"]), asyncio.Event(), asyncio.Event()
    queue.join(shared, "before")

    async def visit():
        async with queue.take(shared):
            entered.set()
            await leave.wait()

    visit_task = asyncio.create_task(visit())
    await settle()
    await visitors.let_go("first")
    assert entered.is_set()
    queue.join(shared, "after")
    second = visitors.send("after", "second")
    await settle()
    leave.set()
    await settle()
    assert visitors.inside == ["first", "second"]
    await visitors.let_go("second")
    await asyncio.gather(first, visit_task, second)


async def test_a_slot_is_not_given_to_a_task_cancelled_at_the_same_time():
    visitors = Visitors(FairQueue(1))
    first, second, third = (visitors.send(name, name) for name in "abc")
    await settle()
    visitors.doors["a"].set()
    second.cancel()
    await settle()
    assert visitors.inside == ["a", "c"]
    await visitors.let_go("c")
    await asyncio.gather(first, third)
