"""The middleware around every response: request ids, security headers, rate and load limits."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.world import ORIGIN, World, open_world, problem

from imprint.domain.errors import Unavailable
from imprint.domain.rate_limits import Budget, RateLimiter
from imprint.ports import monotonic
from imprint.web.http.middleware import (
    PREVIEW_PATH,
    SIGNED_PATHS,
    WEBHOOK_PATHS,
    RequestLimits,
    RequestMiddleware,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _every_kind_of_response(world: World) -> dict[str, Any]:
    alice = world.wallet(1)
    file = await world.create(alice)
    thumbnail = await world.publish(alice, file["cid"])
    post_id, _ = await world.post(alice, price=0)
    return {
        "create": await world.send_create(alice),
        "login": await world.client.post(
            "/auth/login", json=alice.sign_login(alice.login_message())
        ),
        "draft": await world.read_draft(alice, file["cid"]),
        "post": await world.read_post(alice, post_id),
        "free post": await world.read_free(post_id),
        "list": await world.client.get("/filesMetaData"),
        "drafts": await world.client.get(
            "/pendingFilesByOwner",
            params={"owner": alice.address},
            headers=await world.login(alice),
        ),
        "thumbnail": await world.client.get(f"/ipfs/{thumbnail}"),
        "delivery": await world.send_a(b"{}"),
        "refusal": await world.client.get("/fileByCid"),
        "unknown path": await world.client.get("/nothing"),
        "wrong method": await world.client.get("/create/group"),
        "health": await world.client.get("/healthz"),
        "readiness": await world.client.get("/readyz"),
        "facts": await world.client.get("/.well-known/imprint.json"),
        "description": await world.client.get("/openapi.json"),
        "docs": await world.client.get("/docs"),
    }


async def test_every_response_has_security_headers(town: World) -> None:
    for kind, response in (await _every_kind_of_response(town)).items():
        assert response.headers["x-content-type-options"] == "nosniff", kind
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"], kind
        assert response.headers["referrer-policy"] == "no-referrer", kind


async def test_every_response_has_a_request_id(town: World) -> None:
    responses = await _every_kind_of_response(town)
    ids = [response.headers["x-request-id"] for response in responses.values()]
    assert len(set(ids)) == len(ids)
    assert all(len(each) >= 8 for each in ids)


async def test_only_public_responses_may_be_cached(town: World) -> None:
    public = {"free post", "thumbnail", "facts", "description", "docs"}
    for kind, response in (await _every_kind_of_response(town)).items():
        stored = response.headers["cache-control"] != "no-store"
        assert stored == (kind in public), kind


async def test_no_response_sets_a_cookie_or_reveals_the_server_software(town: World) -> None:
    for kind, response in (await _every_kind_of_response(town)).items():
        assert "set-cookie" not in response.headers, kind
        assert "server" not in response.headers, kind


async def test_a_valid_request_id_of_the_client_is_kept(town: World) -> None:
    headers = {"X-Request-Id": "from-a-proxy-0001"}
    response = await town.client.get("/healthz", headers=headers)
    assert response.headers["x-request-id"] == "from-a-proxy-0001"


@pytest.mark.parametrize("given", ["short", "x" * 65, "a b c d e f", "<script>1</script>", "é" * 9])
async def test_an_invalid_request_id_of_the_client_is_replaced(town: World, given: str) -> None:
    response = await town.client.get("/healthz", headers={"X-Request-Id": given.encode("latin-1")})
    assert response.headers["x-request-id"] != given
    assert given not in response.headers["x-request-id"]


async def test_a_rate_limited_client_learns_when_to_retry(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_READS="2/60") as world:
        for _ in range(2):
            assert (await world.client.get("/filesMetaData")).status_code == 200
        response = await world.client.get("/filesMetaData")
        assert problem(response) == (429, "rate_limited")
        world.clock.advance(int(response.headers["retry-after"]))
        assert (await world.client.get("/filesMetaData")).status_code == 200


async def test_health_checks_are_not_rate_limited(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_READS="1/60") as world:
        for _ in range(5):
            assert (await world.client.get("/healthz")).status_code == 200


async def test_every_other_path_with_post_has_the_rate_limit_of_signatures(tmp_path: Path) -> None:
    async with open_world(tmp_path, OPERATOR_SECRET="s" * 32) as world:
        app: Any = world.app
        paths = {route.path for route in app.routes if "POST" in route.methods}
    assert {"/revise/post", "/operator", PREVIEW_PATH} < paths
    assert {path for path in paths if not path.startswith((*SIGNED_PATHS, WEBHOOK_PATHS))} == {
        PREVIEW_PATH
    }


# The load limit


class Exchange:
    """A request whose body is sent, and whose response is read, step by step by the test."""

    def __init__(self, world: World, path: str, client: str, **more: Any) -> None:
        self.statuses: asyncio.Queue[int] = asyncio.Queue()
        self.chunks: asyncio.Queue[tuple[bytes, bool]] = asyncio.Queue()
        self.taken = asyncio.Event()
        self.body = b""
        scope = {
            "type": "http",
            "method": more.get("method", "GET"),
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": more.get("headers", []),
            "client": (client, 50_000),
        }
        self._task = asyncio.create_task(world.app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        body, more = await self.chunks.get()
        return {"type": "http.request", "body": body, "more_body": more}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.statuses.put_nowait(message["status"])
        await self.taken.wait()
        self.body += bytes(message.get("body", b""))

    async def status(self) -> int:
        """Wait for the status. The client has not read any of the response body yet."""
        return await self.statuses.get()

    async def finish(self) -> None:
        """Read the whole response."""
        self.taken.set()
        await self._task


def _posted(length: int) -> dict[str, Any]:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % length)]
    return {"method": "POST", "headers": headers}


async def _status(world: World, path: str, client: str, **more: Any) -> int:
    """The status of a request whose response is read immediately."""
    exchange = Exchange(world, path, client, **more)
    exchange.chunks.put_nowait((b"{}", False))
    status = await exchange.status()
    await exchange.finish()
    return status


LIST, ALICE, BOB, CAROL = "/filesMetaData", "203.0.113.1", "203.0.113.2", "203.0.113.3"


async def test_too_many_concurrent_requests_are_refused(tmp_path: Path) -> None:
    async with open_world(tmp_path, MAX_CONCURRENT_REQUESTS="1") as world:
        running = Exchange(world, LIST, ALICE)
        assert await running.status() == 200
        turned_away = await world.client.get(LIST)
        assert problem(turned_away) == (503, "overloaded")
        assert turned_away.headers["retry-after"]
        assert (await world.client.get("/healthz")).status_code == 200
        await running.finish()
        assert (await world.client.get(LIST)).status_code == 200


async def test_one_client_holds_at_most_a_quarter_of_the_slots(tmp_path: Path) -> None:
    async with open_world(tmp_path, MAX_CONCURRENT_REQUESTS="12", RATE_LIMITS="on") as world:
        running = [Exchange(world, LIST, ALICE) for _ in range(3)]
        assert [await each.status() for each in running] == [200] * 3
        assert await _status(world, LIST, ALICE) == 503
        assert await _status(world, LIST, BOB) == 200
        for each in running:
            await each.finish()
        assert await _status(world, LIST, ALICE) == 200


async def test_without_rate_limits_one_client_can_hold_all_slots(tmp_path: Path) -> None:
    async with open_world(tmp_path, MAX_CONCURRENT_REQUESTS="4", RATE_LIMITS="off") as world:
        running = [Exchange(world, LIST, ALICE) for _ in range(4)]
        assert [await each.status() for each in running] == [200] * 4
        assert await _status(world, LIST, BOB) == 503
        for each in running:
            await each.finish()


async def test_addresses_in_one_ipv6_network_count_as_one_client(tmp_path: Path) -> None:
    async with open_world(tmp_path, MAX_CONCURRENT_REQUESTS="8", RATE_LIMITS="on") as world:
        running = [Exchange(world, LIST, f"2001:db8::{number}") for number in range(2)]
        assert [await each.status() for each in running] == [200] * 2
        assert await _status(world, LIST, "2001:DB8:0:0:ffff::") == 503
        assert await _status(world, LIST, "2001:db8:0:1::") == 200
        for each in running:
            await each.finish()


async def test_a_client_that_does_not_send_its_body_takes_no_slot(tmp_path: Path) -> None:
    async with open_world(tmp_path, MAX_CONCURRENT_REQUESTS="1") as world:
        silent = [Exchange(world, "/auth/login", ALICE, **_posted(2)) for _ in range(5)]
        for each in silent:
            each.chunks.put_nowait((b"{", True))
        assert await _status(world, LIST, ALICE) == 200
        for each in silent:
            each.chunks.put_nowait((b"}", False))
            await each.finish()
            assert await each.status() == 400


async def test_a_body_that_completes_while_no_slot_is_free_is_refused(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path, MAX_CONCURRENT_REQUESTS="1", CORS_ORIGINS=ORIGIN) as world:
        running = Exchange(world, LIST, ALICE)
        assert await running.status() == 200
        response = await world.client.post("/auth/login", json={}, headers={"Origin": ORIGIN})
        assert problem(response) == (503, "overloaded")
        assert response.headers["access-control-allow-origin"] == ORIGIN
        assert response.headers["retry-after"]
        await running.finish()


async def test_a_request_whose_body_is_not_read_still_takes_a_slot(tmp_path: Path) -> None:
    async with open_world(tmp_path, MAX_CONCURRENT_REQUESTS="1") as world:
        announced = {"headers": [(b"content-length", b"2")]}
        running = Exchange(world, LIST, ALICE, **announced)
        running.chunks.put_nowait((b"{}", False))
        assert await running.status() == 200
        assert await _status(world, LIST, BOB, **announced) == 503
        await running.finish()


async def test_webhooks_that_send_no_body_do_not_affect_other_requests(tmp_path: Path) -> None:
    limits = {"MAX_CONCURRENT_REQUESTS": "1", "MAX_CONCURRENT_WEBHOOKS": "8", "RATE_LIMITS": "on"}
    async with open_world(tmp_path, **limits) as world:
        path, signed = "/webhook/provider-a/publish", _posted(100)
        signed["headers"].append((b"x-alchemy-signature", b"0" * 64))
        held = [Exchange(world, path, ALICE, **signed) for _ in range(2)]
        await asyncio.sleep(0)
        assert await _status(world, path, ALICE, **signed) == 503
        assert await _status(world, LIST, ALICE) == 200
        assert (await world.send_a(b"{}")).status_code == 200
        for each in held:
            each.chunks.put_nowait((b"x" * 100, False))
            assert await each.status() == 401
            await each.finish()
        assert await _status(world, path, ALICE, **signed) == 401


# Bytes of bodies


async def test_the_bytes_of_signed_bodies_are_rate_limited(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_BYTES="100000/3600") as world:
        alice = world.wallet(1)
        file = await world.create(alice, "a" * 60_000)
        refused = await world.send_update(alice, file["cid"], "b" * 60_000)
        assert problem(refused) == (429, "rate_limited")
        assert 0 < int(refused.headers["retry-after"]) <= 3600
        world.clock.advance(int(refused.headers["retry-after"]))
        updated = await world.update(alice, file["cid"], "b" * 60_000)
        assert (await world.send_delete(alice, updated["cid"])).status_code == 200


async def _read_body(scope: Any, receive: Any, send: Any) -> None:
    """An endpoint that reads a body and responds with its length."""
    size, more = 0, True
    try:
        while more:
            message = await receive()
            size, more = size + len(message["body"]), message["more_body"]
        status = 200
    except Unavailable as error:
        scope["state"]["code"], status = error.code, 503
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b"%d" % size})


class Bodies:
    """The middleware by itself, with small budgets and a count of bytes in flight."""

    def __init__(self, total: int, largest: int = 1) -> None:
        unlimited = RateLimiter(None)
        self.bytes = Budget.of(total, largest)
        self.slots = Budget.of(100)
        limits = RequestLimits(
            monotonic,
            unlimited,
            unlimited,
            unlimited,
            unlimited,
            self.slots,
            Budget.of(100),
            self.bytes,
        )
        self.app = RequestMiddleware(_read_body, limits)


KIB = 1024


async def test_large_bodies_count_towards_the_budget_while_in_memory() -> None:
    bodies: Any = Bodies(4000 * KIB)
    sent = Exchange(bodies, "/create/group", ALICE, **_posted(300 * KIB))
    for received in (100, 200):
        sent.chunks.put_nowait((bytes(100 * KIB), True))
        await _until(lambda expected=received: bodies.bytes.held(ALICE) == expected * KIB)
    sent.chunks.put_nowait((bytes(100 * KIB), False))
    assert await sent.status() == 200
    assert (bodies.bytes.taken, bodies.slots.taken) == (300 * KIB, 1)
    await sent.finish()
    assert sent.body == b"%d" % (300 * KIB)
    assert (bodies.bytes.taken, bodies.slots.taken) == (0, 0)


async def test_a_small_body_does_not_count_towards_the_budget() -> None:
    bodies: Any = Bodies(1)
    sent = Exchange(bodies, "/create/group", ALICE, **_posted(64 * KIB))
    sent.chunks.put_nowait((bytes(64 * KIB), False))
    assert await sent.status() == 200
    assert bodies.bytes.taken == 0
    await sent.finish()


async def test_a_body_beyond_the_share_of_its_client_is_refused_and_drained() -> None:
    bodies: Any = Bodies(1600 * KIB)
    first = Exchange(bodies, "/create/group", ALICE, **_posted(500 * KIB))
    first.chunks.put_nowait((bytes(300 * KIB), True))
    await _until(lambda: bodies.bytes.taken == 300 * KIB)
    second = Exchange(bodies, "/create/group", ALICE, **_posted(200 * KIB))
    second.chunks.put_nowait((bytes(150 * KIB), True))
    await _until(second.chunks.empty)
    assert bodies.bytes.taken == 300 * KIB
    other = Exchange(bodies, "/create/group", BOB, **_posted(200 * KIB))
    other.chunks.put_nowait((bytes(200 * KIB), False))
    assert await other.status() == 200
    second.chunks.put_nowait((bytes(50 * KIB), False))
    assert await second.status() == 503
    for each in (second, other):
        await each.finish()
    first.chunks.put_nowait((bytes(200 * KIB), False))
    assert await first.status() == 503
    await first.finish()
    assert bodies.bytes.taken == 0


async def test_a_body_beyond_the_budget_of_all_clients_is_refused() -> None:
    bodies: Any = Bodies(400 * KIB)
    held = [Exchange(bodies, "/create/group", client, **_posted(KIB**2)) for client in "abcd"]
    for each in held:
        each.chunks.put_nowait((bytes(100 * KIB), True))
    await _until(lambda: bodies.bytes.taken == 400 * KIB)
    sent = Exchange(bodies, "/create/group", "e", **_posted(70 * KIB))
    sent.chunks.put_nowait((bytes(70 * KIB), False))
    assert await sent.status() == 503
    for each in held:
        each.chunks.put_nowait((bytes(KIB**2), False))
    for each in (sent, *held):
        await each.finish()
    assert bodies.bytes.taken == 0


async def _until(condition: Callable[[], bool]) -> None:
    """Let other tasks run until the condition holds."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in the code under test
            await asyncio.sleep(0)
