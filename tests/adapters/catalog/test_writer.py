"""The writer: savepoints, durability, and a thread that nothing ends early."""

import asyncio
import sqlite3
from contextlib import closing
from functools import partial

import pytest

from imprint.adapters.catalog.steps import Query, Unstorable
from imprint.adapters.catalog.writer import Writer
from imprint.adapters.sqlite_connections import connect_writer
from imprint.domain.errors import Code, Refusal, Unavailable

FULL, NORMAL = 2, 1


@pytest.fixture
async def connection(tmp_path):
    with closing(connect_writer(tmp_path / "notes.db")) as connection:
        connection.execute("CREATE TABLE notes (note TEXT PRIMARY KEY)")
        yield connection


@pytest.fixture
async def writer(connection):
    writer = Writer(connection)
    yield writer
    await writer.close()


def note(text, then=None):
    yield Query("INSERT INTO notes VALUES (:note)", {"note": text})
    if then is not None:
        raise then
    return text


def synchronous():
    rows = yield Query("PRAGMA synchronous")
    return rows[0][0]


def notes(connection):
    return {row[0] for row in connection.execute("SELECT note FROM notes")}


async def test_a_change_gives_its_result(writer, connection):
    assert await writer.commit(partial(note, "a")) == "a"
    assert notes(connection) == {"a"}


async def test_a_refused_change_undoes_only_itself(writer, connection):
    refusal = Refusal(Code.NOT_FOUND, "no")
    results = await asyncio.gather(
        writer.commit(partial(note, "a")),
        writer.commit(partial(note, "b", refusal)),
        writer.commit(partial(note, "c")),
        return_exceptions=True,
    )
    assert list(results) == ["a", refusal, "c"]
    assert notes(connection) == {"a", "c"}


async def test_a_mistake_in_a_change_reaches_its_caller_and_nobody_else(writer, connection):
    with pytest.raises(ZeroDivisionError):
        await writer.commit(partial(note, "a", ZeroDivisionError()))
    assert await writer.commit(partial(note, "b")) == "b"
    assert notes(connection) == {"b"}


async def test_a_clash_is_unavailable_for_its_caller_alone(writer, connection):
    results = await asyncio.gather(
        writer.commit(partial(note, "a")),
        writer.commit(partial(note, "a")),
        writer.commit(partial(note, "b")),
        return_exceptions=True,
    )
    assert [results[0], results[2]] == ["a", "b"]
    assert isinstance(results[1], Unavailable)
    strange = results[1].__cause__
    assert isinstance(strange, Unstorable)
    assert isinstance(strange.__cause__, sqlite3.IntegrityError)
    assert notes(connection) == {"a", "b"}


async def test_a_database_in_trouble_fails_everything_in_that_commit(writer, connection):
    def trouble():
        yield Query("INSERT INTO nowhere VALUES (1)")

    results = await asyncio.gather(
        writer.commit(partial(note, "a")),
        writer.commit(trouble),
        writer.commit(partial(note, "b")),
        return_exceptions=True,
    )
    failed = [result for result in results if isinstance(result, Unavailable)]
    assert results[1] in failed
    assert notes(connection) == {text for text in results if isinstance(text, str)}
    assert await writer.commit(partial(note, "c")) == "c"


async def test_a_durable_change_waits_for_the_disk(writer):
    assert await writer.commit(synchronous) == FULL


async def test_a_change_that_need_not_be_durable_does_not(writer):
    assert await writer.commit(synchronous, durable=False) == NORMAL
    assert await writer.commit(synchronous) == FULL


async def test_one_durable_change_makes_its_whole_commit_durable(writer):
    results = await asyncio.gather(
        *(writer.commit(synchronous, durable=durable) for durable in (True, False, False))
    )
    assert results[0] == FULL


async def test_a_caller_who_was_cancelled_does_not_stop_the_others(writer, connection):
    gone = asyncio.ensure_future(writer.commit(partial(note, "a")))
    stays = asyncio.ensure_future(writer.commit(partial(note, "b")))
    await asyncio.sleep(0)
    gone.cancel()
    assert await stays == "b"
    assert notes(connection) == {"a", "b"}


async def test_more_changes_than_one_commit_may_hold_take_several(writer, connection):
    before = writer.commits
    await asyncio.gather(*(writer.commit(partial(note, str(number))) for number in range(600)))
    assert len(notes(connection)) == 600
    assert 3 <= writer.commits - before < 100


async def test_a_closed_writer_is_unavailable(writer):
    await writer.close()
    with pytest.raises(Unavailable):
        await writer.commit(partial(note, "a"))
