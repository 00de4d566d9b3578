"""The page about three requests lists exactly the files that each request runs through."""

import re
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

import pytest
from tests.house.sources import SOURCE
from tests.world import World, open_world
from tools.files import ROOT

from imprint.devchain.webhooks import sign_body_a

NOT_TRACED = {"server/connection.py"}
"""Files that are listed on the page but never run, because the test calls the app without a
server."""

NOT_LISTED = (
    "devchain/",
    "failpoints.py",
    "traces.py",
    "adapters/database/sqlite/connections.py",
    "domain/bounded_cache.py",
)
"""Files that run but are not listed on the page: the test node; failpoints, which do nothing
unless a crash test arms them; the clock around every call; connections, which each thread opens
once; and the dictionary inside every cache."""


def listed_files(heading: str) -> set[str]:
    """The files at the start of each item in the numbered list under this heading."""
    page = (ROOT / "docs" / "contributing" / "flows.md").read_text(encoding="utf-8")
    section = page.partition(f"## {heading}\n")[2].partition("\n#")[0]
    return set(re.findall(r"^\d+\. `([\w/]+\.py)`", section, re.MULTILINE))


WRITERS = ("catalog-writer", "content-writer")
"""The threads that commit on behalf of requests."""

in_request: ContextVar[bool] = ContextVar("in_request", default=False)
"""Context variable of the traced request, inherited by tasks that it starts. Timers of earlier
requests and background tasks have a different context."""


class Trace:
    """Records the source files of all functions that one request calls."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._on = self._with_writers = False

    @contextmanager
    def request(self, *, writes: bool) -> Iterator[None]:
        """Record the functions called in the `with` block and, if the request `writes`, by the
        committing threads.

        After an earlier request, a committing thread may still be returning to its queue.
        """
        self._on, self._with_writers = True, writes
        before = in_request.set(True)
        try:
            yield
        finally:
            in_request.reset(before)
            self._on = False

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or not self._on:
            return
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(SOURCE) and self._is_followed():
            name = path.relative_to(SOURCE).as_posix()
            if not name.startswith(NOT_LISTED):
                self.files.add(name)

    def _is_followed(self) -> bool:
        if in_request.get():
            return True
        return self._with_writers and threading.current_thread().name in WRITERS


def clear_caches() -> None:
    """Clear function caches that an earlier test may have filled, because a cached function does
    not run."""
    for name, module in list(sys.modules.items()):
        if name.startswith("imprint."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


@contextmanager
def tracing() -> Iterator[Trace]:
    """Trace this thread, and all threads started before the context exits."""
    clear_caches()
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


async def update_a_draft(world: World, trace: Trace) -> None:
    alice = world.wallet(1)
    draft = await world.create(alice)
    with trace.request(writes=True):
        response = await world.send_update(alice, draft["cid"])
    assert response.status_code == 200


async def read_a_post(world: World, trace: Trace) -> None:
    alice = world.wallet(1)
    draft = await world.create(alice)
    await world.send_a(world.body_a(world.create_post(alice, draft["cid"])))
    session = await world.login(alice)
    parameters = {"user": alice.address, "postId": "1"}
    with trace.request(writes=False):
        response = await world.client.get("/fileByPostId", params=parameters, headers=session)
    assert response.status_code == 200


async def receive_a_webhook(world: World, trace: Trace) -> None:
    alice = world.wallet(1)
    draft = await world.create(alice)
    body = world.body_a(world.create_post(alice, draft["cid"]))
    secret = world.settings.webhooks.a_secret
    assert secret is not None
    signed = sign_body_a(body, secret.reveal())
    with trace.request(writes=True):
        response = await world.deliver("provider-a", body, signed.headers)
    assert response.json()["applied"] == 1


@pytest.mark.parametrize(
    ("heading", "flow"),
    [
        ("A signed write: `POST /update/file`", update_a_draft),
        ("A gated read: `GET /fileByPostId`", read_a_post),
        ("A webhook: `POST /webhook/provider-a/publish`", receive_a_webhook),
    ],
)
async def test_a_flow_runs_through_exactly_the_files_listed(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    heading: str,
    flow: Callable[[World, Trace], Awaitable[None]],
) -> None:
    caplog.set_level("INFO")
    with tracing() as trace:
        async with open_world(tmp_path, RATE_LIMITS="on") as world:
            await flow(world, trace)
    assert trace.files == listed_files(heading) - NOT_TRACED
