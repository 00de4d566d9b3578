"""Measures storing and reading a document on disk and in a MinIO bucket.

tools/build-minio && python -m bench.micro.content_stores
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import uvloop
from tests.s3.conftest import access_to
from tests.s3.server import MinioServer

from imprint.adapters.content.bucket import open_bucket
from imprint.adapters.content.embedded import EmbeddedStore
from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import document_cid
from imprint.ports import ContentStore, utc_now

ROUNDS = 200
SIZES = (4 * 1024, 1024 * 1024)
AT_ONCE = 16


async def _time(run: Callable[[bytes], Awaitable[object]], documents: list[bytes]) -> float:
    """Return the median duration of sequential calls, in milliseconds."""
    times = []
    for document in documents:
        began = time.perf_counter()
        await run(document)
        times.append(time.perf_counter() - began)
    return 1000 * median(times)


async def _measure(name: str, store: ContentStore) -> None:
    for size in SIZES:
        documents = [os.urandom(size) for _ in range(ROUNDS if size < 100_000 else ROUNDS // 10)]

        async def put(document: bytes) -> None:
            await store.put(document_cid(document), document, Network.PRIVATE)

        async def read(document: bytes) -> None:
            await store.read(document_cid(document), Network.PRIVATE)

        stored, loaded = await _time(put, documents), await _time(read, documents)
        began = time.perf_counter()
        for start in range(0, len(documents), AT_ONCE):
            await asyncio.gather(*map(put, documents[start : start + AT_ONCE]))
        rate = len(documents) / (time.perf_counter() - began)
        print(
            f"{name:<9} {size // 1024:>5} KiB  put {stored:7.2f} ms  get {loaded:7.2f} ms"
            f"  {AT_ONCE} puts at once {rate:7.0f} /s"
        )


async def main() -> None:
    """Measure both stores, alternating."""
    with tempfile.TemporaryDirectory() as scratch:
        server = MinioServer(Path(scratch) / "minio")
        server.start()
        try:
            for turn in range(3):
                embedded = EmbeddedStore(Path(scratch) / f"content-{turn}", utc_now)
                bucket = open_bucket(access_to(server, server.make_bucket()))
                for name, store in (("embedded", embedded), ("bucket", bucket)):
                    await _measure(name, store)
                    await store.close()
        finally:
            server.kill()


if __name__ == "__main__":
    uvloop.run(main())
