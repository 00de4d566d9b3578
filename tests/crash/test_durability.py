"""No response to a write is sent before the data is on disk, verified by system calls."""

import shutil
import signal
import subprocess
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.crash.fork_server import Child, ForkServer
from tests.crash.system_calls import TRACED, Call, read_trace
from tests.crash.victim import open_scene

from imprint.domain.drafts.documents import SMALL_DOCUMENT

ROUNDS = 3
ATTACHING = 0.5
LARGE = "Many words. " * SMALL_DOCUMENT
STRACE = shutil.which("strace")


def can_trace() -> bool:
    """Return whether this system allows tracing a process."""
    if STRACE is None:
        return False
    command = [STRACE, "-f", "-e", "trace=fsync", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(
    not can_trace(), reason="needs strace: apt-get install strace, and the right to trace"
)


@contextmanager
def tracing(pid: int, written: Path) -> Iterator[None]:
    """Trace the system calls of a process until the context exits."""
    assert STRACE is not None
    options = ["-f", "-y", "-s", "40", "-e", f"trace={TRACED}", "-o", str(written)]
    tracer = subprocess.Popen([STRACE, *options, "-p", str(pid)], stderr=subprocess.PIPE)
    assert tracer.stderr is not None
    try:
        assert b"attached" in tracer.stderr.readline()
        time.sleep(ATTACHING)
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate()


async def trace(folder: Path, fork_server: ForkServer) -> dict[str, list[list[Call]]]:
    """Record the calls between responses for each type of write, one write at a time."""
    written = folder / "trace.txt"
    kinds: list[str] = []
    async with open_scene(folder, fork_server) as scene:
        world, author = scene.world, scene.world.wallet(0)
        await scene.victim.start(world.client)

        async def send(kind: str, write: Awaitable[httpx2.Response]) -> dict[str, Any]:
            # A read before each write: its response ends all earlier activity.
            await world.client.get("/healthz")
            response = await write
            assert response.status_code == 200, response.text
            kinds.append(kind)
            return dict(response.json())

        assert isinstance(scene.victim.process, Child)
        with tracing(scene.victim.process.pid, written):
            for n in range(ROUNDS):
                made = await send("create", world.send_create(author, "New words."))
                cid = made["updatedUpload"]["cid"]
                made = await send("update", world.send_update(author, cid, LARGE))
                cid = made["upload"]["cid"]
                await send("publish", world.send_publish(author, cid, f"tag{n}"))
                await send("delete", world.send_delete(author, cid))
            await world.client.get("/healthz")
    spans: list[list[Call]] = [[]]
    for call in read_trace(written):
        if call.responds:
            spans.append([])
        else:
            spans[-1].append(call)
    # The spans from the end: the calls after the last response, those of the last read, and then
    # those of writes and reads in turn.
    writes = spans[-3::-2][: len(kinds)][::-1]
    by_kind: dict[str, list[list[Call]]] = {}
    for kind, calls in zip(kinds, writes, strict=True):
        by_kind.setdefault(kind, []).append(calls)
    return by_kind


async def test_every_response_is_sent_after_the_data_is_on_disk(
    tmp_path: Path, fork_server: ForkServer
):
    by_kind = await trace(tmp_path, fork_server)
    assert set(by_kind) == {"create", "update", "publish", "delete"}
    for kind, writes in by_kind.items():
        assert len(writes) == ROUNDS
        for calls in writes:
            check(kind, calls)


def check(kind: str, calls: list[Call]) -> None:
    """Check that first the document and then the commit was durable before the response."""
    synced = [(at, call.synced) for at, call in enumerate(calls) if call.synced]
    log = [at for at, path in synced if path.endswith("imprint.db-wal")]
    assert log, f"{kind}: the commit was not durable, only {synced}"
    if kind == "delete":
        return
    large = kind == "update"
    document = _sync_of_file(calls, synced) if large else _sync_of_small_documents(kind, synced)
    assert document is not None, f"{kind}: the document was not durable, only {synced}"
    assert document < log[-1], f"{kind}: the commit was durable before the document"


def _sync_of_small_documents(kind: str, synced: list[tuple[int, str]]) -> int | None:
    """Return when the small-documents database became durable."""
    database = f"/content/{'public' if kind == 'publish' else 'private'}/small.db-wal"
    return next((at for at, path in synced if path.endswith(database)), None)


def _sync_of_file(calls: list[Call], synced: list[tuple[int, str]]) -> int | None:
    """Return when a document file became durable: its bytes before the rename, then its folder."""
    moved = [(at, call.renamed) for at, call in enumerate(calls) if call.renamed]
    ((renamed_at, renamed),) = moved
    assert renamed is not None
    source, target = renamed
    assert "/content/private/" in target
    whole = [at for at, path in synced if path == source]
    named = [at for at, path in synced if path == str(Path(target).parent)]
    return named[0] if whole and named and whole[0] < renamed_at < named[0] else None
