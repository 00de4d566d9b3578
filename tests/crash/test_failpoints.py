"""A crash of the service at any step of a write leaves either its whole effect or none."""

import ast
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.cli.test_upgrade import KILLS as UPGRADING
from tests.crash.fork_server import ROOT, ForkServer
from tests.crash.ledger import find_faults, open_intents, stored_documents
from tests.crash.test_index import INDEXING
from tests.crash.victim import LEASE_SECONDS, open_scene
from tests.profiles import portrait, save_profile, send_profile
from tests.revisions import published_post, send_revision
from tests.world import ORIGIN, MovableClock, Wallet, World, open_world, picture, problem

from imprint import failpoints
from imprint.services.installation.master_keys import MasterKeys
from imprint.services.tasks.leases import LEASE_TIME

STORING = (
    "before_intent",
    "after_intent",
    "during_put",
    "unsynced_put",
    "after_put",
    "before_commit",
    "during_commit:2",
    "after_commit",
    "before_response",
)
"""Failpoints of a write with a document: commit 1 is its intent, commit 2 its effect."""

DELETING = ("before_commit", "during_commit:1", "after_commit", "before_response")
COLLECTING = ("after_condemn", "after_condemn:3", "after_remove", "after_remove:2", "after_purge")
DONE = ("after_commit", "before_response")
"""Failpoints after which the write has taken effect and only the response is missing."""

CASES = [(kind, at) for kind in ("create", "update", "publish") for at in STORING] + [
    ("delete", at) for at in DELETING
]
NONCE = "the-same-nonce-again"
PICTURE = picture()


@dataclass(slots=True)
class Before:
    """The acknowledged state before the interrupted write."""

    drafts: list[str]
    clock: MovableClock = field(default_factory=lambda: MovableClock(datetime.now(UTC)))


async def prepare(folder: Path) -> Before:
    async with open_world(folder) as world:
        author = world.wallet(0)
        made = [(await world.create(author, f"Words {n}."))["cid"] for n in range(2)]
        await world.publish(author, made[1], "kept")
        # Make the commits of a first start now, so that the next start commits nothing.
        await MasterKeys(world.adapters.stores.keys, world.adapters.cipher).verify()
    return Before(made)


async def write(world: World, kind: str, cid: str) -> httpx2.Response:
    author = world.wallet(0)
    send: dict[str, Callable[[], Awaitable[httpx2.Response]]] = {
        "create": lambda: world.send_create(author, "New words.", NONCE),
        "update": lambda: world.send_update(author, cid, "New words.", NONCE),
        "publish": lambda: world.send_publish(author, cid, "new", PICTURE, NONCE),
        "delete": lambda: world.send_delete(author, cid, NONCE),
    }
    return await send[kind]()


async def read(world: World, author: Wallet, cid: str) -> str | None:
    response = await world.read_draft(author, cid)
    return response.json()["content"] if response.status_code == 200 else problem(response)[1]


async def collect(world: World, grace: timedelta = timedelta(hours=24)) -> None:
    """Run the garbage collector after all leases of the dead process have expired."""
    world.clock.advance(LEASE_TIME.total_seconds() + LEASE_SECONDS)
    await world.collector(grace).collect()


@pytest.mark.rotates
@pytest.mark.parametrize(("kind", "at"), CASES)
async def test_a_write_interrupted_by_a_crash_is_all_or_nothing(
    tmp_path: Path, fork_server: ForkServer, kind: str, at: str
):
    before = await prepare(tmp_path)
    target, other = before.drafts
    async with open_scene(tmp_path, fork_server, at) as scene:
        # Wait for /healthz, not for /readyz: the readiness check would commit something.
        await scene.victim.start(scene.world.client, "/healthz")
        with pytest.raises(httpx2.TransportError):
            await write(scene.world, kind, target)
        assert await scene.victim.end() == failpoints.KILLED
    async with open_world(tmp_path, clock=MovableClock(datetime.now(UTC))) as world:
        if kind != "create" and at not in DONE:
            assert await read(world, world.wallet(0), target) == "Words 0."
        again = await write(world, kind, target)
        if at in DONE:
            await check_repeated(world, kind, target, again)
        else:
            assert again.status_code == 200, again.text
        assert await read(world, world.wallet(0), other) == "Words 1."
        assert (await world.metadata(other))["hashtags"] == ["kept"]
        await check_once(world, kind, target)
        await collect(world)
    assert find_faults(tmp_path) == []
    assert open_intents(tmp_path) == 0
    # Nothing is left of a version or picture that never took effect; a replaced one is kept for a
    # day.
    expected = {"create": 3 + 1, "update": 3 + 1, "publish": 3 + 1, "delete": 3}
    assert len(stored_documents(tmp_path)) == expected[kind]


async def check_repeated(world: World, kind: str, cid: str, again: httpx2.Response) -> None:
    """Check that the response to the repeated request contains the result of the write."""
    assert problem(again) == (409, "nonce_used")
    file = again.json()["file"]
    if kind == "delete":
        assert file is None
    elif kind == "publish":
        assert file["cid"] == cid
    else:
        assert await read(world, world.wallet(0), file["cid"]) == "New words."


async def check_once(world: World, kind: str, cid: str) -> None:
    """Check that the write took effect exactly once."""
    author = world.wallet(0)
    session = await world.login(author)
    listed = await world.client.get(
        "/pendingFilesByOwner", params={"owner": author.address}, headers=session
    )
    drafts = {file["cid"] for file in listed.json()["files"]}
    assert len(drafts) == {"create": 3, "update": 2, "publish": 2, "delete": 1}[kind]
    assert (cid in drafts) == (kind in ("create", "publish"))
    if kind == "publish":
        assert (await world.metadata(cid))["hashtags"] == ["new"]


@pytest.mark.rotates
@pytest.mark.parametrize("at", STORING)
async def test_a_revision_interrupted_by_a_crash_is_all_or_nothing(
    tmp_path: Path, fork_server: ForkServer, at: str
):
    async with open_world(tmp_path) as world:
        author = world.wallet(0)
        post = post_id, _ = await published_post(world, author, "First words.")
        await MasterKeys(world.adapters.stores.keys, world.adapters.cipher).verify()
    async with open_scene(tmp_path, fork_server, at, PUBLIC_URL=ORIGIN) as scene:
        await scene.victim.start(scene.world.client, "/healthz")
        with pytest.raises(httpx2.TransportError):
            await send_revision(scene.world, author, post, "New words.", nonce=NONCE)
        assert await scene.victim.end() == failpoints.KILLED
    async with open_world(tmp_path, clock=MovableClock(datetime.now(UTC))) as world:
        shown = (await world.client.get(f"/posts/{post_id}/content")).json()
        done = ("New words.", 1)
        assert (shown["content"], shown["revision"]) == (
            done if at in DONE else ("First words.", 0)
        )
        if at not in DONE:
            again = await send_revision(world, author, post, "New words.", nonce=NONCE)
            assert again.json()["revision"]["number"] == 1, again.text
        spent = await send_revision(world, author, post, "New words.", nonce=NONCE)
        assert (problem(spent), spent.json()["action"]) == ((409, "nonce_used"), "revise")
        shown = (await world.client.get(f"/posts/{post_id}/content")).json()
        assert (shown["content"], shown["revision"]) == done
        await collect(world)
    assert find_faults(tmp_path) == []
    assert open_intents(tmp_path) == 0
    # The text as first published, its picture and the new text.
    assert len(stored_documents(tmp_path)) == 3


@pytest.mark.rotates
@pytest.mark.parametrize("at", STORING)
async def test_a_profile_interrupted_by_a_crash_is_all_or_nothing(
    tmp_path: Path, fork_server: ForkServer, at: str
):
    old, new = portrait(), portrait()
    async with open_world(tmp_path) as world:
        author = world.wallet(0)
        before = await save_profile(world, author, old, name="Before")
        await MasterKeys(world.adapters.stores.keys, world.adapters.cipher).verify()
    async with open_scene(tmp_path, fork_server, at, PUBLIC_URL=ORIGIN) as scene:
        await scene.victim.start(scene.world.client, "/healthz")
        with pytest.raises(httpx2.TransportError):
            await send_profile(scene.world, author, new, name="After", nonce=NONCE)
        assert await scene.victim.end() == failpoints.KILLED
    async with open_world(tmp_path, clock=MovableClock(datetime.now(UTC))) as world:
        shown = await read_profile(world, author)
        if at in DONE:
            assert shown["name"] == "After"
        else:
            assert shown == before
            again = await send_profile(world, author, new, name="After", nonce=NONCE)
            assert again.status_code == 200, again.text
        spent = await send_profile(world, author, name="Later", nonce=NONCE)
        assert (problem(spent), spent.json()["action"]) == ((409, "nonce_used"), "profile")
        shown = await read_profile(world, author)
        assert shown["name"] == "After"
        assert shown["avatarCid"] != before["avatarCid"]
        assert (await world.client.get(f"/ipfs/{shown['avatarCid']}")).status_code == 200
        await collect(world)
    assert find_faults(tmp_path) == []
    assert open_intents(tmp_path) == 0
    # The replaced picture is kept for a day.
    assert len(stored_documents(tmp_path)) == 2


async def read_profile(world: World, author: Wallet) -> dict[str, Any]:
    profile: dict[str, Any] = (await world.client.get(f"/authors/{author.address}")).json()[
        "profile"
    ]
    return profile


@pytest.mark.rotates
@pytest.mark.parametrize("at", COLLECTING)
async def test_a_collection_interrupted_by_a_crash_is_completed_by_the_next_one(
    tmp_path: Path, fork_server: ForkServer, at: str
):
    before = await prepare(tmp_path)
    async with open_world(tmp_path) as world:
        author = world.wallet(0)
        first = await world.update(author, before.drafts[0], "Second words.")
        await world.update(author, first["cid"], "Third words.")
        await world.publish(author, before.drafts[1], "later")
        assert len(stored_documents(tmp_path)) == 6
    async with open_scene(tmp_path, fork_server, at, JANITOR_SECONDS="1", GRACE_HOURS="0") as scene:
        scene.victim.process.spawn()
        assert await scene.victim.end() == failpoints.KILLED
    assert find_faults(tmp_path, destroyed=True) == []
    async with open_world(tmp_path, clock=MovableClock(datetime.now(UTC))) as world:
        await collect(world, timedelta(0))
        assert await read(world, world.wallet(0), before.drafts[1]) == "Words 1."
    assert find_faults(tmp_path, destroyed=True) == []
    assert len(stored_documents(tmp_path)) == 3


async def test_a_service_without_an_armed_failpoint_ignores_all_failpoints(
    tmp_path: Path, fork_server: ForkServer
):
    before = await prepare(tmp_path)
    async with open_scene(tmp_path, fork_server) as scene:
        await scene.victim.start(scene.world.client)
        for kind in ("create", "update"):
            body = await write(scene.world, kind, before.drafts[0])
            assert body.status_code in (200, 409), body.text
        assert scene.victim.process.stop() == 0


def test_every_failpoint_in_the_code_is_covered_here():
    reached = {
        node.args[0].value
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "failpoints.reach"
        and isinstance(node.args[0], ast.Constant)
    }
    ended = (*STORING, *DELETING, *COLLECTING, *INDEXING, *UPGRADING)
    tested = {at.partition(":")[0] for at in ended}
    assert reached == tested == set(failpoints.NAMES)


def test_a_nonexistent_failpoint_cannot_be_armed():
    with pytest.raises(ValueError, match="no failpoint"):
        failpoints.arm("after_lunch")
