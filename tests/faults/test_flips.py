"""Damaged files: a read is correct or gets 503, and is never wrong or silently empty."""

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random
from typing import Any

import asyncpg
import pytest
from tests.faults.flips import (
    SETTINGS,
    Tally,
    Truth,
    fill,
    read_damaged,
    read_everything,
    serve,
)
from tests.faults.scene import LONG, Scene, open_scene

from imprint.settings import PostgresqlDatabase

FLIPS = 100 if LONG else 50
VALUES = 100 if LONG else 30
LOG_FLIPS = 100 if LONG else 25
"""Number of flips in the log, which is read byte by byte before it is opened."""


@asynccontextmanager
async def filled_scene(folder: Path) -> AsyncIterator[tuple[Scene, Truth, Path, Path]]:
    """Open a scene. Yields the scene, its responses, its data folder, and a copy of the folder as a
    kill leaves it."""
    async with open_scene(folder, **SETTINGS) as scene:
        data, killed = folder / "data", folder / "killed"
        async with serve(scene, data) as client:
            scene.world.client = client
            truth = await fill(scene.world)
            # A commit that was interrupted cannot be told from a damaged one at the end of the log.
            for _ in range(3):
                await client.get("/readyz")
                await scene.world.login(scene.world.wallet(5))
            shutil.copytree(data, killed, ignore=shutil.ignore_patterns("*-shm"))
        yield scene, truth, data, killed


KINDS = {
    "catalog": "imprint.db",
    "log": "imprint.db-wal",
    "small documents": "content/private/small.db",
    "thumbnails": "content/public/small.db",
    "log of small documents": "content/private/small.db-wal",
    "log of thumbnails": "content/public/small.db-wal",
}


@pytest.mark.parametrize("kind", [*KINDS, "large document"])
async def test_a_flipped_bit_is_never_served_as_wrong_data(tmp_path: Path, kind: str):
    async with filled_scene(tmp_path) as (scene, truth, data, killed):
        original = killed if "log" in kind else data
        tally, flips = Tally(), LOG_FLIPS if "log" in kind else FLIPS
        for seed in range(flips):
            name = KINDS.get(kind) or _large_document(data, seed)
            await read_damaged(scene, original, name, seed, truth=truth, tally=tally)
        assert tally.wrong == []
        assert tally.counts["right"] + tally.counts["refused to start"] > flips // 2, tally.counts


def _large_document(data: Path, seed: int) -> str:
    found = sorted(
        path.relative_to(data) for path in (data / "content/private").glob("??/*") if path.is_file()
    )
    return str(found[seed % len(found)])


COLUMNS = {
    "files": ["id", "group_id", "name", "size", "created_at", "published_at", "tx_hash"],
    "file_groups": ["hashtags"],
}
"""Columns to change. Indexed columns are excluded, because an UPDATE would also change the
index."""


async def test_a_changed_record_value_is_never_served(tmp_path: Path, records: None):
    async with open_scene(tmp_path, **SETTINGS) as scene:
        async with serve(scene, tmp_path / "data") as client:
            scene.world.client = client
            truth = await fill(scene.world)
        tally = Tally()
        for seed in range(VALUES):
            undo = await _change_value(scene, Random(seed))
            async with serve(scene, tmp_path / "data") as client:
                await read_everything(client, truth, tally)
            await _execute(scene, *undo)
        assert tally.wrong == []
        assert tally.counts["503"] > VALUES


async def _change_value(scene: Scene, random: Random) -> tuple[str, ...]:
    """Change a value of a live record, bypassing triggers. Returns the statements that undo it."""
    table = random.choice(sorted(COLUMNS))
    column = random.choice(COLUMNS[table])
    live = "SELECT group_id FROM files WHERE state IN ('pending', 'onchain')"
    key = "group_id" if table == "files" else "id"
    live += "" if table == "file_groups" else f" AND {column} IS NOT NULL"
    (groups,) = await _execute(scene, live)
    (group,) = random.choice(groups)
    where = f"{key} = '{group}' AND "
    where += "state IN ('pending', 'onchain')" if table == "files" else "1 = 1"
    (((old,),),) = await _execute(scene, f"SELECT {column} FROM {table} WHERE {where}")
    if isinstance(old, int):
        new, back = str(old ^ 1 << random.randrange(20)), str(old)
    else:
        at = random.randrange(len(old))
        digit = "0" if old[at] != "0" else "1"
        new, back = f"'{old[:at]}{digit}{old[at + 1 :]}'", f"'{old}'"
    if table == "files":
        # The condition may name the column that changes, so identify the row by its position.
        (((position,),),) = await _execute(scene, f"SELECT position FROM files WHERE {where}")
        where = f"position = {position}"
    await _execute(scene, f"UPDATE {table} SET {column} = {new} WHERE {where}")
    return (f"UPDATE {table} SET {column} = {back} WHERE {where}",)


async def _execute(scene: Scene, *statements: str) -> list[list[tuple[Any, ...]]]:
    """Run statements without triggers and foreign keys, as damage bypasses them too."""
    database = scene.world.settings.storage.database
    if isinstance(database, PostgresqlDatabase):
        connection = await asyncpg.connect(database.url.reveal())
        try:
            await connection.execute("SET session_replication_role = replica")
            return [[tuple(row) for row in await connection.fetch(each)] for each in statements]
        finally:
            await connection.close()
    with closing(sqlite3.connect(database.path, isolation_level=None)) as direct:
        direct.execute("DROP TRIGGER IF EXISTS files_without_checksum")
        direct.execute("DROP TRIGGER IF EXISTS file_groups_without_checksum")
        return [direct.execute(each).fetchall() for each in statements]
