"""Several processes use the same nonces, and each nonce takes effect once."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE

from tests.adapters.stores import rivals
from tests.adapters.stores.databases import open_any

from imprint.domain.posts.indexed_posts import OwnDrafts

PROCESSES, NONCES = 4, 200


async def test_the_same_nonces_sent_by_four_processes_each_take_effect_once(database):
    # Create the schema before the processes start.
    await open_any(database.address).close()
    others = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            rivals.__file__,
            database.address,
            str(process),
            str(NONCES),
            "0",
            stdout=PIPE,
        )
        for process in range(PROCESSES)
    ]
    said = await asyncio.gather(*(other.communicate() for other in others))
    assert sum(json.loads(out) for out, _ in said) == NONCES
    for table in ("files", "nonces"):
        assert await database.rows(f"SELECT count(*) FROM {table}") == [(NONCES,)]
    stores = open_any(database.address)
    drafts = [
        await stores.files.list_files(OwnDrafts(owner), None, NONCES) for owner in rivals.OWNERS
    ]
    assert [len(each) for each in drafts] == [NONCES // len(rivals.OWNERS)] * len(rivals.OWNERS)
    await stores.close()
