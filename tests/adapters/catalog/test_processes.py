"""Many processes, the same nonces: each has one effect, whoever is first."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE

import pytest
from tests.adapters.catalog import rivals
from tests.adapters.catalog.databases import open_any

from imprint.domain.paging import OwnDrafts


@pytest.mark.parametrize(
    ("processes", "nonces"), [(4, 100), pytest.param(8, 1000, marks=pytest.mark.scale)]
)
async def test_the_same_nonces_from_many_processes_have_one_effect_each(
    database, processes, nonces
):
    # The schema is there before they all come.
    await open_any(database.address).close()
    others = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            rivals.__file__,
            database.address,
            str(process),
            str(nonces),
            stdout=PIPE,
        )
        for process in range(processes)
    ]
    said = await asyncio.gather(*(other.communicate() for other in others))
    assert sum(json.loads(out) for out, _ in said) == nonces
    for table in ("files", "nonces"):
        assert await database.rows(f"SELECT count(*) FROM {table}") == [(nonces,)]
    catalog = open_any(database.address)
    drafts = [await catalog.list_files(OwnDrafts(owner), None, nonces) for owner in rivals.OWNERS]
    assert [len(each) for each in drafts] == [nonces // len(rivals.OWNERS)] * len(rivals.OWNERS)
    await catalog.close()
