"""Attacks on paid posts: misused proofs, misleading purchases, and unusual text requests."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contract_wallets import ContractWallet, creation, deploy_on
from tests.payments import PAYMENT, SIGN_IN, answer, proof_headers, read_offer
from tests.server.connections import Place, read_all, serving
from tests.web.api.test_logout import open_replica
from tests.web.api.test_paywall import (
    CANARY,
    ENDINGS,
    INVALID,
    ONE_TOKEN,
    held_post,
    payment_headers,
    prove,
    publish,
    transaction_of,
)
from tests.web.conftest import EVERY_DATABASE
from tests.world import DOMAIN, ORIGIN, World, open_world, problem

from imprint.adapters.chain.json_rpc import MAX_LAG_BLOCKS
from imprint.devchain.calls import Request, sign_request
from imprint.domain.posts.marketplace import SUBSCRIBE_POST
from imprint.services.access import payments

pytestmark = [*EVERY_DATABASE, pytest.mark.asyncio(loop_scope="module")]

REFUSED = frozenset({400, 402, 404, 405, 308})
"""Statuses of responses without a text."""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reads wait for a purchase only briefly."""
    monkeypatch.setattr(payments, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(payments, "POLL_SECONDS", 0.01)


def hide_token_once(world: World) -> Callable[[bytes], bytes]:
    """Return a fault: the first time that a balance is queried, the node reports no token."""

    def hide(said: bytes) -> bytes:
        if ONE_TOKEN in said:
            world.node.lie = None
        return said.replace(ONE_TOKEN, b"0x" + b"0" * 64)

    return hide


# Transactions


async def test_a_holder_who_received_the_token_as_a_gift_is_not_asked_to_pay(
    town: World,
) -> None:
    giver, reader = town.wallet(2), town.wallet(5)
    post_id = await held_post(town, giver)
    path = f"/posts/{post_id}/content"
    gift = transaction_of(town.transfer(giver, reader, int(post_id)))
    proof = await prove(town, reader, path)
    town.node.lie = hide_token_once(town)
    response = await town.client.get(path, headers=payment_headers(gift, proof))
    assert town.node.lie is None
    assert CANARY in response.text
    assert "payment-response" not in response.headers


async def test_the_purchase_of_a_token_that_was_given_away_does_not_stay_pending(
    town: World,
) -> None:
    seller, post_id = town.wallet(5), await publish(town)
    path = f"/posts/{post_id}/content"
    bought = transaction_of(town.buy(seller, int(post_id)))
    town.transfer(seller, town.wallet(6), int(post_id))
    for error in ("transaction_pending", "payment_required"):
        proof = await prove(town, seller, path)
        response = await town.client.get(path, headers=payment_headers(bought, proof))
        assert read_offer(response)["error"] == error
        for _ in range(MAX_LAG_BLOCKS):
            town.chain.mine()


async def test_a_reverted_purchase_grants_no_access(town: World) -> None:
    reader, post_id = town.wallet(5), await publish(town)
    path = f"/posts/{post_id}/content"
    call, contract = SUBSCRIBE_POST + int(post_id).to_bytes(32), town.marketplace.lower()
    cheap = Request(sender=reader.address, to=contract, data=call, value=1, gas=200_000)
    block = town.chain.submit(sign_request(town.chain, cheap))
    assert block.receipt is not None
    assert not block.receipt.success
    proof = await prove(town, reader, path)
    response = await town.client.get(path, headers=payment_headers(transaction_of(block), proof))
    assert read_offer(response)["error"] == "payment_required"


@pytest.mark.usefixtures("impatient")
async def test_a_purchase_that_a_reorg_removes_is_pending_again(town: World) -> None:
    reader, post_id = town.wallet(5), await publish(town)
    path = f"/posts/{post_id}/content"
    proof = await prove(town, reader, path)
    before = town.chain.snapshot()
    bought = transaction_of(town.buy(reader, int(post_id)))
    assert town.chain.restore(before)
    response = await town.client.get(path, headers=payment_headers(bought, proof))
    assert read_offer(response)["error"] == "transaction_pending"
    assert transaction_of(town.buy(reader, int(post_id))) == bought
    response = await town.client.get(path, headers=payment_headers(bought, proof))
    assert CANARY in response.text


@pytest.mark.usefixtures("impatient")
async def test_a_flood_of_invented_purchases_does_not_delay_a_holder(town: World) -> None:
    reader, thief = town.wallet(2), town.stranger()
    path = f"/posts/{await held_post(town, reader)}/content"
    held = await prove(town, reader, path)
    proof = await prove(town, thief, path)
    invented = [payment_headers(f"0x{number:064x}", proof) for number in range(1, 41)]
    flood = [asyncio.create_task(town.client.get(path, headers=each)) for each in invented]
    response = await town.client.get(path, headers=proof_headers(held))
    assert CANARY in response.text
    for each in await asyncio.gather(*flood):
        assert read_offer(each)["error"] == "transaction_pending"


async def test_waiting_reads_leave_most_request_slots_free_even_if_there_are_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payments, "WAIT_SECONDS", 30)
    limits = {"MAX_CONCURRENT_REQUESTS": "16", "RATE_LIMITS": "on"}
    async with open_world(tmp_path, **limits) as world:
        path = f"/posts/{await publish(world)}/content"
        proof = await prove(world, world.stranger(), path)
        waiting = {
            asyncio.create_task(world.client.get(path, headers=payment_headers(each, proof)))
            for each in ("0x" + digit * 64 for digit in "1234")
        }
        async with asyncio.timeout(20):
            while len(waiting) > 1:
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        (last,) = waiting
        last.cancel()
        await asyncio.gather(last, return_exceptions=True)


# Proofs


@pytest.mark.parametrize("ending", ENDINGS)
async def test_the_proof_in_a_payment_allows_one_read_on_all_replicas(
    town: World, ending: str
) -> None:
    reader, post_id = town.wallet(2), await publish(town)
    path = f"/posts/{post_id}{ending}"
    proof = await prove(town, reader, path)
    bought = transaction_of(town.buy(reader, int(post_id)))
    both = (payment_headers(bought, proof), proof_headers(proof))
    async with open_replica(town) as replica:
        reads = [each.get(path, headers=one) for each in (town.client, replica) for one in both]
        responses = await asyncio.gather(*reads)
    assert sorted(each.status_code for each in responses) == [200, 409, 409, 409]
    assert sum(CANARY in each.text for each in responses) == 1


async def test_a_head_request_spends_the_proof(town: World) -> None:
    reader = town.wallet(2)
    post_id = await held_post(town, reader)
    for ending in ENDINGS:
        path = f"/posts/{post_id}{ending}"
        headers = await answer(town.client, reader, path)
        response = await town.client.head(path, headers=headers)
        assert (response.status_code, response.content) == (200, b"")
        assert problem(await town.client.get(path, headers=headers)) == (409, "nonce_used")


async def test_a_signature_for_one_wallet_is_not_valid_for_the_owners_other_wallet(
    town: World,
) -> None:
    owner = town.wallet(2)
    first, second = (
        ContractWallet(
            owner.account,
            town.clock,
            deploy_on(town.chain, creation("OwnedWallet", owner.account.address)),
        )
        for _ in range(2)
    )
    post_id = await held_post(town, owner)
    town.transfer(owner, second, int(post_id))
    path = f"/posts/{post_id}/content"
    proof = await prove(town, first, path)
    moved = proof | {"address": second.sign_login("")["address"]}
    assert problem(await town.client.get(path, headers=proof_headers(moved))) == INVALID
    own = proof_headers(await prove(town, second, path))
    assert CANARY in (await town.client.get(path, headers=own)).text


async def test_a_proof_is_bound_to_the_configured_host_and_not_to_the_header(town: World) -> None:
    reader = town.wallet(2)
    path = f"/posts/{await held_post(town, reader)}/content"
    elsewhere = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    offer = read_offer(await town.client.get(path, headers=elsewhere))
    info = offer["extensions"]["sign-in-with-x"]["info"]
    assert (info["domain"], info["uri"]) == (DOMAIN, ORIGIN + path)
    changes = {"domain": "evil.example", "uri": f"http://evil.example{path}"}
    moved = await answer(town.client, reader, path, **changes)
    response = await town.client.get(path, headers={**moved, **elsewhere})
    assert problem(response) == INVALID


# Requests for the text


async def test_conditional_and_range_requests_give_no_text_without_access(town: World) -> None:
    holder = town.wallet(2)
    post_id = await held_post(town, holder)
    session = await town.login(holder)
    text = await town.client.get(f"/posts/{post_id}/content", headers=session)
    tag = text.headers["etag"]
    thief = await town.login(town.stranger())
    for ending in ENDINGS:
        for condition in (
            {"If-None-Match": tag},
            {"If-None-Match": "*"},
            {"If-None-Match": f"W/{tag}"},
            {"Range": "bytes=0-"},
            {"Range": "bytes=-64"},
            {"Range": "bytes=0-9", "If-Range": tag},
            {"Accept": "text/html"},
        ):
            for identity in ({}, thief):
                headers = {**condition, **identity}
                response = await town.client.get(f"/posts/{post_id}{ending}", headers=headers)
                assert response.status_code == 402, condition
                assert CANARY not in response.text
                assert "etag" not in response.headers


TARGETS = (
    *("/posts/{}/content", "/posts/{}.md", "/posts/{}/content/", "/posts/{}.md/"),
    *("//posts/{}/content", "/posts//{}/content", "///posts/{}.md", "/./posts/{}/content"),
    *("/posts/{}%2Fcontent", "/posts%2F{}%2Fcontent", "/posts/{}/content%2f", "/posts/{}%2emd"),
    *("/posts/{};/content", "/posts/{}/content;jsessionid=1", "/posts/{}.md;a", "/;/posts/{}.md"),
    *("/posts/{}/content?", "/posts/{}/content?revision=0", "/posts/{}.md?a=1", "/posts/{}.md#a"),
    *("/posts/x/../{}/content", "/posts/{}/%2e%2e/{}/content", "/posts/{}\\content", "posts/{}.md"),
    *("http://imprint.test/posts/{}/content", "http://imprint.test/posts/{}.md"),
    *("http://other.test/posts/{}/content", "HTTPS://imprint.test//posts/{}.md"),
    *("http://imprint.test/posts/{}%2Fcontent", "*", "imprint.test:80", "/posts/{}.md%00"),
)
"""Request targets that a proxy and the service might understand differently."""


async def send_raw(place: Place, head: str) -> bytes:
    """Send the head of one request exactly as given, and return the whole response."""
    reader, writer = await place.connect()
    writer.write(f"{head}\r\nHost: imprint.test\r\nConnection: close\r\n\r\n".encode("latin-1"))
    try:
        return await read_all(reader)
    finally:
        writer.close()


async def test_no_request_target_gives_the_text_to_a_client_without_access(town: World) -> None:
    post_id = await publish(town)
    async with serving(town.app) as place:
        for target in TARGETS:
            for method in ("GET", "HEAD", "POST", "get"):
                line = f"{method} {target.format(post_id, post_id)} HTTP/1.1"
                response = await send_raw(place, line)
                assert CANARY.encode() not in response, line
                assert int(response.split(b" ", 2)[1]) in REFUSED, line


async def test_headers_of_20_kilobytes_are_refused_by_the_server(town: World) -> None:
    post_id = await publish(town)
    async with serving(town.app) as place:
        for name in (SIGN_IN, PAYMENT):
            head = f"GET /posts/{post_id}/content HTTP/1.1\r\n{name}: {'a' * 20_480}"
            assert (await send_raw(place, head)).startswith(b"HTTP/1.1 400 ")
