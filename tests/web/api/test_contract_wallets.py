"""Contract wallets over HTTP: they log in, write and read like any other wallet."""

import asyncio
import secrets

import pytest
from eth_abi.abi import encode
from tests.contract_wallets import (
    KINDS,
    ContractWallet,
    calldata,
    creation,
    deploy_on,
    deployment,
    new_owner,
    open_wallet,
    predict,
    send_to,
    wrap,
)
from tests.revisions import revise, send_revision, sign_revision
from tests.world import DEFAULT_PRICE, POST, World, problem

from imprint.auth.signatures import CURVE_ORDER
from imprint.devchain.blocks import Block
from imprint.devchain.calls import Request, sign_request
from imprint.domain.formats.addresses import keccak256

pytestmark = pytest.mark.asyncio(loop_scope="module")

INVALID = (401, "signature_invalid")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_contract_wallet_writes_and_reads(town: World, kind: str) -> None:
    wallet = open_wallet(town, kind)
    draft = await town.create(wallet, "First words.")
    assert draft["keyvalues"]["owner"] == wallet.address
    updated = await town.update(wallet, draft["cid"], "Better words.")
    await town.publish(wallet, updated["cid"], "essay")
    read = await town.read_draft(wallet, updated["cid"])
    assert read.json()["content"] == "Better words."
    assert (await town.send_delete(wallet, updated["cid"])).status_code == 200
    assert problem(await town.read_draft(wallet, updated["cid"])) == (404, "not_found")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_contract_wallet_gets_a_session_for_its_own_address(town: World, kind: str) -> None:
    wallet = open_wallet(town, kind)
    body = wallet.sign_login(wallet.login_message())
    response = await town.client.post("/auth/login", json=body)
    assert response.json()["address"] == wallet.address
    assert problem(await town.client.post("/auth/login", json=body)) == (409, "nonce_used")


def _execute(town: World, wallet: ContractWallet, call: bytes, value: int = 0) -> Block:
    """Make the owner call the marketplace through the wallet."""
    data = calldata("OwnedWallet", "execute", town.marketplace, value, call)
    owner = wallet.account.address.lower()
    request = Request(sender=owner, to=wallet.contract, data=data, value=0)
    return town.chain.submit(sign_request(town.chain, request))


def _give_money(town: World, receiver: str) -> None:
    request = Request(sender=town.chain.wallet.addresses[0], to=receiver, value=10**18)
    town.chain.submit(sign_request(town.chain, request))


def _funded_wallet(town: World, index: int) -> ContractWallet:
    owner = town.wallet(index).account
    contract = deploy_on(town.chain, creation("OwnedWallet", owner.address))
    _give_money(town, contract)
    return ContractWallet(owner, town.clock, contract)


async def _publish(town: World, author: ContractWallet) -> tuple[int, str]:
    """Publish through the wallet, and return the post's id and the cid of its document."""
    draft = await town.create(author, "Words for sale.")
    post = (draft["cid"], "A title", "bafkreithumbnail", "", DEFAULT_PRICE, [])
    create = keccak256(f"createPost({POST})".encode())[:4] + encode([POST], [post])
    (event,) = (await town.deliver_a(_execute(town, author, create))).json()["events"]
    assert event["status"] == "onchain"
    return int(event["postId"]), draft["cid"]


async def test_contract_wallets_publish_buy_and_read(town: World) -> None:
    author, reader = _funded_wallet(town, 4), _funded_wallet(town, 5)
    post_id, _ = await _publish(town, author)
    assert problem(await town.read_post(reader, post_id)) == (403, "not_entitled")
    buy = keccak256(b"subscribePost(uint256)")[:4] + encode(["uint256"], [post_id])
    _execute(town, reader, buy, DEFAULT_PRICE)
    for wallet in (author, reader):
        read = await town.read_post(wallet, post_id)
        assert read.json()["content"] == "Words for sale."
    owner = town.wallet(5)
    assert problem(await town.read_post(owner, post_id)) == (403, "not_entitled")


async def test_a_contract_wallet_corrects_its_post(town: World) -> None:
    author = _funded_wallet(town, 4)
    post = post_id, _ = await _publish(town, author)
    revision = await revise(town, author, post, "Better words.", nonce="once")
    assert revision["number"] == 1
    path, session = f"/posts/{post_id}/content", await town.login(author)
    read = (await town.client.get(path, params={"revision": 1}, headers=session)).json()
    assert (read["content"], read["proof"]["address"]) == ("Better words.", author.address)
    replayed = await send_revision(town, author, post, "Worse words.", nonce="once")
    assert problem(replayed) == (409, "nonce_used")
    # The account that owns the wallet is not the author, and a signature by another account is
    # not valid for the wallet.
    owner = await send_revision(town, town.wallet(4), post, "Worse words.")
    assert problem(owner) == (403, "not_author")
    body = sign_revision(town, town.wallet(5), post, "Worse words.") | {"address": author.address}
    forged = await town.client.post("/revise/post", params={"postId": post_id}, json=body)
    assert problem(forged) == INVALID
    newest = (await town.client.get(path, headers=session)).json()
    assert (newest["content"], newest["revision"]) == ("Better words.", 1)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_wallet_can_read_a_post_with_a_transferred_token(town: World, kind: str) -> None:
    author, buyer, wallet = town.wallet(1), town.wallet(2), open_wallet(town, kind)
    post_id, _ = await town.post(author)
    town.buy(buyer, post_id)
    session = await town.login(wallet)
    assert problem(await town.read_post(wallet, post_id, session)) == (403, "not_entitled")
    town.transfer(buyer, wallet, post_id)
    assert (await town.read_post(wallet, post_id, session)).status_code == 200


async def test_a_wallet_deployed_later_keeps_its_drafts(town: World) -> None:
    owner = new_owner()
    code = creation("OwnedWallet", owner.address)
    factory = deploy_on(town.chain, creation("WalletFactory"))
    contract, prepare = predict(factory, code), deployment(code)
    before = ContractWallet(owner, town.clock, contract, lambda each: wrap(factory, prepare, each))
    draft = await town.create(before)
    assert not town.chain.account(contract).code
    send_to(town.chain, factory, prepare)
    after = ContractWallet(owner, town.clock, contract)
    for wallet in (after, before):
        draft = await town.update(wallet, draft["cid"], secrets.token_hex(8))


async def test_the_new_owner_of_a_wallet_can_update_its_drafts(town: World) -> None:
    former, later = town.wallet(6).account, new_owner()
    contract = deploy_on(town.chain, creation("OwnedWallet", former.address))
    old = ContractWallet(former, town.clock, contract)
    new = ContractWallet(later, town.clock, contract)
    draft = await town.create(old)
    assert problem(await town.send_update(new, draft["cid"])) == INVALID
    handover = calldata("OwnedWallet", "setOwner", later.address)
    send_to(town.chain, contract, handover, sender=former.address.lower())
    assert problem(await town.send_update(old, draft["cid"])) == INVALID
    assert (await town.send_update(new, draft["cid"])).status_code == 200


async def test_one_of_two_concurrent_requests_with_the_same_signature_is_accepted(
    town: World,
) -> None:
    body = open_wallet(town).sign("create") | {"content": "Words."}
    responses = await asyncio.gather(
        *(town.client.post("/create/group", json=body) for _ in range(2))
    )
    assert sorted(each.status_code for each in responses) == [200, 409]


async def test_a_contract_wallet_can_write_large_documents(town: World) -> None:
    wallet, words = open_wallet(town, "counterfactual"), "Words. " * 300_000
    draft = await town.create(wallet, words)
    assert (await town.read_draft(wallet, draft["cid"])).json()["content"] == words


async def test_a_wallets_draft_does_not_belong_to_the_wallets_owner(town: World) -> None:
    wallet = _funded_wallet(town, 7)
    draft = await town.create(wallet)
    refused = await town.send_update(town.wallet(7), draft["cid"])
    assert problem(refused) == (403, "not_owner")


async def test_a_contract_wallet_may_accept_a_signature_with_a_high_s(town: World) -> None:
    wallet = open_wallet(town)
    body = wallet.sign("create") | {"content": "Words."}
    signature = bytes.fromhex(body["signature"][2:])
    high = CURVE_ORDER - int.from_bytes(signature[32:64])
    flipped = signature[:32] + high.to_bytes(32) + bytes([27 + 28 - signature[64]])
    body["signature"] = "0x" + flipped.hex()
    assert (await town.client.post("/create/group", json=body)).status_code == 200


async def test_a_key_signature_is_checked_without_the_chain(town: World) -> None:
    alice, asked = town.stranger(), town.node.asked
    await town.login(alice)
    draft = await town.create(alice)
    await town.update(alice, draft["cid"], "Other words.")
    assert town.node.asked == asked


async def test_a_contract_signature_takes_one_request_to_the_node(town: World) -> None:
    wallet, asked = open_wallet(town), town.node.asked
    await town.create(wallet)
    assert town.node.asked == asked + 1
