"""Outages over HTTP: if a dependency does not respond, access is neither granted nor denied."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.documents import change_document
from tests.world import Fault, World, open_world, problem

from imprint.bootstrap import Adapters
from imprint.domain.errors import Unavailable

HANGING_SECONDS = 20
"""Seconds after which a response counts as hanging."""


@dataclass(slots=True)
class Faults:
    """Makes operations in `broken` fail before they run, and those in `broken_after` afterwards."""

    failure: Callable[[], Exception]
    broken: set[str] = field(default_factory=set)
    broken_after: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Breakable:
    """An adapter with faults that a test can switch on."""

    inner: Any
    faults: Faults

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if not callable(method):
            return method

        async def call(*args: Any, **kwargs: Any) -> Any:
            if name in self.faults.broken:
                raise self.faults.failure()
            result = await method(*args, **kwargs)
            if name in self.faults.broken_after:
                raise self.faults.failure()
            return result

        return call


@dataclass(slots=True)
class Broken:
    """A world whose content store and database can be made to fail."""

    world: World
    store: Faults
    records: Faults


@pytest.fixture
async def fragile(tmp_path: Path) -> AsyncIterator[Broken]:
    store, records = Faults(Unavailable.storage), Faults(Unavailable.database)

    def adapt(parts: Adapters) -> Adapters:
        names = ("drafts", "files", "events", "sessions", "rate_limits")
        broken = {name: Breakable(getattr(parts.stores, name), records) for name in names}
        content: Any = Breakable(parts.content, store)
        return replace(parts, content=content, stores=replace(parts.stores, **broken))

    async with open_world(tmp_path, adapt=adapt) as world:
        yield Broken(world, store, records)


def _is_outage(response: Any, code: str) -> None:
    assert problem(response) == (503, code)
    assert int(response.headers["retry-after"]) >= 1


async def test_without_a_node_reads_that_need_the_chain_fail_immediately(world: World) -> None:
    alice, bob = world.wallet(1), world.wallet(2)
    paid, _ = await world.post(alice)
    free, _ = await world.post(alice, price=0)
    draft = await world.create(alice)
    session = await world.login(bob)
    await world.node.stop()
    async with asyncio.timeout(HANGING_SECONDS):
        _is_outage(await world.read_post(bob, paid, session), "chain_unavailable")
        _is_outage(await world.read_free(free), "chain_unavailable")
        _is_outage(await world.send_delete(alice, draft["cid"]), "chain_unavailable")


async def test_an_unresponsive_node_is_timed_out(world: World) -> None:
    post_id, _ = await world.post(world.wallet(1), price=0)
    world.node.fault = lambda said: None
    async with asyncio.timeout(HANGING_SECONDS):
        _is_outage(await world.read_free(post_id), "chain_unavailable")


async def test_without_a_node_everything_else_still_works(world: World) -> None:
    alice = world.wallet(1)
    await world.post(alice)
    await world.node.stop()
    file = await world.create(alice, "Still here.")
    newer = await world.update(alice, file["cid"], "And here.")
    await world.publish(alice, newer["cid"], "calm")
    assert (await world.read_draft(alice, newer["cid"])).json()["content"] == "And here."
    for path in ("/filesMetaData", "/filesByTags?tags=calm", f"/filesMetaData?cid={newer['cid']}"):
        assert (await world.client.get(path)).status_code == 200


async def test_a_delivery_is_applied_without_a_node(world: World) -> None:
    alice = world.wallet(1)
    file = await world.create(alice)
    block = world.create_post(alice, file["cid"])
    await world.node.stop()
    assert (await world.deliver_a(block)).json()["applied"] == 1


async def test_a_refused_delete_keeps_the_draft_and_the_nonce(world: World) -> None:
    alice = world.wallet(1)
    file = await world.create(alice, "Kept.")
    world.node.fault = lambda said: b"<html>down</html>"
    _is_outage(await world.send_delete(alice, file["cid"], nonce="kept"), "chain_unavailable")
    assert (await world.read_draft(alice, file["cid"])).json()["content"] == "Kept."
    world.node.fault = None
    assert (await world.send_delete(alice, file["cid"], nonce="kept")).status_code == 200


async def test_a_user_other_than_the_session_holder_is_refused_even_without_a_node(
    world: World,
) -> None:
    post_id, _ = await world.post(world.wallet(1))
    session = await world.login(world.wallet(2))
    await world.node.stop()
    response = await world.read_post(world.wallet(1), post_id, session)
    assert problem(response) == (403, "subject_mismatch")


def _change_results(change: Callable[[Any], Any]) -> Fault:
    def fault(said: bytes) -> bytes:
        responses = json.loads(said)
        for response in responses:
            response["result"] = change(response["result"])
        return json.dumps(responses).encode()

    return fault


def _change_calls(change: Callable[[str], str]) -> Fault:
    """Change the results of contract calls, but not the node's own errors."""
    return _change_results(
        lambda result: change(result) if isinstance(result, str) and len(result) > 18 else result
    )


LIES: dict[str, Fault] = {
    "an empty body": lambda said: b"",
    "HTML": lambda said: b"<html>502</html>",
    "half an response": lambda said: said[: len(said) // 2],
    "no responses": lambda said: b"[]",
    "an error": lambda said: json.dumps(
        [{"jsonrpc": "2.0", "id": one["id"], "error": {"code": -32005}} for one in json.loads(said)]
    ).encode(),
    "responses to something else": lambda said: json.dumps(
        [one | {"id": 10**9} for one in json.loads(said)]
    ).encode(),
    "nothing returned": _change_calls(lambda returned: "0x"),
    "one zero word": _change_calls(lambda returned: "0x" + "00" * 32),
    "returned data cut off": _change_calls(lambda returned: returned[:-64]),
    "null": _change_results(lambda result: None),
    "another chain": lambda said: said.replace(b'"0x7a69"', b'"0x1"'),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
async def test_a_malformed_response_from_the_node_never_grants_access(
    world: World, lie: Fault
) -> None:
    alice, eve = world.wallet(1), world.stranger()
    post_id, _ = await world.post(alice, price=0)
    draft = await world.create(alice)
    world.node.fault = lie
    _is_outage(await world.read_free(post_id), "chain_unavailable")
    _is_outage(await world.read_post(eve, post_id), "chain_unavailable")
    if lie is not LIES["one zero word"]:  # for this query this is a valid response: not published
        _is_outage(await world.send_delete(alice, draft["cid"]), "chain_unavailable")
    world.node.fault = None
    assert (await world.read_free(post_id)).status_code == 200


async def test_a_second_node_takes_over(tmp_path: Path) -> None:
    async with open_world(tmp_path / "one") as one:
        dead = "http://127.0.0.1:9"
        async with open_world(tmp_path / "two", CHAIN_RPC_URL=f"{dead},{one.node.url}") as two:
            assert two.marketplace == one.marketplace
            assert (await two.client.get("/readyz")).json()["checks"]["chain"] == "ok"


async def test_without_a_node_the_service_is_degraded_but_ready(world: World) -> None:
    await world.node.stop()
    response = await world.client.get("/readyz")
    assert response.status_code == 200
    assert response.json()["status"] == "degraded"
    assert response.json()["checks"]["chain"] == "unavailable"


async def test_readiness_probes_its_dependencies_at_most_once_a_second(
    world: World,
) -> None:
    async def ask() -> str:
        return str((await world.client.get("/readyz")).json()["status"])

    asked = world.node.asked
    assert await asyncio.gather(*(ask() for _ in range(10))) == ["ready"] * 10
    once = world.node.asked - asked
    assert [await ask() for _ in range(10)] == ["ready"] * 10
    assert world.node.asked == asked + once
    world.clock.advance(1)
    await ask()
    assert world.node.asked == asked + 2 * once
    await world.node.stop()
    world.clock.advance(1)
    assert await ask() == "degraded"


async def test_without_a_store_the_service_is_not_ready(fragile: Broken) -> None:
    fragile.store.broken = {"probe", "probe_reads"}
    response = await fragile.world.client.get("/readyz")
    assert response.status_code == 503
    checks = response.json()["checks"]
    assert checks.pop("storage") == "unavailable"
    assert checks.pop("collector") == "off"
    assert set(checks.values()) == {"ok"}
    assert (await fragile.world.client.get("/healthz")).status_code == 200


async def test_a_create_that_could_not_be_stored_can_be_retried(fragile: Broken) -> None:
    world, alice = fragile.world, fragile.world.wallet(1)
    body = alice.sign("create") | {"content": "At last."}
    fragile.store.broken = {"put"}
    _is_outage(await world.client.post("/create/group", json=body), "storage_unavailable")
    fragile.store.broken = set()
    response = await world.client.post("/create/group", json=body)
    assert response.status_code == 200
    cid = response.json()["updatedUpload"]["cid"]
    assert (await world.read_draft(alice, cid)).json()["content"] == "At last."


async def test_an_update_that_cannot_be_stored_leaves_the_draft_unchanged(fragile: Broken) -> None:
    world, alice = fragile.world, fragile.world.wallet(1)
    old = await world.create(alice, "The old words.")
    fragile.store.broken = {"put"}
    _is_outage(await world.send_update(alice, old["cid"], nonce="n"), "storage_unavailable")
    assert (await world.read_draft(alice, old["cid"])).json()["content"] == "The old words."
    fragile.store.broken = set()
    assert (await world.send_update(alice, old["cid"], nonce="n")).status_code == 200


async def test_a_publish_that_cannot_be_stored_keeps_tags_and_thumbnail(fragile: Broken) -> None:
    world, alice = fragile.world, fragile.world.wallet(1)
    file = await world.create(alice)
    await world.publish(alice, file["cid"], "before")
    before = await world.metadata(file["cid"])
    fragile.store.broken = {"put"}
    response = await world.send_publish(alice, file["cid"], "after", nonce="n")
    _is_outage(response, "storage_unavailable")
    assert await world.metadata(file["cid"]) == before
    fragile.store.broken = set()
    response = await world.send_publish(alice, file["cid"], "after", nonce="n")
    assert response.status_code == 200
    assert (await world.metadata(file["cid"]))["hashtags"] == ["after"]


async def test_content_that_cannot_be_fetched_gets_503(fragile: Broken) -> None:
    world, alice = fragile.world, fragile.world.wallet(1)
    file = await world.create(alice)
    thumbnail = await world.publish(alice, file["cid"])
    post_id, _ = await world.post(alice, price=0)
    fragile.store.broken = {"read"}
    _is_outage(await world.read_draft(alice, file["cid"]), "storage_unavailable")
    _is_outage(await world.read_free(post_id), "storage_unavailable")
    _is_outage(await world.client.get(f"/ipfs/{thumbnail}"), "storage_unavailable")
    assert (await world.client.get("/filesMetaData")).status_code == 200


async def test_a_missing_document_gets_503(world: World, tmp_path: Path) -> None:
    alice = world.wallet(1)
    file = await world.create(alice)
    change_document(tmp_path / "content", "private", file["cid"], None)
    _is_outage(await world.read_draft(alice, file["cid"]), "storage_unavailable")


COMMITS = ["open_create", "add_draft"]


@pytest.mark.parametrize("step", COMMITS)
async def test_a_create_that_could_not_be_recorded_can_be_retried(
    fragile: Broken, step: str
) -> None:
    world, alice = fragile.world, fragile.world.wallet(1)
    body = alice.sign("create") | {"content": "At last."}
    fragile.records.broken = {step}
    _is_outage(await world.client.post("/create/group", json=body), "database_unavailable")
    fragile.records.broken = set()
    assert (await world.client.post("/create/group", json=body)).status_code == 200


@pytest.mark.parametrize(
    ("action", "step"),
    [("update", "replace_draft"), ("publish", "prepare_draft"), ("delete", "delete_draft")],
)
async def test_a_write_that_cannot_be_recorded_changes_nothing(
    fragile: Broken, action: str, step: str
) -> None:
    world, alice = fragile.world, fragile.world.wallet(1)
    file = await world.create(alice, "As before.")
    before = await world.metadata(file["cid"])
    send: Any = {
        "update": world.send_update,
        "publish": world.send_publish,
        "delete": world.send_delete,
    }[action]
    fragile.records.broken = {step}
    _is_outage(await send(alice, file["cid"], nonce="n"), "database_unavailable")
    assert await world.metadata(file["cid"]) == before
    assert (await world.read_draft(alice, file["cid"])).json()["content"] == "As before."
    fragile.records.broken = set()
    assert (await send(alice, file["cid"], nonce="n")).status_code == 200


async def test_a_retry_after_a_lost_response_gets_409_with_the_created_file(
    fragile: Broken,
) -> None:
    world, alice = fragile.world, fragile.world.wallet(1)
    body = alice.sign("create") | {"content": "It worked."}
    fragile.records.broken_after = {"add_draft"}
    _is_outage(await world.client.post("/create/group", json=body), "database_unavailable")
    fragile.records.broken_after = set()
    again = await world.client.post("/create/group", json=body)
    assert problem(again) == (409, "nonce_used")
    cid = again.json()["file"]["cid"]
    assert (await world.read_draft(alice, cid)).json()["content"] == "It worked."


async def test_a_delivery_that_could_not_be_stored_can_be_retried(fragile: Broken) -> None:
    world, alice = fragile.world, fragile.world.wallet(1)
    file = await world.create(alice)
    block = world.create_post(alice, file["cid"])
    body = world.body_b(block)
    fragile.records.broken = {"apply_events"}
    _is_outage(await world.send_b(body, nonce="c" * 32), "database_unavailable")
    _is_outage(await world.deliver_a(block), "database_unavailable")
    fragile.records.broken = set()
    response = await world.send_b(body, nonce="c" * 32)
    assert (response.json()["duplicate"], response.json()["applied"]) == (False, 1)


@pytest.mark.parametrize(
    ("step", "path"),
    [
        ("file_by_cid", "/filesMetaData?cid={cid}"),
        ("list_files", "/filesMetaData"),
        ("list_files", "/filesByTags?tags=x"),
        ("file_by_post_id", "/freeFileByPostId?postId=1"),
        ("public_size", "/ipfs/{cid}"),
    ],
)
async def test_reads_without_a_database_get_503(fragile: Broken, step: str, path: str) -> None:
    world = fragile.world
    file = await world.create(world.wallet(1))
    fragile.records.broken = {step}
    _is_outage(await world.client.get(path.format(cid=file["cid"])), "database_unavailable")


async def test_a_login_without_a_database_gets_503(fragile: Broken) -> None:
    world, alice = fragile.world, fragile.world.wallet(1)
    fragile.records.broken = {"spend_login_nonce"}
    body = alice.sign_login(alice.login_message())
    _is_outage(await world.client.post("/auth/login", json=body), "database_unavailable")
    fragile.records.broken = set()
    assert (await world.client.post("/auth/login", json=body)).status_code == 200


@pytest.mark.parametrize("everywhere", [False, True])
async def test_a_logout_without_a_database_gets_503_and_ends_nothing(
    fragile: Broken, everywhere: bool
) -> None:
    world, alice = fragile.world, fragile.world.wallet(1)
    session = await world.login(alice)
    fragile.records.broken = {"end", "end_all"}
    body = {"all": everywhere}
    response = await world.client.post("/auth/logout", json=body, headers=session)
    _is_outage(response, "database_unavailable")
    fragile.records.broken = set()
    assert (await world.client.get("/me/feeds", headers=session)).status_code == 200
    response = await world.client.post("/auth/logout", json=body, headers=session)
    assert response.status_code == 204


@pytest.mark.parametrize("path", ["/me/feeds", "/me/library", "/me/posts", "/me/sales"])
async def test_a_session_that_cannot_be_checked_gets_503(fragile: Broken, path: str) -> None:
    world = fragile.world
    session = await world.login(world.wallet(1))
    fragile.records.broken = {"refuse_ended"}
    _is_outage(await world.client.get(path, headers=session), "database_unavailable")


async def test_an_internal_error_reveals_no_details(fragile: Broken) -> None:
    fragile.records.failure = lambda: RuntimeError("/secret/path: select * from files")
    fragile.records.broken = {"list_files"}
    response = await fragile.world.client.get("/filesMetaData")
    assert problem(response) == (500, "internal_error")
    assert "secret" not in response.text
    assert "select" not in response.text
    assert response.headers["x-request-id"]
