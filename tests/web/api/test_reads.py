"""Reads over HTTP: only owners can read drafts, and only entitled readers can read posts."""

from typing import Any

import pytest
from tests.world import World, open_world, problem, respell

pytestmark = pytest.mark.asyncio(loop_scope="module")

READ_RECORD = {
    "id",
    "name",
    "cid",
    "size",
    "created_at",
    "group_id",
    "keyvalues",
    "hashtags",
    "thumbnail_cid",
    "post_id",
    "published_at",
    "tx_hash",
}


async def test_the_owner_can_read_a_draft_with_its_record(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice, "Mine.")
    response = await town.read_draft(alice, file["cid"])
    assert response.status_code == 200
    assert response.json().keys() == {"content", "file"}
    assert response.json()["content"] == "Mine."
    record = response.json()["file"]
    assert record.keys() == READ_RECORD
    assert {name: record[name] for name in file} == file
    assert record["hashtags"] == []
    for unknown in ("thumbnail_cid", "post_id", "published_at", "tx_hash"):
        assert record[unknown] is None


async def test_reading_a_post_returns_its_publication(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice, "Sold.")
    thumbnail = await town.publish(alice, file["cid"], "essays")
    block = town.create_post(alice, file["cid"])
    (event,) = (await town.deliver_a(block)).json()["events"]
    response = await town.read_post(alice, event["postId"])
    record = response.json()["file"]
    assert record.keys() == READ_RECORD
    assert record["keyvalues"] == {
        "owner": alice.address,
        "status": "onchain",
        "publishedAt": record["published_at"],
        "essays": "essays",
    }
    assert record["hashtags"] == ["essays"]
    assert record["thumbnail_cid"] == thumbnail
    assert record["post_id"] == event["postId"]
    assert record["published_at"] is not None
    assert block.receipt is not None
    assert record["tx_hash"] == "0x" + block.receipt.transaction.hash.hex()
    for kept in ("id", "name", "cid", "size", "created_at", "group_id"):
        assert record[kept] == file[kept]


async def test_reading_another_owners_draft_is_refused(town: World) -> None:
    alice, eve = town.stranger(), town.stranger()
    file = await town.create(alice)
    assert problem(await town.read_draft(eve, file["cid"])) == (403, "not_owner")


async def test_a_post_is_not_served_by_its_cid(town: World) -> None:
    alice = town.wallet(1)
    _, file = await town.post(alice)
    assert problem(await town.read_draft(alice, file["cid"])) == (404, "not_found")


async def test_an_unknown_cid_is_not_found(town: World) -> None:
    unknown = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
    assert problem(await town.read_draft(town.stranger(), unknown)) == (404, "not_found")


async def test_a_draft_can_be_read_by_any_spelling_of_its_cid(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice, "Mine.")
    response = await town.read_draft(alice, respell(file["cid"]))
    assert response.json()["content"] == "Mine."
    assert response.headers["etag"] == f'"{file["cid"]}"'


@pytest.mark.parametrize("cid", ["", "x", "../x", "b" * 10_000, "a\0", "http://127.0.0.1/"])
async def test_an_invalid_cid_is_refused(town: World, cid: str) -> None:
    assert problem(await town.read_draft(town.stranger(), cid)) == (400, "invalid_cid")


async def test_the_author_can_read_a_post_without_a_token(town: World) -> None:
    alice = town.wallet(1)
    post_id, _ = await town.post(alice, "Mine.")
    assert (await town.read_post(alice, post_id)).json()["content"] == "Mine."


async def test_a_reader_without_a_token_is_refused(town: World) -> None:
    post_id, _ = await town.post(town.wallet(1))
    response = await town.read_post(town.stranger(), post_id)
    assert problem(response) == (403, "not_entitled")
    assert "Words" not in response.text


async def test_a_buyer_can_read_immediately(town: World) -> None:
    alice, bob = town.wallet(1), town.wallet(2)
    post_id, _ = await town.post(alice, "Sold.")
    assert problem(await town.read_post(bob, post_id)) == (403, "not_entitled")
    town.buy(bob, post_id)
    assert (await town.read_post(bob, post_id)).json()["content"] == "Sold."


async def test_a_token_for_one_post_does_not_grant_access_to_another(town: World) -> None:
    alice, bob = town.wallet(1), town.wallet(2)
    bought, _ = await town.post(alice)
    other, _ = await town.post(alice)
    town.buy(bob, bought)
    assert (await town.read_post(bob, bought)).status_code == 200
    assert problem(await town.read_post(bob, other)) == (403, "not_entitled")


async def test_a_holder_who_transfers_the_token_loses_access(town: World) -> None:
    alice, bob, carol = town.wallet(1), town.wallet(2), town.wallet(3)
    post_id, _ = await town.post(alice)
    town.buy(bob, post_id)
    assert (await town.read_post(bob, post_id)).status_code == 200
    town.transfer(bob, carol, post_id)
    town.clock.advance(town.settings.chain.cache_seconds)
    assert problem(await town.read_post(bob, post_id)) == (403, "not_entitled")
    assert (await town.read_post(carol, post_id)).status_code == 200


async def test_any_session_can_read_a_free_post(town: World) -> None:
    post_id, _ = await town.post(town.wallet(1), "Gift.", price=0)
    assert (await town.read_post(town.stranger(), post_id)).json()["content"] == "Gift."
    response = await town.client.get(
        "/fileByPostId", params={"user": town.stranger().address, "postId": str(post_id)}
    )
    assert problem(response) == (401, "session_missing")


async def test_a_free_post_can_be_read_without_a_session(town: World) -> None:
    post_id, file = await town.post(town.wallet(1), "Gift.", price=0)
    response = await town.read_free(post_id)
    assert response.json()["content"] == "Gift."
    assert response.json()["file"]["cid"] == file["cid"]
    assert response.headers["etag"] == f'"{file["cid"]}"'
    assert "no-store" not in response.headers["cache-control"]


async def test_a_post_with_a_price_cannot_be_read_for_free(town: World) -> None:
    alice, bob = town.wallet(1), town.wallet(2)
    post_id, _ = await town.post(alice, price=1)
    town.buy(bob, post_id, price=1)
    response = await town.client.get(
        "/freeFileByPostId", params={"postId": str(post_id)}, headers=await town.login(bob)
    )
    assert problem(response) == (403, "not_free")


async def test_a_post_that_is_no_longer_free_is_refused(town: World) -> None:
    alice = town.wallet(1)
    post_id, _ = await town.post(alice, price=0)
    assert (await town.read_free(post_id)).status_code == 200
    town.set_price(alice, post_id, 5)
    town.clock.advance(town.settings.chain.cache_seconds)
    assert problem(await town.read_free(post_id)) == (403, "not_free")
    assert problem(await town.read_post(town.stranger(), post_id)) == (403, "not_entitled")


async def test_a_post_that_becomes_free_is_served_within_a_second(town: World) -> None:
    alice = town.wallet(1)
    post_id, _ = await town.post(alice)
    assert problem(await town.read_free(post_id)) == (403, "not_free")
    town.set_price(alice, post_id, 0)
    assert (await town.read_post(town.stranger(), post_id)).status_code == 200
    town.clock.advance(1)
    assert (await town.read_free(post_id)).status_code == 200


async def test_a_flood_of_requests_for_a_paid_post_queries_the_node_once(town: World) -> None:
    post_id, _ = await town.post(town.wallet(1))
    town.clock.advance(1)
    asked = town.node.asked
    for _ in range(100):
        assert problem(await town.read_free(post_id)) == (403, "not_free")
    assert town.node.asked == asked + 1


@pytest.mark.parametrize("user", ["author", "holder", "stranger"])
async def test_a_user_other_than_the_session_holder_is_refused_without_a_chain_call(
    town: World, user: str
) -> None:
    alice, bob, eve = town.wallet(1), town.wallet(2), town.stranger()
    post_id, _ = await town.post(alice)
    town.buy(bob, post_id)
    named = {"author": alice, "holder": bob, "stranger": town.stranger()}[user]
    asked = town.node.asked
    response = await town.read_post(named, post_id, session=await town.login(eve))
    assert problem(response) == (403, "subject_mismatch")
    assert town.node.asked == asked


async def test_the_user_parameter_is_compared_case_insensitively(town: World) -> None:
    alice = town.wallet(1)
    post_id, _ = await town.post(alice)
    params = {"user": alice.account.address, "postId": str(post_id)}
    response = await town.client.get(
        "/fileByPostId", params=params, headers=await town.login(alice)
    )
    assert response.status_code == 200


@pytest.mark.parametrize("user", ["", "alice", "0x12", "0X" + "0" * 40])
async def test_a_user_parameter_that_is_not_an_address_is_refused(town: World, user: str) -> None:
    alice = town.stranger()
    params = {"user": user, "postId": "1"}
    response = await town.client.get(
        "/fileByPostId", params=params, headers=await town.login(alice)
    )
    assert problem(response) == (400, "invalid_address")


def _missing_post(which: str, world: World) -> int:
    next_id = 1 + sum(
        len(block.receipt.logs)
        for number in range(world.chain.head.number + 1)
        if (block := world.chain.block(number)) is not None
        and block.receipt is not None
        and block.receipt.logs
        and block.receipt.logs[0].topics[0].hex().startswith("f753f630")
    )
    return {"zero": 0, "next": next_id, "highest": 2**256 - 1}[which]


@pytest.mark.parametrize("which", ["zero", "next", "highest"])
async def test_a_nonexistent_post_is_not_found_and_never_free(town: World, which: str) -> None:
    await town.post(town.wallet(1), price=0)
    post_id = _missing_post(which, town)
    assert problem(await town.read_free(post_id)) == (404, "not_found")
    assert problem(await town.read_post(town.stranger(), post_id)) == (404, "not_found")


BAD_POST_IDS = ["", "1_0", "٣", " 1", "01", "-0", "-1", "+1", "1.0", "0x1", "1e3", "１"]
BAD_POST_IDS += [str(2**256), "9" * 5000, "1\n", "1\0", "one"]


@pytest.mark.parametrize("post_id", BAD_POST_IDS, ids=range(len(BAD_POST_IDS)))
async def test_an_invalid_post_id_is_refused(town: World, post_id: str) -> None:
    assert problem(await town.read_free(post_id)) == (400, "invalid_post_id")
    assert problem(await town.read_post(town.stranger(), post_id)) == (400, "invalid_post_id")


async def test_the_post_id_parameter_is_required_exactly_once(town: World) -> None:
    for query in ("", "?postId=1&postId=2"):
        response = await town.client.get(f"/freeFileByPostId{query}")
        assert problem(response) == (400, "invalid_post_id")


@pytest.mark.parametrize("price", [0, 10])
async def test_publishing_another_accounts_draft_does_not_unlock_it(
    town: World, price: int
) -> None:
    alice, eve = town.wallet(1), town.wallet(4)
    file = await town.create(alice, "Secret draft.")
    (event,) = (await town.deliver_a(town.create_post(eve, file["cid"], price))).json()["events"]
    assert event["status"] == "author_mismatch"
    for response in (
        await town.read_free(event["postId"]),
        await town.read_post(eve, event["postId"]),
        await town.read_post(alice, event["postId"]),
    ):
        assert problem(response) == (404, "not_found")
    assert (await town.metadata(file["cid"]))["keyvalues"]["status"] == "pending"
    assert (await town.read_draft(alice, file["cid"])).json()["content"] == "Secret draft."


SPELLINGS = {"hexadecimal": respell, "upper case": str.upper, "HEX": lambda c: respell(c).upper()}


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS.keys())
async def test_publishing_a_respelled_cid_for_free_does_not_unlock_the_original(
    town: World, spell: Any
) -> None:
    alice, eve = town.wallet(1), town.wallet(4)
    post_id, file = await town.post(alice, "Sold dearly.")
    (event,) = (await town.deliver_a(town.create_post(eve, spell(file["cid"]), 0))).json()["events"]
    assert event["status"] == "author_mismatch"
    assert problem(await town.read_free(event["postId"])) == (404, "not_found")
    assert problem(await town.read_post(eve, event["postId"])) == (404, "not_found")
    assert problem(await town.read_post(eve, post_id)) == (403, "not_entitled")


async def test_a_second_post_of_the_same_file_does_not_change_its_post_id(town: World) -> None:
    alice = town.wallet(1)
    post_id, file = await town.post(alice, "Once.")
    block = town.create_post(alice, respell(file["cid"]), 0)
    (event,) = (await town.deliver_a(block)).json()["events"]
    assert event["status"] == "already_onchain"
    assert problem(await town.read_free(event["postId"])) == (404, "not_found")
    assert (await town.metadata(file["cid"]))["post_id"] == str(post_id)


async def test_an_author_may_publish_another_spelling_of_the_cid(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice, "Respelled.")
    block = town.create_post(alice, respell(file["cid"]), 0)
    (event,) = (await town.deliver_a(block)).json()["events"]
    assert event["status"] == "onchain"
    assert (await town.read_free(event["postId"])).json()["content"] == "Respelled."


async def test_a_post_whose_event_never_arrived_is_not_served(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    town.create_post(alice, file["cid"], 0)
    assert problem(await town.read_free(_missing_post("next", town) - 1)) == (404, "not_found")


async def test_a_post_whose_id_has_another_cid_on_the_chain_is_not_served(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async with open_world(tmp_path_factory.mktemp("reorganized")) as world:
        alice, eve = world.wallet(1), world.wallet(4)
        before = world.chain.snapshot()
        post_id, _ = await world.post(alice, "Mine.", price=0)
        assert (await world.read_free(post_id)).status_code == 200
        world.chain.restore(before)
        theirs = await world.create(eve, "Theirs.")
        world.create_post(eve, theirs["cid"], 0)
        world.clock.advance(world.settings.chain.cache_seconds)
        assert problem(await world.read_free(post_id)) == (404, "not_found")
        assert problem(await world.read_post(alice, post_id)) == (404, "not_found")


async def test_an_account_that_gains_a_post_id_by_reorg_cannot_unlock_the_text(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async with open_world(tmp_path_factory.mktemp("reorganized")) as world:
        alice, eve = world.wallet(1), world.wallet(4)
        before = world.chain.snapshot()
        post_id, file = await world.post(alice, "Sold dearly.")
        world.chain.restore(before)
        # The new post has the same id and the same cid, but its price is zero.
        world.create_post(eve, file["cid"], 0)
        world.clock.advance(world.settings.chain.cache_seconds)
        assert problem(await world.read_free(post_id)) == (404, "not_found")
        assert problem(await world.read_post(eve, post_id)) == (404, "not_found")


async def test_protected_content_is_never_cached(town: World) -> None:
    alice = town.wallet(1)
    post_id, _ = await town.post(alice)
    draft = await town.create(alice)
    for response in (
        await town.read_post(alice, post_id),
        await town.read_draft(alice, draft["cid"]),
    ):
        assert response.headers["cache-control"] == "no-store"


async def test_content_is_served_as_json_that_browsers_do_not_execute(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice, "<script>alert(1)</script>")
    response = await town.read_draft(alice, file["cid"])
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in response.headers["content-security-policy"]


@pytest.mark.parametrize("form", ['"{cid}"', 'W/"{cid}"', '"other", "{cid}"', "*"])
async def test_a_matching_if_none_match_gets_304(town: World, form: str) -> None:
    alice = town.wallet(1)
    post_id, post = await town.post(alice, price=0)
    draft = await town.create(alice)
    session = await town.login(alice)
    for path, params, cid in (
        ("/fileByCid", {"cid": draft["cid"]}, draft["cid"]),
        ("/fileByPostId", {"user": alice.address, "postId": str(post_id)}, post["cid"]),
        ("/freeFileByPostId", {"postId": str(post_id)}, post["cid"]),
    ):
        headers = session | {"If-None-Match": form.format(cid=cid)}
        response = await town.client.get(path, params=params, headers=headers)
        assert (response.status_code, response.content) == (304, b"")
        assert response.headers["etag"] == f'"{cid}"'


async def test_a_different_if_none_match_gets_the_content(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    headers = await town.login(alice) | {"If-None-Match": '"other"'}
    response = await town.client.get("/fileByCid", params={"cid": file["cid"]}, headers=headers)
    assert response.status_code == 200


async def test_a_reader_without_access_never_gets_304(town: World) -> None:
    alice, eve = town.wallet(1), town.stranger()
    post_id, post = await town.post(alice)
    headers = await town.login(eve) | {"If-None-Match": f'"{post["cid"]}"'}
    assert problem(await town.read_post(eve, post_id, headers)) == (403, "not_entitled")
    response = await town.client.get(
        "/freeFileByPostId", params={"postId": str(post_id)}, headers=headers
    )
    assert problem(response) == (403, "not_free")


async def test_the_gateway_serves_no_private_document(town: World) -> None:
    alice = town.wallet(1)
    draft = await town.create(alice)
    _, paid = await town.post(alice)
    for file in (draft, paid):
        for spelling in (file["cid"], respell(file["cid"])):
            assert problem(await town.client.get(f"/ipfs/{spelling}")) == (404, "not_found")


async def test_a_cid_named_as_thumbnail_only_on_the_chain_is_not_served(town: World) -> None:
    alice, eve = town.wallet(1), town.wallet(4)
    draft = await town.create(alice)
    post = (draft["cid"], "A title", draft["cid"], "", 0, [])
    await town.deliver_a(town.create_post_with(eve, post))
    assert problem(await town.client.get(f"/ipfs/{draft['cid']}")) == (404, "not_found")


@pytest.mark.parametrize("cid", ["x", "...", "%2e%2e%2e", "..%2f..%2fetc", "b" * 5000, "%00"])
async def test_the_gateway_accepts_only_cids(town: World, cid: str) -> None:
    response = await town.client.get(f"/ipfs/{cid}")
    assert problem(response) in ((400, "invalid_cid"), (404, "not_found"))


async def test_a_head_request_has_the_same_headers_without_a_body(town: World) -> None:
    alice = town.wallet(1)
    post_id, post = await town.post(alice, price=0)
    response = await town.client.head("/freeFileByPostId", params={"postId": str(post_id)})
    assert response.status_code == 200
    assert response.headers["etag"] == f'"{post["cid"]}"'


async def test_a_range_header_for_content_is_ignored(town: World) -> None:
    post_id, _ = await town.post(town.wallet(1), "All of it.", price=0)
    params = {"postId": str(post_id)}
    headers = {"Range": "bytes=0-1,2-3,4-5"}
    response = await town.client.get("/freeFileByPostId", params=params, headers=headers)
    assert response.status_code == 200
    assert response.json()["content"] == "All of it."


@pytest.mark.parametrize("cached", [True, False])
async def test_a_grant_is_cached_briefly(town: World, cached: bool) -> None:
    alice, bob = town.wallet(1), town.wallet(5)
    post_id, _ = await town.post(alice)
    town.buy(bob, post_id)
    session = await town.login(bob)
    assert (await town.read_post(bob, post_id, session)).status_code == 200
    asked = town.node.asked
    kept = town.settings.chain.cache_seconds
    town.clock.advance(kept - 1 if cached else kept)
    assert (await town.read_post(bob, post_id, session)).status_code == 200
    assert (town.node.asked == asked) is cached


async def test_a_denial_is_never_cached(town: World) -> None:
    post_id, _ = await town.post(town.wallet(1))
    bob = town.stranger()
    session = await town.login(bob)
    for _ in range(2):
        asked = town.node.asked
        assert problem(await town.read_post(bob, post_id, session)) == (403, "not_entitled")
        assert town.node.asked > asked
