"""Writing sessions: a wallet signs once, and a key then signs writes until it is revoked."""

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.web.conftest import EVERY_DATABASE
from tests.world import ORIGIN, MovableClock, World, open_world, picture, problem
from tests.writing_sessions import (
    WritingKey,
    bound_envelope,
    hash_of,
    open_session,
    send_create,
    send_opening,
    send_update,
)

from imprint.bootstrap import build_service, open_adapters
from imprint.devchain.calls import Request, sign_request
from imprint.domain.formats.addresses import keccak256

pytestmark = [pytest.mark.asyncio(loop_scope="module"), *EVERY_DATABASE]

DAY = 24 * 3600
ALWAYS_YES = "7f1626ba7e" + "00" * 28 + "5f5260205ff3"
"""Bytecode of a contract that always returns the ERC-1271 magic value."""


async def saved(world: World, key: WritingKey) -> str:
    """Create a draft with a writing session, and return its cid."""
    response = await send_create(world, key)
    assert response.status_code == 200, response.text
    cid: str = response.json()["updatedUpload"]["cid"]
    return cid


async def listed(world: World, headers: dict[str, str]) -> list[dict[str, Any]]:
    response = await world.client.get("/writing/sessions", headers=headers)
    assert response.status_code == 200, response.text
    sessions: list[dict[str, Any]] = response.json()["sessions"]
    return sessions


async def revoke(world: World, key: WritingKey, headers: dict[str, str]) -> None:
    response = await world.client.delete(f"/writing/sessions/{key.id}", headers=headers)
    assert (response.status_code, response.content) == (204, b"")


@asynccontextmanager
async def second_replica(world: World) -> AsyncIterator[World]:
    """A second service on the same database and content."""
    adapters = open_adapters(world.settings, world.clock, world.clock.monotonic)
    app = build_service(world.settings, adapters)
    try:
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            yield replace(world, adapters=adapters, app=app, client=client)
    finally:
        await adapters.close()


# Opening, listing, revoking


async def test_an_opened_session_is_returned_without_its_key(town: World) -> None:
    alice = town.stranger()
    key = WritingKey(alice)
    start = town.clock.seconds
    response = await send_opening(town, key, actions=["update"])
    assert response.status_code == 201
    assert response.headers["cache-control"] == "private, no-store"
    session = response.json()["session"]
    assert session.keys() == {"id", "wallet", "actions", "notBefore", "expires", "createdAt"}
    assert (session["wallet"], session["actions"]) == (alice.address, ["update"])
    for name, seconds in (("notBefore", start), ("expires", start + 3600)):
        assert session[name] == f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
    assert session["createdAt"].endswith("Z")
    assert await listed(town, await town.login(alice)) == [session]


async def test_sessions_are_listed_only_for_their_wallet_oldest_first(town: World) -> None:
    alice, bob = town.stranger(), town.stranger()
    keys = []
    for _ in range(3):
        keys.append(await open_session(town, alice))
        town.clock.advance(0.01)
    await open_session(town, bob)
    assert [each["id"] for each in await listed(town, await town.login(alice))] == [
        key.id for key in keys
    ]


async def test_an_expired_session_is_not_listed(tmp_path: Path, records: None) -> None:
    async with open_world(tmp_path) as world:
        await open_session(world, world.wallet(1), expires=world.clock.seconds + 10)
        kept = await open_session(world, world.wallet(1), expires=world.clock.seconds + 20)
        world.clock.advance(11)
        sessions = await listed(world, await world.login(world.wallet(1)))
        assert [each["id"] for each in sessions] == [kept.id]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/writing/sessions"),
        ("DELETE", "/writing/sessions"),
        ("DELETE", "/writing/sessions/019bc0f2-3f40-7c1d-8a55-6e2b90d4f7a1"),
    ],
)
async def test_listing_and_revoking_writing_sessions_needs_a_login(
    town: World, method: str, path: str
) -> None:
    assert problem(await town.client.request(method, path)) == (401, "session_missing")
    headers = {"Authorization": "Bearer nonsense"}
    refused = await town.client.request(method, path, headers=headers)
    assert problem(refused) == (401, "session_invalid")


@pytest.mark.parametrize(
    "name", ["019bc0f2-3f40-7c1d-8a55-6e2b90d4f7a1", "nonsense", "%00", "%F0%9F%98%80", "é" * 36]
)
async def test_revoking_an_unknown_session_gets_404(town: World, name: str) -> None:
    headers = await town.login(town.stranger())
    response = await town.client.delete(f"/writing/sessions/{name}", headers=headers)
    assert problem(response) == (404, "not_found")


async def test_another_wallets_session_cannot_be_revoked(town: World) -> None:
    key = await open_session(town, town.stranger())
    headers = await town.login(town.stranger())
    response = await town.client.delete(f"/writing/sessions/{key.id}", headers=headers)
    assert problem(response) == (404, "not_found")
    assert (await town.client.delete("/writing/sessions", headers=headers)).status_code == 204
    assert (await send_create(town, key)).status_code == 200


async def test_query_parameters_and_other_methods_are_refused(town: World) -> None:
    headers = await town.login(town.stranger())
    wrong = await town.client.get("/writing/sessions", params={"all": "1"}, headers=headers)
    assert problem(wrong) == (400, "invalid_request")
    put = await town.client.put("/writing/sessions", headers=headers)
    assert problem(put) == (405, "method_not_allowed")


OPENINGS: dict[str, tuple[dict[str, Any], tuple[int, str]]] = {
    "an unknown action": ({"actions": ["publish"]}, (400, "invalid_typed_data")),
    "a key off the curve": (
        {"publicKey": "0x04" + "11" * 64},
        (400, "invalid_typed_data"),
    ),
    "another service": ({"service": "https://another.example"}, (401, "body_mismatch")),
    "another wallet": ({"wallet": "0x" + "12" * 20}, (401, "body_mismatch")),
}


@pytest.mark.parametrize("name", OPENINGS)
async def test_an_invalid_request_to_open_a_session_spends_no_nonce(town: World, name: str) -> None:
    members, expected = OPENINGS[name]
    alice = town.stranger()
    key = WritingKey(alice)
    assert problem(await send_opening(town, key, nonce="same", **members)) == expected
    assert await listed(town, await town.login(alice)) == []
    assert (await send_opening(town, key, nonce="same")).status_code == 201


async def test_the_start_and_end_times_of_a_new_session_are_checked(town: World) -> None:
    key, now = WritingKey(town.stranger()), town.clock.seconds
    late = await send_opening(town, key, notBefore=now + 60)
    assert problem(late) == (401, "signature_stale")
    assert abs(late.json()["now"] - now) <= 1
    early = await send_opening(town, key, notBefore=now - 10, expires=now - 1)
    assert problem(early) == (401, "writing_session_expired")
    long = await send_opening(town, key, expires=now + DAY + 60)
    assert problem(long) == (400, "invalid_typed_data")
    assert (await send_opening(town, key, expires=now + DAY)).status_code == 201


async def test_a_session_cannot_write_before_its_start(tmp_path: Path, records: None) -> None:
    async with open_world(tmp_path) as world:
        start = world.clock.seconds + 4
        key = await open_session(world, world.stranger(), notBefore=start)
        assert problem(await send_create(world, key)) == (401, "writing_session_invalid")
        world.clock.advance(4)
        assert (await send_create(world, key)).status_code == 200


async def test_a_signature_by_another_wallet_cannot_open_a_session(town: World) -> None:
    alice, bob = town.stranger(), town.stranger()
    body = bob.sign_envelope(WritingKey(alice).opening()) | {"address": alice.account.address}
    response = await town.client.post("/writing/sessions", json=body)
    assert problem(response) == (401, "signature_invalid")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "invalid_json"),
        (b"[]", "invalid_request"),
        (b'{"salt": {}}', "invalid_request"),
        (b'{"salt": {}, "address": "0x", "signature": ""}', "invalid_typed_data"),
        (b'{"salt": 7, "address": "0x", "signature": ""}', "invalid_typed_data"),
    ],
)
async def test_a_malformed_request_to_open_a_session_is_refused(
    town: World, body: bytes, code: str
) -> None:
    headers = {"Content-Type": "application/json"}
    response = await town.client.post("/writing/sessions", content=body, headers=headers)
    assert problem(response) == (400, code)


async def test_opening_a_session_with_a_wrong_media_type_or_size_is_refused(town: World) -> None:
    plain = await town.client.post("/writing/sessions", content=b"{}")
    assert problem(plain) == (415, "unsupported_media_type")
    large = await town.client.post("/writing/sessions", json={"salt": "x" * 70_000})
    assert problem(large) == (413, "too_large")


async def test_a_request_to_open_a_session_is_accepted_once_even_after_revocation(
    town: World,
) -> None:
    alice = town.stranger()
    key = WritingKey(alice)
    body = alice.sign_envelope(key.opening())
    first = await town.client.post("/writing/sessions", json=body)
    key.id = first.json()["session"]["id"]
    headers = await town.login(alice)
    await revoke(town, key, headers)
    again = await town.client.post("/writing/sessions", json=body)
    assert problem(again) == (409, "nonce_used")
    assert (again.json()["action"], again.json()["file"]) == ("writing_session", None)
    assert await listed(town, headers) == []


async def test_a_wallet_can_have_at_most_twenty_sessions(town: World) -> None:
    alice = town.stranger()
    opening = (send_opening(town, WritingKey(alice)) for _ in range(21))
    responses = await asyncio.gather(*opening)
    assert Counter(each.status_code for each in responses) == {201: 20, 409: 1}
    (refused,) = [each for each in responses if each.status_code == 409]
    assert problem(refused) == (409, "too_many_writing_sessions")
    headers = await town.login(alice)
    assert len(await listed(town, headers)) == 20
    assert (await town.client.delete("/writing/sessions", headers=headers)).status_code == 204
    assert (await send_opening(town, WritingKey(alice))).status_code == 201


async def test_two_concurrent_requests_with_one_nonce_open_only_one_session(town: World) -> None:
    alice = town.stranger()
    opening = (send_opening(town, WritingKey(alice), nonce="same") for _ in range(8))
    responses = await asyncio.gather(*opening)
    assert Counter(each.status_code for each in responses) == {201: 1, 409: 7}
    assert len(await listed(town, await town.login(alice))) == 1


async def test_opening_a_session_counts_as_a_write_by_the_wallet(
    tmp_path: Path, records: None
) -> None:
    given = {"RATE_LIMITS": "on", "RATE_WRITES": "2/60"}
    async with open_world(tmp_path, **given) as world:
        alice = world.wallet(1)
        key = await open_session(world, alice)
        assert (await send_create(world, key)).status_code == 200
        assert problem(await send_opening(world, WritingKey(alice))) == (429, "rate_limited")
        assert problem(await send_create(world, key)) == (429, "rate_limited")
        assert problem(await world.send_create(alice)) == (429, "rate_limited")
        assert (await send_opening(world, WritingKey(world.wallet(2)))).status_code == 201


async def test_a_repeated_session_opening_does_not_count_towards_the_rate_limit(
    tmp_path: Path, records: None
) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_WRITES="2/60") as world:
        alice = world.wallet(1)
        key = WritingKey(alice)
        body = alice.sign_envelope(key.opening())
        response = await world.client.post("/writing/sessions", json=body)
        key.id = response.json()["session"]["id"]
        for _ in range(3):
            response = await world.client.post("/writing/sessions", json=body)
            assert problem(response) == (409, "nonce_used")
        assert (await send_create(world, key)).status_code == 200
        assert problem(await send_create(world, key)) == (429, "rate_limited")


async def test_opening_sessions_counts_as_a_signed_request_but_listing_them_does_not(
    tmp_path: Path, records: None
) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_SIGNED="2/60") as world:
        headers = await world.login(world.wallet(1))
        await open_session(world, world.wallet(1))
        assert problem(await send_opening(world, WritingKey(world.wallet(1)))) == (
            429,
            "rate_limited",
        )
        assert len(await listed(world, headers)) == 1


# Writes


async def test_a_session_can_create_and_update_drafts_of_its_wallet(town: World) -> None:
    alice = town.stranger()
    key = await open_session(town, alice)
    cid = await saved(town, key)
    response = await send_update(town, key, cid, content="Better words.")
    assert response.status_code == 200, response.text
    shown = await town.read_draft(alice, response.json()["upload"]["cid"])
    assert shown.json()["content"] == "Better words."
    assert shown.json()["file"]["keyvalues"]["owner"] == alice.address
    # The session can also update drafts that the wallet itself has created.
    own = await town.create(alice)
    assert (await send_update(town, key, own["cid"])).status_code == 200


async def test_a_session_can_save_large_content(town: World) -> None:
    alice = town.stranger()
    key = await open_session(town, alice)
    long = "Long words, é😀. " * 20_000
    response = await send_create(town, key, content=long)
    assert response.status_code == 200, response.text
    response = await send_update(
        town, key, response.json()["updatedUpload"]["cid"], content=long + "!"
    )
    assert response.status_code == 200, response.text
    shown = await town.read_draft(alice, response.json()["upload"]["cid"])
    assert shown.json()["content"] == long + "!"
    swapped = key.create_body(long) | {"content": long + "?"}
    refused = await town.client.post("/create/group", json=swapped)
    assert problem(refused) == (401, "body_mismatch")


async def test_a_session_can_neither_publish_nor_delete(town: World) -> None:
    alice = town.stranger()
    key = await open_session(town, alice)
    cid, now, image = await saved(town, key), town.clock.seconds, picture()
    said = bound_envelope(
        "publish", now, cid=cid, thumbnailHash="0x" + keccak256(image).hex(), hashtags="a"
    )
    fields = key.sign_envelope(said) | {"hashtags": "a"}
    fields["salt"] = json.dumps(fields["salt"])
    published = await town.client.post(
        "/publish/file", params={"cid": cid}, data=fields, files={"file": ("a.png", image)}
    )
    assert problem(published) == (403, "writing_session_scope")
    body = key.sign_envelope(bound_envelope("delete", now, cid=cid))
    deleted = await town.client.post("/delete/file", params={"cid": cid}, json=body)
    assert problem(deleted) == (403, "writing_session_scope")
    assert (await town.read_draft(alice, cid)).status_code == 200


async def test_a_session_key_cannot_log_in(town: World) -> None:
    alice = town.stranger()
    key = await open_session(town, alice)
    message = alice.login_message()
    body = alice.sign_login(message) | {
        "signature": key.sign(message.encode()),
        "session": key.id,
    }
    response = await town.client.post("/auth/login", json=body)
    assert problem(response) == (401, "signature_invalid")


async def test_a_session_key_cannot_open_a_session(town: World) -> None:
    key = await open_session(town, town.stranger())
    said = WritingKey(key.wallet).opening()
    body = key.wallet.sign_envelope(said) | {"signature": key.sign(b"any"), "session": key.id}
    response = await town.client.post("/writing/sessions", json=body)
    assert problem(response) == (401, "signature_invalid")


async def test_an_action_outside_the_scope_of_a_session_is_refused(town: World) -> None:
    alice = town.stranger()
    creating = await open_session(town, alice, actions=["create"])
    updating = await open_session(town, alice, actions=["update"])
    cid = await saved(town, creating)
    assert problem(await send_update(town, creating, cid)) == (403, "writing_session_scope")
    assert problem(await send_create(town, updating)) == (403, "writing_session_scope")
    assert (await send_update(town, updating, cid)).status_code == 200


async def test_a_session_write_to_another_wallets_draft_is_refused(town: World) -> None:
    alice, bob = town.stranger(), town.stranger()
    key = await open_session(town, alice)
    other = await town.create(bob)
    assert problem(await send_update(town, key, other["cid"])) == (403, "not_owner")


async def test_a_session_cannot_sign_for_another_wallet(town: World) -> None:
    alice, bob = town.stranger(), town.stranger()
    key = await open_session(town, alice)
    body = key.create_body() | {"address": bob.account.address}
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (401, "writing_session_invalid")


async def test_a_signature_by_another_sessions_key_is_refused(town: World) -> None:
    alice = town.stranger()
    one, other = await open_session(town, alice), await open_session(town, alice)
    body = one.create_body() | {"session": other.id}
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (401, "writing_session_invalid")


@pytest.mark.parametrize(
    "session", ["019bc0f2-3f40-7c1d-8a55-6e2b90d4f7a1", "", "x", "\0", "é" * 36, "0" * 10_000]
)
async def test_an_unknown_session_is_refused(town: World, session: str) -> None:
    key = WritingKey(town.stranger(), id=session)
    response = await town.client.post("/create/group", json=key.create_body())
    assert problem(response) == (401, "writing_session_invalid")


@pytest.mark.parametrize("session", [7, ["a"], {"id": "a"}, True])
async def test_a_session_id_that_is_not_a_string_is_refused(town: World, session: object) -> None:
    body = WritingKey(town.stranger()).create_body() | {"session": session}
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (400, "invalid_request")


async def test_a_null_session_means_that_the_wallet_signed(town: World) -> None:
    alice = town.stranger()
    body = alice.sign("create") | {"content": "Words.", "session": None}
    assert (await town.client.post("/create/group", json=body)).status_code == 200
    key = await open_session(town, alice)
    body = key.create_body() | {"session": None}
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (401, "signature_invalid")


async def test_the_wallet_cannot_sign_in_place_of_the_session_key(town: World) -> None:
    alice = town.stranger()
    key = await open_session(town, alice)
    said = bound_envelope("create", town.clock.seconds, contentHash=hash_of("Words."))
    body = alice.sign_envelope(said) | {"content": "Words.", "session": key.id}
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (401, "writing_session_invalid")


async def test_a_session_can_sign_only_the_bound_form(town: World) -> None:
    alice = town.stranger()
    key = await open_session(town, alice)
    body = key.sign_envelope(alice.envelope("create")) | {"content": "Words."}
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (401, "form_not_accepted")


async def test_a_session_signature_is_bound_to_the_whole_request(town: World) -> None:
    alice = town.stranger()
    key = await open_session(town, alice)
    cid, other = await saved(town, key), await saved(town, key)
    swapped = key.update_body(cid) | {"content": "Words that were not signed."}
    response = await town.client.post("/update/file", params={"cid": cid}, json=swapped)
    assert problem(response) == (401, "body_mismatch")
    response = await town.client.post(
        "/update/file", params={"cid": cid}, json=key.update_body(other)
    )
    assert problem(response) == (401, "body_mismatch")
    elsewhere = key.create_body(service="https://another.example")
    response = await town.client.post("/create/group", json=elsewhere)
    assert problem(response) == (401, "body_mismatch")
    said = bound_envelope("create", town.clock.seconds - 61, contentHash=hash_of("Words."))
    stale = key.sign_envelope(said) | {"content": "Words."}
    response = await town.client.post("/create/group", json=stale)
    assert problem(response) == (401, "signature_stale")
    assert (await send_update(town, key, cid)).status_code == 200


async def test_a_wallet_and_all_its_session_keys_share_one_nonce_space(town: World) -> None:
    alice = town.stranger()
    one = await open_session(town, alice, nonce="opening")
    other = await open_session(town, alice)
    first = await send_create(town, one, nonce="same")
    assert first.status_code == 200
    for again in (
        await send_create(town, one, nonce="same"),
        await send_create(town, other, nonce="same"),
        await town.send_create(alice, nonce="same"),
        await send_update(town, one, first.json()["updatedUpload"]["cid"], nonce="same"),
        await send_opening(town, WritingKey(alice), nonce="same"),
    ):
        assert problem(again) == (409, "nonce_used")
        assert again.json()["action"] == "create"
        assert again.json()["file"] == first.json()["updatedUpload"]
    taken = await send_create(town, one, nonce="opening")
    assert problem(taken) == (409, "nonce_used")
    assert (taken.json()["action"], taken.json()["file"]) == ("writing_session", None)


async def test_a_session_expires(tmp_path: Path, records: None) -> None:
    async with open_world(tmp_path, clock=MovableClock()) as world:
        key = await open_session(world, world.wallet(1), expires=world.clock.seconds + 30)
        cid = await saved(world, key)
        world.clock.advance(31)
        assert problem(await send_update(world, key, cid)) == (401, "writing_session_expired")
        assert problem(await send_create(world, key)) == (401, "writing_session_expired")


# Revocation


async def test_a_revoked_session_is_refused_immediately_on_every_replica(town: World) -> None:
    alice = town.stranger()
    revoked, kept = await open_session(town, alice), await open_session(town, alice)
    headers = await town.login(alice)
    async with second_replica(town) as other:
        # Both have loaded the key.
        cid = await saved(town, revoked)
        assert (await send_update(other, revoked, cid)).status_code == 200
        await revoke(town, revoked, headers)
        for replica in (other, town):
            cid = await saved(replica, kept)
            for response in (
                await send_create(replica, revoked),
                await send_update(replica, revoked, cid),
                await send_create(replica, revoked, content="Long words. " * 10_000),
            ):
                assert problem(response) == (401, "writing_session_invalid")
        gone = await other.client.delete(f"/writing/sessions/{revoked.id}", headers=headers)
        assert problem(gone) == (404, "not_found")


async def test_all_sessions_of_a_wallet_can_be_revoked_together(town: World) -> None:
    alice, bob = town.stranger(), town.stranger()
    keys = [await open_session(town, alice) for _ in range(3)]
    other = await open_session(town, bob)
    headers = await town.login(alice)
    async with second_replica(town) as replica:
        for key in keys:
            await saved(replica, key)
        assert (await town.client.delete("/writing/sessions", headers=headers)).status_code == 204
        for key in keys:
            response = await send_create(replica, key)
            assert problem(response) == (401, "writing_session_invalid")
        assert (await send_create(replica, other)).status_code == 200


async def test_writes_in_a_revoked_session_use_up_no_rate_limit_and_no_nonce(
    tmp_path: Path, records: None
) -> None:
    given = {"RATE_LIMITS": "on", "RATE_WRITES": "3/60"}
    async with open_world(tmp_path, **given) as world:
        alice = world.wallet(1)
        key = await open_session(world, alice)
        cid = await saved(world, key)
        await revoke(world, key, await world.login(alice))
        for _ in range(4):
            update = await send_update(world, key, cid, nonce="same")
            assert problem(update) == (401, "writing_session_invalid")
            create = await send_create(world, key, nonce="same")
            assert problem(create) == (401, "writing_session_invalid")
        assert (await world.send_create(alice, nonce="same")).status_code == 200


async def test_a_session_revoked_during_writes_stores_no_later_draft(town: World) -> None:
    alice = town.stranger()
    key = await open_session(town, alice)
    headers = await town.login(alice)
    await saved(town, key)
    ended = asyncio.Event()
    later: list[httpx2.Response] = []
    earlier: list[httpx2.Response] = []

    async def write() -> None:
        for _ in range(20):
            was_ended = ended.is_set()
            response = await send_create(town, key)
            (later if was_ended else earlier).append(response)

    async def end() -> None:
        await asyncio.sleep(0)
        await revoke(town, key, headers)
        ended.set()

    await asyncio.gather(*(write() for _ in range(4)), end())
    codes = {each.status_code for each in earlier}
    assert codes <= {200, 401}
    assert later
    assert {problem(each) for each in later} == {(401, "writing_session_invalid")}
    drafts = await town.client.get(
        "/pendingFilesByOwner", params={"owner": alice.address}, headers=headers
    )
    stored = sum(each.status_code == 200 for each in earlier) + 1
    assert len(drafts.json()["files"]) == min(stored, 12)


# Contract wallets


def deploy_wallet(world: World) -> str:
    """Deploy a contract that accepts every signature, and return its address."""
    code = bytes.fromhex(ALWAYS_YES)
    creation = bytes([0x60, len(code), 0x60, 0x0A, 0x5F, 0x39, 0x60, len(code), 0x5F, 0xF3]) + code
    sender = world.chain.wallet.addresses[0]
    block = world.chain.submit(sign_request(world.chain, Request(sender=sender, data=creation)))
    assert block.receipt is not None
    assert block.receipt.created is not None
    return block.receipt.created.lower()


async def test_a_session_of_a_contract_wallet_writes_without_the_chain(
    town: World,
) -> None:
    address = deploy_wallet(town)
    key = WritingKey(town.stranger())
    said = key.opening(wallet=address)
    body = {"salt": said, "address": address, "signature": "0x" + secrets.token_hex(200)}
    response = await town.client.post("/writing/sessions", json=body)
    assert response.status_code == 201, response.text
    session = response.json()["session"]
    assert session["wallet"] == address
    key.id = session["id"]
    asked = town.node.asked
    created = await town.client.post("/create/group", json=key.create_body() | {"address": address})
    assert created.status_code == 200, created.text
    assert created.json()["updatedUpload"]["keyvalues"]["owner"] == address
    assert town.node.asked == asked


async def test_without_contract_wallets_only_key_wallets_can_open_sessions(
    tmp_path: Path, records: None
) -> None:
    async with open_world(tmp_path, CONTRACT_WALLETS="off") as world:
        address = deploy_wallet(world)
        said = WritingKey(world.stranger()).opening(wallet=address)
        body = {"salt": said, "address": address, "signature": "0x" + "01" * 65}
        response = await world.client.post("/writing/sessions", json=body)
        assert problem(response) == (401, "signature_invalid")


async def test_without_the_chain_no_session_is_opened_and_no_nonce_is_spent(
    tmp_path: Path, records: None
) -> None:
    async with open_world(tmp_path) as world:
        address = deploy_wallet(world)
        said = WritingKey(world.stranger()).opening(wallet=address)
        body = {"salt": said, "address": address, "signature": "0x" + "01" * 65}
        world.node.fault = lambda _: b"{}"
        response = await world.client.post("/writing/sessions", json=body)
        assert problem(response) == (503, "chain_unavailable")
        world.node.fault = None
        response = await world.client.post("/writing/sessions", json=body)
        assert response.status_code == 201, response.text


async def test_a_service_that_requires_bound_signatures_accepts_session_writes(
    tmp_path: Path, records: None
) -> None:
    async with open_world(tmp_path, REQUIRE_BOUND_SIGNATURES="on") as world:
        key = await open_session(world, world.wallet(1))
        assert (await send_create(world, key)).status_code == 200


async def test_the_facts_list_writing_sessions_as_a_feature(town: World) -> None:
    facts = (await town.client.get("/.well-known/imprint.json")).json()
    assert "writing-sessions" in facts["features"]
