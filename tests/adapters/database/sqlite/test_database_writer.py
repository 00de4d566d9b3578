"""The writer: group commits, savepoints, durability, and a thread that survives errors."""

import asyncio
import sqlite3
import threading
from contextlib import closing

import pytest

from imprint.adapters.database.sqlite.connections import OpenedFiles, connect_writer
from imprint.adapters.database.sqlite.database import Writer
from imprint.adapters.database.transaction import Unstorable
from imprint.domain.errors import Code, Damaged, Refusal, Unavailable

FULL, NORMAL = 2, 1


@pytest.fixture
async def connection(tmp_path):
    with closing(connect_writer(tmp_path / "notes.db")) as connection:
        connection.execute("CREATE TABLE notes (note TEXT PRIMARY KEY)")
        yield connection


@pytest.fixture
async def writer(connection, tmp_path):
    writer = Writer(connection, OpenedFiles(tmp_path / "notes.db"))
    yield writer
    await writer.close()


async def note(tx, text, then=None):
    await tx.execute("INSERT INTO notes VALUES (:note)", note=text)
    if then is not None:
        raise then
    return text


async def synchronous(tx):
    return (await tx.fetchone("PRAGMA synchronous"))["synchronous"]


async def fail(tx):
    await tx.execute("INSERT INTO nowhere VALUES (1)")


def notes(connection):
    return {row[0] for row in connection.execute("SELECT note FROM notes")}


async def commit(writer, rule, *args, durable=True):
    return await writer.transact(rule, args, durable)


async def commit_together(writer, *transactions):
    """Queue transactions, each as (rule, args, durable), while the writer is busy, and return
    the outcomes of their shared commit."""
    busy, free = threading.Event(), threading.Event()

    async def occupy(tx):
        busy.set()
        free.wait(10)

    occupied = asyncio.ensure_future(writer.transact(occupy, (), False))
    await asyncio.to_thread(busy.wait, 10)
    queued = [asyncio.ensure_future(writer.transact(*each)) for each in transactions]
    await asyncio.sleep(0)
    before = writer.commits
    free.set()
    outcomes = await asyncio.gather(*queued, return_exceptions=True)
    await occupied
    assert writer.commits - before <= 2
    return outcomes


async def test_a_transaction_returns_the_result_of_its_rule(writer, connection):
    assert await commit(writer, note, "a") == "a"
    assert notes(connection) == {"a"}


async def test_a_refused_transaction_rolls_back_only_itself(writer, connection):
    refusal = Refusal(Code.NOT_FOUND, "no")
    results = await commit_together(
        writer, (note, ("a",), True), (note, ("b", refusal), True), (note, ("c",), True)
    )
    assert results == ["a", refusal, "c"]
    assert notes(connection) == {"a", "c"}


async def test_an_exception_in_a_rule_reaches_only_its_caller(writer, connection):
    with pytest.raises(ZeroDivisionError):
        await commit(writer, note, "a", ZeroDivisionError())
    assert await commit(writer, note, "b") == "b"
    assert notes(connection) == {"b"}


async def test_a_constraint_violation_raises_unavailable_for_its_caller_only(writer, connection):
    results = await commit_together(
        writer, (note, ("a",), True), (note, ("a",), True), (note, ("b",), True)
    )
    assert [results[0], results[2]] == ["a", "b"]
    assert isinstance(results[1], Unavailable)
    refused = results[1].__cause__
    assert isinstance(refused, Unstorable)
    assert isinstance(refused.__cause__, sqlite3.IntegrityError)
    assert notes(connection) == {"a", "b"}


async def test_other_rules_of_a_commit_run_again_if_one_is_refused(writer, connection):
    calls = []

    async def count(tx, text):
        calls.append(text)
        return await note(tx, text)

    spoiled = (note, ("b", Refusal(Code.NOT_FOUND, "no")), True)
    results = await commit_together(writer, (count, ("a",), True), spoiled)
    assert results[0] == "a"
    assert calls == ["a", "a"]
    assert notes(connection) == {"a"}


async def test_a_rule_that_awaits_anything_but_its_transaction_is_rolled_back(writer, connection):
    async def suspend(tx):
        await note(tx, "a")
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="may only await its transaction"):
        await commit(writer, suspend)
    assert await commit(writer, note, "b") == "b"
    assert notes(connection) == {"b"}


async def test_a_database_error_fails_every_transaction_in_its_commit(writer, connection):
    results = await commit_together(
        writer, (note, ("a",), True), (fail, (), True), (note, ("b",), True)
    )
    assert [type(result) for result in results] == [Unavailable] * 3
    assert notes(connection) == set()
    assert await commit(writer, note, "c") == "c"


async def test_a_durable_transaction_waits_for_the_disk(writer):
    assert await commit(writer, synchronous) == FULL


async def test_a_non_durable_transaction_does_not_wait_for_the_disk(writer):
    assert await commit(writer, synchronous, durable=False) == NORMAL
    assert await commit(writer, synchronous) == FULL


@pytest.mark.parametrize("durable", [(True, False, False), (False, True, False)])
async def test_one_durable_transaction_makes_its_whole_commit_durable(writer, durable):
    results = await commit_together(writer, *((synchronous, (), each) for each in durable))
    assert results == [FULL] * 3


async def test_a_commit_without_durable_transactions_is_not_durable(writer):
    assert await commit_together(writer, *[(synchronous, (), False)] * 2) == [NORMAL] * 2


async def test_a_cancelled_caller_does_not_stop_the_others(writer, connection):
    gone = asyncio.ensure_future(commit(writer, note, "a"))
    stays = asyncio.ensure_future(commit(writer, note, "b"))
    await asyncio.sleep(0)
    gone.cancel()
    assert await stays == "b"
    assert notes(connection) == {"a", "b"}


async def test_many_transactions_are_split_into_several_commits(writer, connection):
    before = writer.commits
    await asyncio.gather(*(commit(writer, note, str(number)) for number in range(600)))
    assert len(notes(connection)) == 600
    assert 3 <= writer.commits - before < 100


async def test_a_closed_writer_is_unavailable(writer):
    await writer.close()
    with pytest.raises(Unavailable):
        await commit(writer, note, "a")


async def test_only_the_rule_that_hits_damage_is_rolled_back(writer, connection, tmp_path):
    connection.execute("CREATE TABLE others (other TEXT PRIMARY KEY)")
    (root,) = connection.execute(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'others'"
    ).fetchone()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with (tmp_path / "notes.db").open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(bytes(4096))
    # When another connection changes a page, the writer reads every page again.
    with closing(connect_writer(tmp_path / "notes.db")) as other:
        other.execute("INSERT INTO notes VALUES ('first')")

    async def meet_damage(tx):
        await note(tx, "undone")
        await tx.execute("INSERT INTO others VALUES ('x')")

    results = await commit_together(
        writer, (note, ("a",), True), (meet_damage, (), True), (note, ("b",), True)
    )
    assert [results[0], results[2]] == ["a", "b"]
    assert isinstance(results[1], Damaged)
    assert notes(connection) == {"first", "a", "b"}
