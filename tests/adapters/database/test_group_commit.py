"""Group commit: how jobs are grouped, which result each caller gets, and how a queue closes."""

import asyncio
import threading

import pytest

from imprint.adapters.database.group_commit import MAX_QUEUED, GroupCommit

LARGEST = 3


class Doubling:
    """Doubles the number of each job, or fails if it is negative.

    Every commit blocks until `released` is set.
    """

    def __init__(self):
        self.groups = []
        self.entered, self.released = threading.Event(), threading.Event()

    def commit(self, jobs):
        self.groups.append([job.work for job in jobs])
        for job in jobs:
            if job.work < 0:
                job.error = ValueError(job.work)
            else:
                job.result = 2 * job.work
        self.entered.set()
        self.released.wait(10)


@pytest.fixture
def doubling():
    return Doubling()


@pytest.fixture
async def queue(doubling):
    queue = GroupCommit("doubling", doubling.commit, LARGEST)
    yield queue
    doubling.released.set()
    await queue.close()


async def submit_all(queue, *numbers):
    """Submit numbers without waiting for the results."""
    tasks = [asyncio.ensure_future(queue.submit(number)) for number in numbers]
    await asyncio.sleep(0)
    return tasks


async def occupy(queue, doubling):
    """Submit 0 and wait until its group, which contains no other job, is being committed."""
    (task,) = await submit_all(queue, 0)
    assert await asyncio.to_thread(doubling.entered.wait, 10)
    return task


async def test_a_caller_gets_the_result_of_its_own_job(queue, doubling):
    doubling.released.set()
    assert await asyncio.gather(*map(queue.submit, range(5))) == [0, 2, 4, 6, 8]


async def test_jobs_queued_during_a_commit_share_the_next_one(queue, doubling):
    first = await occupy(queue, doubling)
    queued = await submit_all(queue, 1, 2, 3)
    doubling.released.set()
    await asyncio.gather(first, *queued)
    assert doubling.groups == [[0], [1, 2, 3]]


async def test_a_group_never_exceeds_the_maximum_size(queue, doubling):
    first = await occupy(queue, doubling)
    queued = await submit_all(queue, 1, 2, 3, 4)
    doubling.released.set()
    await asyncio.gather(first, *queued)
    assert doubling.groups == [[0], [1, 2, 3], [4]]


async def test_no_caller_gets_its_result_before_the_whole_group_is_done(queue, doubling):
    first = await occupy(queue, doubling)
    assert not first.done()
    doubling.released.set()
    assert await first == 0


async def test_a_failed_job_fails_only_its_own_caller(queue, doubling):
    first = await occupy(queue, doubling)
    queued = await submit_all(queue, 1, -2, 3)
    doubling.released.set()
    one, two, three = await asyncio.gather(*queued, return_exceptions=True)
    assert doubling.groups[1] == [1, -2, 3]
    assert (await first, one, three) == (0, 2, 6)
    assert isinstance(two, ValueError)


async def test_the_job_of_a_cancelled_caller_is_still_done(queue, doubling):
    first = await occupy(queue, doubling)
    gone, stays = await submit_all(queue, 1, 2)
    gone.cancel()
    doubling.released.set()
    assert (await first, await stays) == (0, 4)
    assert gone.cancelled()
    assert doubling.groups[1] == [1, 2]


async def test_callers_on_several_event_loops_get_their_results(queue, doubling):
    first = await occupy(queue, doubling)
    elsewhere = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(queue.submit(1))))
    doubling.released.set()
    assert (await first, await elsewhere) == (0, 2)


async def test_a_caller_with_a_closed_event_loop_does_not_affect_the_others(queue, doubling):
    first = await occupy(queue, doubling)
    await asyncio.to_thread(asyncio.run, submit_all(queue, 1))
    (stays,) = await submit_all(queue, 2)
    doubling.released.set()
    assert (await first, await stays) == (0, 4)
    assert doubling.groups[1] == [1, 2]


async def test_closing_finishes_queued_jobs(queue, doubling):
    first = await occupy(queue, doubling)
    queued = await submit_all(queue, 1, 2, 3, 4)
    closing = asyncio.ensure_future(queue.close())
    await asyncio.sleep(0)
    assert not closing.done()
    doubling.released.set()
    await closing
    assert doubling.groups == [[0], [1, 2, 3], [4]]
    assert await asyncio.gather(first, *queued) == [0, 2, 4, 6, 8]


async def test_a_closed_queue_refuses_jobs(queue, doubling):
    await queue.close()
    with pytest.raises(RuntimeError, match="closed"):
        await queue.submit(1)
    assert doubling.groups == []


async def test_a_used_queue_may_be_closed_twice(queue, doubling):
    doubling.released.set()
    await queue.submit(1)
    await queue.close()
    await queue.close()
    assert doubling.groups == [[1]]


async def test_a_caller_times_out_while_the_thread_hangs(doubling):
    queue = GroupCommit("hanging", doubling.commit, LARGEST, lambda: KeyError("late"), 1.5)
    try:
        with pytest.raises(KeyError, match="late"):
            await queue.submit(1)
        assert doubling.entered.is_set()
        assert not doubling.released.is_set()
    finally:
        doubling.released.set()
        await queue.close()


async def test_a_timed_out_job_is_never_started(doubling):
    queue = GroupCommit("hanging", doubling.commit, LARGEST, seconds=1.5)
    first = await occupy(queue, doubling)
    queued = await submit_all(queue, 1, 2)
    for waiting in (first, *queued):
        with pytest.raises(TimeoutError):
            await waiting
    doubling.released.set()
    assert await queue.submit(3) == 6
    assert doubling.groups == [[0], [3]]
    await queue.close()


async def test_a_full_queue_refuses_jobs_immediately(doubling):
    queue = GroupCommit("hanging", doubling.commit, LARGEST, seconds=60)
    first = await occupy(queue, doubling)
    queued = await submit_all(queue, *range(MAX_QUEUED))
    with pytest.raises(TimeoutError):
        await queue.submit(1)
    doubling.released.set()
    assert await asyncio.gather(first, *queued) == [0, *range(0, 2 * MAX_QUEUED, 2)]
    await queue.close()
