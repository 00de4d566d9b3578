"""Paid posts over HTTP: the offer (402), and reads with a proof of the holder's address."""

import asyncio
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from tests.contract_wallets import ContractWallet, creation, deploy_on, open_wallet
from tests.indexed import read_texts
from tests.payments import (
    PAYMENT,
    SIGN_IN,
    VARY,
    answer,
    encode_header,
    proof_headers,
    read_challenge,
    read_header,
    read_offer,
    sign_challenge,
)
from tests.web.api.test_logout import open_replica
from tests.web.conftest import EVERY_DATABASE
from tests.world import DEFAULT_PRICE, DOMAIN, ORIGIN, Wallet, World, open_world, problem

from imprint.devchain.blocks import Block
from imprint.domain.formats.addresses import keccak256
from imprint.domain.moderation import Ground, Measure, Target, TargetKind
from imprint.domain.posts.marketplace import SUBSCRIBE_POST
from imprint.services.access import payments
from imprint.services.moderation import CurrentMeasures, Moderation
from imprint.web.api.paywall import MAX_PROOF, MAX_TEMPLATE

pytestmark = [*EVERY_DATABASE, pytest.mark.asyncio(loop_scope="module")]

CANARY = "Only holders read these words."
ENDINGS = ("/content", ".md")
INVALID = (401, "signature_invalid")
MALFORMED = (400, "invalid_login_message")
ONE_TOKEN = b"0x" + b"0" * 63 + b"1"
UNKNOWN_TRANSACTION = "0x" + "12" * 32
LONG_HOST = ".".join(["a" * 60] * 4)


async def publish(world: World, wallet: int = 1, title: str = "A title", **given: Any) -> str:
    """Publish a paid post with an opening, and return its id."""
    content = given.get("content", f"Everybody reads this.\n\n<!--more-->\n\n{CANARY}")
    file = await world.create(world.wallet(wallet), content)
    price = given.get("price", DEFAULT_PRICE)
    entry = (file["cid"], title, "bafythumb", "About it", price, [])
    block = world.create_post_with(world.wallet(wallet), entry)
    (event,) = (await world.deliver_a(block)).json()["events"]
    if given.get("is_indexed", True):
        await world.index()
    return str(event["postId"])


async def held_post(world: World, reader: Wallet) -> str:
    """Publish a post, and let this reader buy it."""
    post_id = await publish(world)
    world.buy(reader, int(post_id))
    return post_id


# The offer


async def test_a_client_without_access_is_offered_a_paid_post(town: World) -> None:
    post_id = await publish(town, title="Ink & “paper”")
    response = await town.client.get(f"/posts/{post_id}/content")
    assert problem(response) == (402, "payment_required")
    offer = read_offer(response)
    uri, contract = f"{ORIGIN}/posts/{post_id}/content", town.marketplace.lower()
    extension = offer["extensions"]["sign-in-with-x"]
    info = extension["info"]
    data = "0x" + (SUBSCRIBE_POST + int(post_id).to_bytes(32)).hex()
    price = str(DEFAULT_PRICE)
    assert keccak256(b"subscribePost(uint256)")[:4] == SUBSCRIBE_POST
    assert offer == {
        "x402Version": 2,
        "error": "payment_required",
        "resource": {
            "url": uri,
            "mimeType": "application/json",
            "description": f"Post {post_id}: Ink & “paper”",
        },
        "accepts": [
            {
                "scheme": "imprint-subscribe",
                "network": "eip155:31337",
                "amount": price,
                "asset": "native",
                "payTo": contract,
                "maxTimeoutSeconds": 300,
                "extra": {
                    "paymentFlow": "upfront",
                    "assetTransferMethod": "contract-call",
                    "call": {
                        "to": contract,
                        "data": data,
                        "value": price,
                        "function": "subscribePost(uint256)",
                        "args": [post_id],
                    },
                    "beneficiary": town.wallet(1).address,
                    "receipt": {"standard": "erc6909", "contract": contract, "id": post_id},
                    "signIn": info,
                },
            }
        ],
        "extensions": {"sign-in-with-x": extension},
    }
    assert extension["supportedChains"] == [{"chainId": "eip155:31337", "type": "eip191"}]
    assert (info["domain"], info["uri"], info["version"]) == (DOMAIN, uri, "1")
    assert len(info["nonce"]) == 32


async def test_a_request_for_the_markdown_of_a_paid_post_gets_its_offer(town: World) -> None:
    post_id = await publish(town)
    await read_texts(town)
    response = await town.client.get(f"/posts/{post_id}.md")
    offer = read_offer(response)
    assert offer["resource"]["url"] == f"{ORIGIN}/posts/{post_id}.md"
    assert offer["resource"]["mimeType"] == "text/markdown"
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    for text in ("# A title", "Everybody reads this.", f"{DEFAULT_PRICE} wei", "subscribePost"):
        assert text in response.text
    assert CANARY not in response.text


async def test_an_offer_has_the_price_on_the_chain(town: World) -> None:
    post_id = await publish(town, price=0)
    town.set_price(town.wallet(1), int(post_id), 7)
    town.clock.advance(10)
    for ending in ENDINGS:
        response = await town.client.get(f"/posts/{post_id}{ending}")
        assert read_offer(response)["accepts"][0]["amount"] == "7"
    assert "Price: 0.000000000000000007 ETH (7 wei)" in response.text
    town.set_price(town.wallet(1), int(post_id), 0)
    town.clock.advance(10)
    for ending in ENDINGS:
        response = await town.client.get(f"/posts/{post_id}{ending}")
        assert response.status_code == 200
        assert CANARY in response.text


async def test_a_session_without_the_token_is_offered_the_post(town: World) -> None:
    reader = town.wallet(3)
    post_id, session = await publish(town), await town.login(reader)
    for ending in ENDINGS:
        path = f"/posts/{post_id}{ending}"
        read_offer(await town.client.get(path, headers=session))
        # A session takes precedence over a proof, even over a proof by the author.
        author = await answer(town.client, town.wallet(1), path)
        read_offer(await town.client.get(path, headers={**session, **author}))
        wrong = {"Authorization": "Bearer nonsense", **author}
        assert problem(await town.client.get(path, headers=wrong)) == (401, "session_invalid")
    town.buy(reader, int(post_id))
    for ending in ENDINGS:
        response = await town.client.get(f"/posts/{post_id}{ending}", headers=session)
        assert response.status_code == 200
        assert CANARY in response.text
        assert response.headers["cache-control"] == "private, no-store"


async def test_the_largest_offer_fits_into_the_header_buffers_of_a_proxy(town: World) -> None:
    post_id = await publish(town, title="\x01" * 100)
    response = await town.client.get(f"/posts/{post_id}/content")
    assert read_offer(response)["resource"]["description"] == f"Post {post_id}: " + "\x01" * 100


async def test_an_offer_that_would_be_too_long_has_no_title(tmp_path: Path) -> None:
    async with open_world(tmp_path, PUBLIC_URL=f"http://{LONG_HOST}") as world:
        post_id = await publish(world, title="\x01" * 100)
        offer = read_offer(await world.client.get(f"/posts/{post_id}/content"))
        assert "description" not in offer["resource"]
        post_id = await publish(world, title="Short")
        offer = read_offer(await world.client.get(f"/posts/{post_id}/content"))
        assert offer["resource"]["description"] == f"Post {post_id}: Short"


def template_length(offer: dict[str, Any]) -> int:
    """Return the number of bytes of an offer without its challenge, which it contains twice."""
    info = offer["extensions"]["sign-in-with-x"]["info"]
    challenge = sum(len(info[name]) for name in ("nonce", "issuedAt", "expirationTime"))
    return len(json.dumps(offer, separators=(",", ":"))) - 2 * challenge


@pytest.mark.parametrize(("excess", "is_titled"), [(0, True), (1, False)])
async def test_only_an_offer_above_the_maximum_length_has_no_title(
    tmp_path: Path, excess: int, is_titled: bool
) -> None:
    async with open_world(tmp_path, PUBLIC_URL=f"http://{LONG_HOST}") as world:
        path = f"/posts/{await publish(world, title='x')}/content"
        length = template_length(read_offer(await world.client.get(path)))
        # A control character takes six bytes in JSON.
        controls, letters = divmod(MAX_TEMPLATE + excess - length, 6)
        title = "x" + "\x01" * controls + "x" * letters
        path = f"/posts/{await publish(world, title=title)}/content"
        offer = read_offer(await world.client.get(path))
        assert ("description" in offer["resource"]) is is_titled
        assert not is_titled or template_length(offer) == MAX_TEMPLATE


async def test_an_offer_names_its_post_as_soon_as_the_index_has_it(town: World) -> None:
    post_id = await publish(town, is_indexed=False)
    path = f"/posts/{post_id}/content"
    offer = read_offer(await town.client.get(path))
    assert offer["resource"]["description"] == f"Post {post_id}"
    await town.index()
    offer = read_offer(await town.client.get(path))
    assert offer["resource"]["description"] == f"Post {post_id}: A title"


async def test_a_public_cache_may_store_the_text_of_a_free_post(town: World) -> None:
    post_id = await publish(town, price=0)
    response = await town.client.get(f"/posts/{post_id}/content")
    assert CANARY in response.text
    assert response.headers["cache-control"] == "public, max-age=5"
    assert response.headers["vary"].startswith(VARY)


async def test_the_older_read_endpoints_still_refuse_with_403(town: World) -> None:
    post_id, stranger = await publish(town), town.stranger()
    assert problem(await town.read_free(post_id)) == (403, "not_free")
    assert problem(await town.read_post(stranger, post_id)) == (403, "not_entitled")


async def test_a_head_request_is_offered_the_post_too(town: World) -> None:
    post_id = await publish(town)
    for ending in ENDINGS:
        response = await town.client.head(f"/posts/{post_id}{ending}")
        read_offer(response)
        assert response.content == b""


# What is not offered


async def _decide(world: World, measure: Measure, target: Target) -> None:
    stores, clock = world.adapters.stores, world.clock
    current = CurrentMeasures(stores.moderation, clock.monotonic)
    desk = Moderation(
        stores.moderation, stores.index_reader, stores.files, stores.revisions, current, clock
    )
    await desk.decide(target, measure, Ground.POLICY, "")
    clock.advance(5)


async def test_an_unlisted_post_is_not_offered(town: World) -> None:
    reader = town.wallet(2)
    post_id = await held_post(town, reader)
    await _decide(town, Measure.UNLISTED, Target(TargetKind.POST, post_id))
    session = await town.login(reader)
    assert problem(await town.client.get(f"/posts/{post_id}/content")) == (403, "not_free")
    response = await town.client.get(f"/posts/{post_id}.md")
    assert response.status_code == 200
    assert CANARY not in response.text
    assert response.headers["cache-control"] == "private, no-store"
    assert response.headers["vary"].startswith(VARY)
    for ending in ENDINGS:
        response = await town.client.get(f"/posts/{post_id}{ending}", headers=session)
        assert CANARY in response.text


async def test_a_withheld_post_is_neither_offered_nor_read(town: World) -> None:
    reader = town.wallet(2)
    post_id = await held_post(town, reader)
    headers = [await answer(town.client, reader, f"/posts/{post_id}{end}") for end in ENDINGS]
    await _decide(town, Measure.WITHHELD, Target(TargetKind.POST, post_id))
    for ending, proof in zip(ENDINGS, headers, strict=True):
        for given in ({}, proof):
            response = await town.client.get(f"/posts/{post_id}{ending}", headers=given)
            assert problem(response) == (410, "removed")


async def test_a_post_that_is_not_stored_here_is_not_offered(town: World) -> None:
    entry = (
        "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy",
        "T",
        "bafythumb",
        "",
        5,
        [],
    )
    town.create_post_with(town.wallet(1), entry)
    await town.index()
    who = town.wallet(1).address
    listed = await town.client.get(f"/posts?author={who}&hosted=any&limit=1")
    post_id = listed.json()["posts"][0]["id"]
    assert problem(await town.client.get(f"/posts/{post_id}/content")) == (404, "not_found")
    response = await town.client.get(f"/posts/{post_id}.md")
    assert response.status_code == 200
    assert "not sold here" in response.text


async def test_if_only_allowed_authors_are_shown_only_their_posts_are_offered(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path, SHOW="allowed") as world:
        post_id = await publish(world)
        assert problem(await world.client.get(f"/posts/{post_id}/content")) == (403, "not_free")
        author = Target(TargetKind.AUTHOR, world.wallet(1).address)
        await _decide(world, Measure.ALLOWED, author)
        read_offer(await world.client.get(f"/posts/{post_id}/content"))


async def test_an_unknown_post_is_not_offered(town: World) -> None:
    for ending in ENDINGS:
        response = await town.client.get(f"/posts/{2**255}{ending}")
        assert problem(response) == (404, "not_found")


# Proofs


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_proof_allows_one_read_of_a_post(town: World, ending: str) -> None:
    reader = town.wallet(2)
    post_id = await held_post(town, reader)
    path = f"/posts/{post_id}{ending}"
    headers = await answer(town.client, reader, path)
    response = await town.client.get(path, headers=headers)
    assert response.status_code == 200, response.text
    assert CANARY in response.text
    assert response.headers["cache-control"] == "private, no-store"
    assert response.headers["vary"].startswith(VARY)
    again = await town.client.get(path, headers=headers)
    assert problem(again) == (409, "nonce_used")
    assert again.json()["action"] == "read"


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_proof_is_spent_only_when_a_text_is_returned(town: World, ending: str) -> None:
    reader = town.wallet(3)
    post_id = await publish(town)
    path = f"/posts/{post_id}{ending}"
    headers = await answer(town.client, reader, path)
    for _ in range(2):
        read_offer(await town.client.get(path, headers=headers))
    town.buy(reader, int(post_id))
    tagged = {**headers, "If-None-Match": "*"}
    assert CANARY in (await town.client.get(path, headers=tagged)).text
    assert problem(await town.client.get(path, headers=tagged)) == (409, "nonce_used")


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_session_gets_304_for_a_text_that_has_not_changed(town: World, ending: str) -> None:
    alice = town.wallet(1)
    post_id, _ = await town.post(alice)
    await town.index()
    session = await town.login(alice)
    first = await town.client.get(f"/posts/{post_id}{ending}", headers=session)
    assert (first.status_code, first.headers["cache-control"]) == (200, "private, no-store")
    same = session | {"If-None-Match": first.headers["etag"]}
    again = await town.client.get(f"/posts/{post_id}{ending}", headers=same)
    assert (again.status_code, again.content) == (304, b"")
    without = {"If-None-Match": first.headers["etag"]}
    refused = await town.client.get(f"/posts/{post_id}{ending}", headers=without)
    assert refused.status_code == 402


async def test_the_author_can_read_with_a_proof(town: World) -> None:
    post_id = await publish(town)
    path = f"/posts/{post_id}/content"
    headers = await answer(town.client, town.wallet(1), path)
    assert CANARY in (await town.client.get(path, headers=headers)).text


async def test_a_given_revision_can_be_read_with_a_proof(town: World) -> None:
    reader = town.wallet(2)
    post_id = await held_post(town, reader)
    path = f"/posts/{post_id}/content"
    headers = await answer(town.client, reader, path)
    response = await town.client.get(f"{path}?revision=3", headers=headers)
    assert problem(response) == (404, "unknown_revision")
    response = await town.client.get(f"{path}?revision=0", headers=headers)
    assert response.json()["revision"] == 0


async def test_a_proof_allows_one_read_of_a_large_post(town: World) -> None:
    reader = town.wallet(2)
    post_id = await publish(town, content="long " * 100_000)
    town.buy(reader, int(post_id))
    for ending in ENDINGS:
        path = f"/posts/{post_id}{ending}"
        headers = await answer(town.client, reader, path)
        assert "long long" in (await town.client.get(path, headers=headers)).text
        assert problem(await town.client.get(path, headers=headers)) == (409, "nonce_used")


async def test_optional_fields_of_a_proof_may_be_left_out_or_added(town: World) -> None:
    reader = town.wallet(2)
    path = f"/posts/{await held_post(town, reader)}/content"
    for changes in (
        {"statement": None},
        {"expirationTime": None},
        {"resources": [f"{ORIGIN}{path}"], "requestId": "a-1"},
        {"resources": []},
    ):
        headers = await answer(town.client, reader, path, **changes)
        assert (await town.client.get(path, headers=headers)).status_code == 200, changes


async def test_a_proof_sent_to_two_replicas_allows_one_read(town: World) -> None:
    reader = town.wallet(2)
    path = f"/posts/{await held_post(town, reader)}/content"
    async with open_replica(town) as replica:
        for _ in range(5):
            headers = await answer(town.client, reader, path)
            clients = (town.client, replica, replica, town.client)
            reads = [each.get(path, headers=headers) for each in clients]
            responses = await asyncio.gather(*reads)
            statuses = sorted(response.status_code for response in responses)
            assert statuses == [200, 409, 409, 409]


async def test_a_signed_challenge_is_valid_on_any_replica_and_after_a_key_rotation(
    tmp_path: Path,
) -> None:
    old, new = "old " * 16, "new " * 16
    async with open_world(tmp_path / "a", JWT_SECRET=old) as world:
        reader = world.wallet(2)
        path = f"/posts/{await held_post(world, reader)}/content"
        headers = await answer(world.client, reader, path)
        async with open_replica(world) as replica:
            assert (await replica.get(path, headers=headers)).status_code == 200
        challenge = read_challenge(await world.client.get(path))
    given = {"JWT_SECRET": new, "JWT_SECRET_PREVIOUS": old}
    async with open_world(tmp_path / "b", clock=world.clock, **given) as world:
        await held_post(world, reader)
        headers = proof_headers(sign_challenge(reader, challenge))
        assert (await world.client.get(path, headers=headers)).status_code == 200
    async with open_world(tmp_path / "c", clock=world.clock, JWT_SECRET=new) as world:
        await held_post(world, reader)
        assert problem(await world.client.get(path, headers=headers)) == INVALID


async def test_a_contract_wallet_can_read_with_a_proof(town: World) -> None:
    owner = town.wallet(2)
    contract = deploy_on(town.chain, creation("OwnedWallet", owner.account.address))
    wallet = ContractWallet(owner.account, town.clock, contract)
    post_id = await held_post(town, owner)
    path = f"/posts/{post_id}/content"
    read_offer(await town.client.get(path, headers=await answer(town.client, wallet, path)))
    town.transfer(owner, wallet, int(post_id))
    town.clock.advance(10)
    headers = await answer(town.client, wallet, path)
    assert CANARY in (await town.client.get(path, headers=headers)).text
    assert problem(await town.client.get(path, headers=headers)) == (409, "nonce_used")
    other = ContractWallet(town.wallet(4).account, town.clock, contract)
    headers = await answer(town.client, other, path)
    assert problem(await town.client.get(path, headers=headers)) == INVALID


async def test_a_wallet_that_is_not_deployed_yet_can_prove_its_address(town: World) -> None:
    path = f"/posts/{await publish(town)}/content"
    wallet = open_wallet(town, "counterfactual")
    read_offer(await town.client.get(path, headers=await answer(town.client, wallet, path)))


# Refusals and attacks


async def test_a_proof_for_another_post_path_chain_or_host_is_refused(town: World) -> None:
    reader = town.wallet(2)
    first, second = await held_post(town, reader), await held_post(town, reader)
    path = f"/posts/{first}/content"
    challenge = read_challenge(await town.client.get(path))
    here = proof_headers(sign_challenge(reader, challenge))
    for other in (f"/posts/{second}/content", f"/posts/{first}.md"):
        assert problem(await town.client.get(other, headers=here)) == INVALID
        moved = proof_headers(sign_challenge(reader, challenge, uri=ORIGIN + other))
        assert problem(await town.client.get(other, headers=moved)) == INVALID
        assert problem(await town.client.get(path, headers=moved)) == INVALID
    for changes in (
        {"chainId": "eip155:1"},
        {"domain": "evil.example"},
        {"domain": f"{DOMAIN}:80"},
        {"uri": f"http://evil.example{path}"},
        {"uri": f"{ORIGIN}{path}?revision=0"},
        {"uri": f"{ORIGIN}{path}/"},
        {"uri": f"https://{DOMAIN}{path}"},
        {"nonce": "0" * 32},
        {"nonce": challenge["nonce"].upper() if challenge["nonce"].islower() else "0" * 32},
        {"nonce": challenge["nonce"] + "00"},
        {"nonce": "x" * 32},
        {"issuedAt": challenge["issuedAt"].replace("Z", ".000Z")},
        {"issuedAt": "2030-01-01T00:00:00Z"},
    ):
        proof = proof_headers(sign_challenge(reader, challenge, **changes))
        assert problem(await town.client.get(path, headers=proof)) == INVALID, changes
    assert (await town.client.get(path, headers=here)).status_code == 200


async def test_a_proof_of_another_wallet_is_refused(town: World) -> None:
    holder, thief = town.wallet(2), town.stranger()
    path = f"/posts/{await held_post(town, holder)}/content"
    challenge = read_challenge(await town.client.get(path))
    stolen = sign_challenge(thief, challenge) | {"address": holder.account.address}
    assert problem(await town.client.get(path, headers=proof_headers(stolen))) == INVALID
    spelled = sign_challenge(holder, challenge)
    spelled["statement"] = "Sign in to give everything away."
    assert problem(await town.client.get(path, headers=proof_headers(spelled))) == INVALID


async def test_a_proof_field_with_a_line_break_is_refused(town: World) -> None:
    holder = town.wallet(2)
    path = f"/posts/{await held_post(town, holder)}/content"
    challenge = read_challenge(await town.client.get(path))
    uri = challenge["uri"]
    inserted = f"Hello.\n\nURI: {uri}\nVersion: 1\nChain ID: 31337"
    for changes in (
        {"statement": inserted},
        {"statement": f"Hello.\n\nURI: {uri}"},
        {"requestId": f"a\nResources:\n- {uri}"},
        {"nonce": f"{challenge['nonce']}\nIssued At: 2030-01-01T00:00:00Z"},
        {"domain": f"{DOMAIN}\n"},
    ):
        proof = proof_headers(sign_challenge(holder, challenge, **changes))
        assert problem(await town.client.get(path, headers=proof)) == MALFORMED, changes


async def test_a_proof_expires_after_five_minutes(town: World) -> None:
    reader = town.wallet(2)
    path = f"/posts/{await held_post(town, reader)}/content"
    old, kept = [await answer(town.client, reader, path) for _ in range(2)]
    town.clock.advance(298)
    assert (await town.client.get(path, headers=kept)).status_code == 200
    town.clock.advance(3)
    for headers in (old, kept):
        response = await town.client.get(path, headers=headers)
        assert problem(response) == (401, "signature_stale")
    early = {"notBefore": "2100-01-01T00:00:00Z"}
    late = {"expirationTime": "2001-01-01T00:00:00Z"}
    for changes in (early, late):
        headers = await answer(town.client, reader, path, **changes)
        response = await town.client.get(path, headers=headers)
        assert problem(response) == (401, "signature_stale")


async def test_a_proof_is_not_a_login_and_a_login_is_not_a_proof(town: World) -> None:
    reader = town.wallet(2)
    post_id = await held_post(town, reader)
    for ending in ENDINGS:
        path = f"/posts/{post_id}{ending}"
        proof = sign_challenge(reader, read_challenge(await town.client.get(path)))
        for uri in (proof["uri"], f"{proof['uri']}?a", f"{proof['uri']}#a"):
            message = reader.login_message().replace(f"http://{DOMAIN}/", uri)
            response = await town.client.post("/auth/login", json=reader.sign_login(message))
            assert problem(response) == MALFORMED, uri
        own = {"nonce": "abcdefgh12345678", "uri": f"http://{DOMAIN}/"}
        login = sign_challenge(reader, proof, **own)
        assert problem(await town.client.get(path, headers=proof_headers(login))) == INVALID


HOSTILE_HEADERS = (
    "",
    "%",
    "a",
    "====",
    "e30=",
    "e30",
    encode_header([]),
    encode_header(None),
    encode_header("text"),
    encode_header({"domain": 1}),
    b64encode(b"{" * 3_000).decode(),
    b64encode(b'{"domain":' + b"[" * 3_000).decode(),
    b64encode(b'{"x":' * 800 + b"1" + b"}" * 800).decode(),
    b64encode(b"\xff\xfe{}").decode(),
    b64encode(b'{"domain":"\\ud800"}').decode(),
    "-_-_",
    "é",
)


@pytest.mark.parametrize("header", HOSTILE_HEADERS, ids=lambda header: header[:12])
@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_malformed_proof_is_refused(town: World, ending: str, header: str) -> None:
    post_id = await publish(town)
    response = await town.client.get(
        f"/posts/{post_id}{ending}", headers={SIGN_IN: header.encode("latin-1")}
    )
    assert problem(response) == MALFORMED


@pytest.mark.parametrize(
    "changes",
    [
        {"chainId": "eip155:"},
        {"chainId": "solana:mainnet"},
        {"chainId": "eip155:031337"},
        {"type": "ed25519"},
        {"version": "2"},
        {"issuedAt": "yesterday"},
        {"uri": "not a uri"},
        {"domain": ""},
        {"resources": ["no uri"]},
        {"statement": "Grüße"},
        {"statement": "\ud800"},
        {"nonce": ""},
    ],
)
async def test_a_malformed_proof_field_is_refused(town: World, changes: dict[str, Any]) -> None:
    reader, post_id = town.wallet(2), await publish(town)
    path = f"/posts/{post_id}/content"
    proof = sign_challenge(reader, read_challenge(await town.client.get(path)))
    response = await town.client.get(path, headers=proof_headers(proof | changes))
    assert problem(response) == MALFORMED
    wrong = proof_headers(proof | {"address": "0x" + "Ab" * 20})
    assert problem(await town.client.get(path, headers=wrong)) == (400, "invalid_address")


async def test_a_proof_of_20_kilobytes_and_a_second_proof_are_refused(town: World) -> None:
    reader, post_id = town.wallet(2), await publish(town)
    path = f"/posts/{post_id}/content"
    proof = sign_challenge(reader, read_challenge(await town.client.get(path)))
    long = proof_headers(proof | {"signature": "0x" + "00" * 8_000})
    assert len(long[SIGN_IN]) > 20_000
    twice = [(SIGN_IN, proof_headers(proof)[SIGN_IN])] * 2
    for headers in (long, twice):
        response = await town.client.get(path, headers=headers)
        assert problem(response) == (400, "invalid_request")


async def test_a_proof_of_the_maximum_length_is_accepted_and_a_longer_one_refused(
    town: World,
) -> None:
    reader = town.wallet(2)
    path = f"/posts/{await held_post(town, reader)}/content"
    proof = json.dumps(await prove(town, reader, path)).encode()
    longest = b64encode(proof.ljust(MAX_PROOF * 3 // 4)).decode()
    assert len(longest) == MAX_PROOF
    longer = await town.client.get(path, headers={SIGN_IN: longest + "="})
    assert problem(longer) == (400, "invalid_request")
    assert CANARY in (await town.client.get(path, headers={SIGN_IN: longest})).text


async def test_no_spelling_of_a_path_gives_the_text_to_a_client_without_access(town: World) -> None:
    post_id = await publish(town)
    spellings = (
        *("/posts/{}/content", "/posts/{}.md", "/posts/{}/content/", "/posts/{}.md/"),
        *("//posts/{}/content", "/posts//{}/content", "/posts/{}//content", "/posts/{}/./content"),
        *("/posts/{}%2Fcontent", "/posts/{}/%63ontent", "/posts/{}%2Emd", "/%70osts/{}/content"),
        *("/posts/{};a=1/content", "/posts/{}/content;a=1", "/posts/{}/content%00", "/posts/{}.MD"),
        *("/posts/0{}/content", "/posts/+{}/content", "/posts/%20{}/content", "/POSTS/{}/content"),
        *(
            "/posts/x/../{}/content",
            "/posts/{}/content%3Frevision=0",
            "/posts/{}/content?revision=0",
        ),
        *("/posts/{}%252Fcontent", "/posts/{}\\content", "/posts/{}/content%2F", "/posts/{}.md%20"),
        "http://imprint.test/posts/{}/content",
        "http://other.test/posts/{}.md",
    )
    for spelling in spellings:
        for headers in ({}, {"X-Original-URL": "/"}, {"X-Rewrite-URL": "/posts"}):
            response = await town.client.get(spelling.format(post_id), headers=headers)
            assert CANARY not in response.text, spelling
            assert response.status_code in (301, 307, 308, 400, 402, 404), spelling


# Purchases


def payment_headers(transaction: object, proof: object = None, **changes: Any) -> dict[str, str]:
    """Return the header in which an x402 client names its purchase."""
    chosen = {"scheme": "imprint-subscribe", "network": "eip155:31337", **changes}
    payload = {"transaction": transaction} | ({} if proof is None else {"signIn": proof})
    return {PAYMENT: encode_header({"x402Version": 2, "accepted": chosen, "payload": payload})}


def transaction_of(block: Block) -> str:
    assert block.receipt is not None
    return "0x" + block.receipt.transaction.hash.hex()


async def prove(world: World, wallet: Wallet, path: str) -> dict[str, Any]:
    return sign_challenge(wallet, read_challenge(await world.client.get(path)))


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_buyer_who_names_the_transaction_gets_the_text_and_a_confirmation(
    town: World, ending: str
) -> None:
    reader, post_id = town.wallet(2), await publish(town)
    path = f"/posts/{post_id}{ending}"
    proof = await prove(town, reader, path)
    bought = transaction_of(town.buy(reader, int(post_id)))
    response = await town.client.get(path, headers=payment_headers(bought, proof))
    assert response.status_code == 200, response.text
    assert CANARY in response.text
    assert read_header(response, "payment-response") == {
        "success": True,
        "transaction": bought,
        "network": "eip155:31337",
        "payer": reader.address,
        "amount": str(DEFAULT_PRICE),
    }
    again = await town.client.get(path, headers=payment_headers(bought, proof))
    assert problem(again) == (409, "nonce_used")
    session = await town.login(reader)
    response = await town.client.get(path, headers={**payment_headers(bought), **session})
    assert read_header(response, "payment-response")["transaction"] == bought


async def test_a_purchase_may_be_named_next_to_a_proof_in_its_own_header(town: World) -> None:
    reader, post_id = town.wallet(2), await publish(town)
    path = f"/posts/{post_id}/content"
    proof = await prove(town, reader, path)
    bought = transaction_of(town.buy(reader, int(post_id)))
    headers = {**payment_headers(bought), **proof_headers(proof)}
    response = await town.client.get(path, headers=headers)
    assert CANARY in response.text
    assert read_header(response, "payment-response")["transaction"] == bought


async def test_a_holder_who_names_an_unknown_transaction_gets_the_text_without_a_confirmation(
    town: World,
) -> None:
    reader = town.wallet(2)
    path = f"/posts/{await held_post(town, reader)}/content"
    proof = await prove(town, reader, path)
    response = await town.client.get(path, headers=payment_headers(UNKNOWN_TRANSACTION, proof))
    assert CANARY in response.text
    assert "payment-response" not in response.headers


async def test_a_read_that_names_no_transaction_looks_for_no_purchase(tmp_path: Path) -> None:
    async with open_world(tmp_path, CHAIN_CACHE_SECONDS="5") as world:
        reader = world.wallet(2)
        path = f"/posts/{await held_post(world, reader)}/content"
        session = await world.login(reader)
        assert CANARY in (await world.client.get(path, headers=session)).text
        asked = world.node.asked
        assert CANARY in (await world.client.get(path, headers=session)).text
        assert world.node.asked == asked


async def test_a_transaction_without_a_proof_is_ignored_immediately(town: World) -> None:
    reader, post_id = town.wallet(2), await publish(town)
    path = f"/posts/{post_id}/content"
    bought = transaction_of(town.buy(reader, int(post_id)))
    for transaction in (bought, UNKNOWN_TRANSACTION):
        asked = town.node.asked
        response = await town.client.get(path, headers=payment_headers(transaction))
        assert read_offer(response)["error"] == "payment_required"
        assert town.node.asked <= asked + 1


async def test_an_unrelated_transaction_grants_no_access(town: World) -> None:
    buyer, thief, post_id = town.wallet(2), town.wallet(4), await publish(town)
    other = await publish(town)
    path = f"/posts/{post_id}/content"
    foreign = transaction_of(town.buy(buyer, int(post_id)))
    elsewhere = transaction_of(town.buy(thief, int(other)))
    price = transaction_of(town.set_price(town.wallet(1), int(post_id), 8))
    for transaction in (foreign, elsewhere, price):
        proof = await prove(town, thief, path)
        response = await town.client.get(path, headers=payment_headers(transaction, proof))
        offer = read_offer(response)
        assert (offer["error"], offer["accepts"][0]["amount"]) == ("payment_required", "8")
        assert "retry-after" not in response.headers
    # A holder who names an unrelated transaction can read, but no purchase is confirmed.
    proof = await prove(town, buyer, path)
    response = await town.client.get(path, headers=payment_headers(elsewhere, proof))
    assert response.status_code == 200
    assert "payment-response" not in response.headers


async def test_a_read_waits_for_a_pending_purchase(
    town: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payments, "WAIT_SECONDS", 0.2)
    monkeypatch.setattr(payments, "POLL_SECONDS", 0.01)
    reader, post_id = town.wallet(2), await publish(town)
    path = f"/posts/{post_id}/content"
    proof = await prove(town, reader, path)
    response = await town.client.get(path, headers=payment_headers(UNKNOWN_TRANSACTION, proof))
    assert read_offer(response)["error"] == "transaction_pending"
    assert response.headers["retry-after"] == "2"
    assert problem(response) == (402, "payment_required")
    monkeypatch.setattr(payments, "WAIT_SECONDS", 60)
    bought = transaction_of(town.buy(reader, int(post_id)))
    asked = town.node.asked

    def hide(said: bytes) -> bytes:
        """Hide the transaction and the token for a while."""
        if town.node.asked > asked + 4:
            town.node.lie = None
        results = json.loads(said)
        if len(results) == 2:
            results[1]["result"] = None
            return json.dumps(results).encode()
        return said.replace(ONE_TOKEN, b"0x" + b"0" * 64)

    town.node.lie = hide
    response = await town.client.get(path, headers=payment_headers(bought, proof))
    assert CANARY in response.text
    assert town.node.lie is None
    assert read_header(response, "payment-response")["transaction"] == bought


MALFORMED_PAYMENTS = ("", "%", "e30=", encode_header([]), encode_header({"accepted": {}}))


@pytest.mark.parametrize("given", MALFORMED_PAYMENTS)
async def test_a_malformed_payment_is_refused(town: World, given: str) -> None:
    post_id = await publish(town)
    for headers in (
        {PAYMENT: given},
        {PAYMENT: "a" * 20_000},
        payment_headers("0x12"),
        payment_headers(7),
        payment_headers(UNKNOWN_TRANSACTION, {"domain": 1}),
    ):
        for ending in ENDINGS:
            response = await town.client.get(f"/posts/{post_id}{ending}", headers=headers)
            assert problem(response) == (400, "invalid_request")


async def test_a_payment_with_a_character_outside_of_base64_is_refused(town: World) -> None:
    post_id = await publish(town)
    (given,) = payment_headers(UNKNOWN_TRANSACTION).values()
    headers = {PAYMENT: f"{given[:8]}!{given[8:]}"}
    response = await town.client.get(f"/posts/{post_id}/content", headers=headers)
    assert problem(response) == (400, "invalid_request")


async def test_a_payment_of_another_scheme_or_chain_is_ignored(town: World) -> None:
    post_id = await publish(town)
    for changes in ({"scheme": "exact"}, {"network": "eip155:1"}):
        headers = payment_headers(UNKNOWN_TRANSACTION, **changes)
        read_offer(await town.client.get(f"/posts/{post_id}/content", headers=headers))


async def test_a_purchase_cannot_be_confirmed_while_the_chain_is_down(tmp_path: Path) -> None:
    async with open_world(tmp_path, CHAIN_CACHE_SECONDS="5") as world:
        reader = world.wallet(2)
        post_id = await publish(world)
        path = f"/posts/{post_id}/content"
        bought = transaction_of(world.buy(reader, int(post_id)))
        proofs = [await prove(world, reader, path) for _ in range(2)]
        stranger = await prove(world, world.stranger(), path)
        response = await world.client.get(path, headers=proof_headers(proofs[0]))
        assert response.status_code == 200
        world.node.fault = lambda said: b""
        response = await world.client.get(path, headers=payment_headers(bought, proofs[1]))
        assert CANARY in response.text
        assert "payment-response" not in response.headers
        response = await world.client.get(path, headers=payment_headers(bought, stranger))
        assert problem(response) == (503, "chain_unavailable")


# Limits and outages


async def test_proofs_and_logins_of_one_address_have_separate_rate_limits(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_LOGINS="2/60") as world:
        reader = world.wallet(2)
        path = f"/posts/{await held_post(world, reader)}/content"
        for _ in range(2):
            headers = await answer(world.client, reader, path)
            assert (await world.client.get(path, headers=headers)).status_code == 200
        headers = await answer(world.client, reader, path)
        assert problem(await world.client.get(path, headers=headers)) == (429, "rate_limited")
        await world.login(reader)


async def test_proofs_from_one_client_are_limited_like_logins(tmp_path: Path) -> None:
    limits = {"RATE_LIMITS": "on", "RATE_SIGNED": "3/60"}
    async with open_world(tmp_path, **limits) as world:
        for _ in range(3):
            response = await world.client.get("/posts/1/content", headers={SIGN_IN: "x"})
            assert problem(response) == MALFORMED
        response = await world.client.get("/posts/1/content", headers={SIGN_IN: "x"})
        assert problem(response) == (429, "rate_limited")
        assert problem(await world.client.get("/posts/1/content")) == (404, "not_found")


async def test_while_the_chain_is_down_neither_an_offer_nor_a_text_is_returned(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path, CHAIN_CACHE_SECONDS="5") as world:
        reader, stranger = world.wallet(2), world.stranger()
        post_id = await held_post(world, reader)
        proofs = {}
        for ending in ENDINGS:
            path = f"/posts/{post_id}{ending}"
            for who in (reader, stranger):
                proofs[path, who.address] = await answer(world.client, who, path)
        world.clock.advance(10)
        known = await answer(world.client, reader, path)
        assert (await world.client.get(path, headers=known)).status_code == 200
        world.node.fault = lambda said: b""
        world.clock.advance(2)
        for (path, address), headers in proofs.items():
            response = await world.client.get(path, headers=headers)
            if address == reader.address:
                # The cache knows that this reader holds the token.
                assert CANARY in response.text
            else:
                assert problem(response) == (503, "chain_unavailable")
        for ending in ENDINGS:
            response = await world.client.get(f"/posts/{post_id}{ending}")
            assert problem(response) == (503, "chain_unavailable")


async def test_a_contract_wallet_cannot_prove_its_address_while_the_chain_is_down(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path) as world:
        owner = world.wallet(2)
        contract = deploy_on(world.chain, creation("OwnedWallet", owner.account.address))
        wallet = ContractWallet(owner.account, world.clock, contract)
        path = f"/posts/{await publish(world)}/content"
        headers = await answer(world.client, wallet, path)
        world.node.fault = lambda said: b""
        response = await world.client.get(path, headers=headers)
        assert problem(response) == (503, "chain_unavailable")


async def test_the_facts_list_payment_required_only_if_posts_are_indexed(
    town: World, tmp_path: Path
) -> None:
    facts = (await town.client.get("/.well-known/imprint.json")).json()
    assert "payment-required" in facts["features"]
    async with open_world(tmp_path, CHAIN_FOLLOW_SECONDS="0") as world:
        facts = (await world.client.get("/.well-known/imprint.json")).json()
        assert "payment-required" not in facts["features"]


async def test_pages_of_allowed_origins_can_use_the_payment_headers(tmp_path: Path) -> None:
    origin = "https://front.example"
    async with open_world(tmp_path, CORS_ORIGINS=origin) as world:
        preflight = await world.client.options(
            "/posts/1/content",
            headers={
                "Origin": origin,
                "Access-Control-Request-Method": "GET",
                "Access-Control-Request-Headers": "access-control-expose-headers,"
                "payment-signature,sign-in-with-x",
            },
        )
        assert preflight.status_code == 200
        post_id = await publish(world)
        path = f"/posts/{post_id}/content"
        response = await world.client.get(path, headers={"Origin": origin})
        exposed = response.headers["access-control-expose-headers"]
        assert {"PAYMENT-REQUIRED", "PAYMENT-RESPONSE"} <= set(exposed.split(", "))
        assert json.loads(response.content)["code"] == "payment_required"
