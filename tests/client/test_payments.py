"""Paying for a post: one call pays and reads, and nothing is signed or paid for a hostile offer."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.client.test_imprint_scenario import development_key

from imprint.client import (
    Call,
    Code,
    Imprint,
    InvalidOffer,
    KeyWallet,
    Node,
    Refusal,
    Reverted,
    Seller,
    TooExpensive,
    balance_of,
    change_price_call,
    create_post_call,
    created_post_id,
    wait_for_receipt,
)
from imprint.client.payments import LimitedBuyer, Offer, check_offer, find_entry
from imprint.client.transport import Response
from imprint.domain.formats.addresses import keccak256
from imprint.interface.problems import Problem

PRICE = 10**15
TEXT = "# Paid\n\nWords for sale."
SELLER = Seller("https://press.example", 31337, "0x5FbDB2315678afecb367f032d93F642f64180aa3")


class WatchedWallet(KeyWallet):
    """A wallet that counts its signatures and transactions."""

    def __init__(self, key: bytes, node: Any) -> None:
        super().__init__(key, node)
        self.messages: list[str] = []
        self.calls: list[Call] = []

    async def sign_message(self, message: str) -> str:
        self.messages.append(message)
        return await super().sign_message(message)

    async def send_transaction(self, call: Call) -> str:
        self.calls.append(call)
        return await super().send_transaction(call)


class SlowNode:
    """A node that receives transactions only when the test releases them."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.held: list[str] = []
        self.sent = asyncio.Event()

    async def request(self, method: str, *params: object) -> Any:
        if method != "eth_sendRawTransaction":
            return await self.node.request(method, *params)
        self.held.append(str(params[0]))
        self.sent.set()
        return f"0x{keccak256(bytes.fromhex(str(params[0])[2:])).hex()}"

    async def release(self) -> None:
        while self.held:
            await self.node.request("eth_sendRawTransaction", self.held.pop(0))


async def make_post(imprint: Imprint, *, price: int = PRICE) -> str:
    node = imprint.node()
    author = KeyWallet(development_key(1), node)
    draft = await imprint.create_draft(author, TEXT)
    call = create_post_call(
        imprint.marketplace, cid=draft.cid, title="Paid", thumbnail_cid=draft.cid, price=price
    )
    receipt = await wait_for_receipt(node, await author.send_transaction(call))
    await imprint.wait_for_post(draft.cid)
    post_id = created_post_id(receipt, imprint.marketplace)
    assert post_id is not None
    return post_id


def open_wallet(imprint: Imprint, index: int = 2, node: Any = None) -> WatchedWallet:
    return WatchedWallet(development_key(index), node or imprint.node())


async def test_one_call_pays_and_reads_and_a_second_call_only_reads(imprint: Imprint) -> None:
    post_id, wallet = await make_post(imprint), open_wallet(imprint)
    with pytest.raises(Refusal) as raised:
        await imprint.read(post_id, wallet=wallet)
    assert raised.value.code == Code.PAYMENT_REQUIRED
    with pytest.raises(TooExpensive):
        await imprint.read(post_id, wallet=wallet, pay=True, max=PRICE - 1)
    with pytest.raises(ValueError, match="max"):
        await imprint.read(post_id, wallet=wallet, pay=True)
    assert wallet.calls == []

    read = await imprint.read(post_id, wallet=wallet, pay=True, max=PRICE)
    assert read.content == TEXT
    assert (await imprint.read(post_id, wallet=wallet)).content == TEXT
    assert (await imprint.read(post_id, wallet=wallet, pay=True, max=0)).content == TEXT
    assert [(call.value, call.chain_id) for call in wallet.calls] == [(PRICE, 31337)]
    assert imprint.session is None


async def test_a_free_post_is_read_without_a_signature(imprint: Imprint) -> None:
    post_id, wallet = await make_post(imprint, price=0), open_wallet(imprint)
    assert (await imprint.read(post_id, wallet=wallet, pay=True, max=0)).content == TEXT
    assert (await imprint.read(post_id)).content == TEXT
    assert (wallet.messages, wallet.calls) == ([], [])


async def test_a_read_that_ended_while_its_purchase_was_pending_is_continued(
    imprint: Imprint,
) -> None:
    post_id, node = await make_post(imprint), SlowNode(imprint.node())
    wallet = open_wallet(imprint, 3, node)
    reading = asyncio.create_task(imprint.read(post_id, wallet=wallet, pay=True, max=PRICE))
    await node.sent.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await node.release()
    assert (await imprint.read(post_id, wallet=wallet, pay=True, max=PRICE)).content == TEXT
    assert len(wallet.calls) == 1


async def test_concurrent_reads_share_one_purchase(imprint: Imprint) -> None:
    post_id, wallet = await make_post(imprint), open_wallet(imprint)
    reads = [imprint.read(post_id, wallet=wallet, pay=True, max=PRICE) for _ in range(3)]
    assert {read.content for read in await asyncio.gather(*reads)} == {TEXT}
    assert len(wallet.calls) == 1


class GreedyService(Imprint):
    """A client whose service offers the post again and again, whatever the client sends."""

    requests = 0

    async def _request(self, method: str, path: str, **given: Any) -> Response:
        self.requests += 1
        if self.requests % 5 == 0:
            raise TimeoutError
        return await super()._request(method, path, **{**given, "headers": {}})


async def test_a_client_that_is_asked_to_pay_again_does_not_pay_twice(imprint: Imprint) -> None:
    post_id, wallet = await make_post(imprint), open_wallet(imprint)
    greedy = GreedyService(imprint.url, imprint.facts, http=imprint.http)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await greedy.read(post_id, wallet=wallet, pay=True, max=PRICE)
    assert len(wallet.calls) == 1
    assert await balance_of(imprint.node(), imprint.marketplace, wallet.address, post_id) == 1


async def test_a_reverted_purchase_releases_its_reserved_price_and_can_be_repeated(
    imprint: Imprint,
) -> None:
    post_id, node = await make_post(imprint), SlowNode(imprint.node())
    wallet, author = open_wallet(imprint, 4, node), KeyWallet(development_key(1), imprint.node())
    seller = Seller(imprint.url, imprint.facts.chain.id, imprint.marketplace)
    buyer = LimitedBuyer(seller, wallet, node, 2 * PRICE)

    async def offered() -> Any:
        response = await imprint._request("GET", f"/posts/{post_id}/content", expected=(402,))
        return check_offer(find_entry(response.headers["PAYMENT-REQUIRED"]), seller, post_id)

    offer = await offered()
    sent = await buyer.buy(offer)
    assert sent is not None
    assert buyer.left == PRICE
    raised = change_price_call(imprint.marketplace, post_id, PRICE + 1)
    await wait_for_receipt(imprint.node(), await author.send_transaction(raised))
    await node.release()
    with pytest.raises(Reverted):
        await buyer.confirm(offer, sent, 60)
    assert buyer.left == 2 * PRICE
    again = await buyer.buy(await offered())
    assert again not in (None, sent)
    assert buyer.left == PRICE - 1


def offered_entry() -> dict[str, Any]:
    contract = SELLER.marketplace.lower()
    return {
        "scheme": "imprint-subscribe",
        "network": "eip155:31337",
        "amount": "1000",
        "asset": "native",
        "payTo": contract,
        "maxTimeoutSeconds": 300,
        "extra": {
            "paymentFlow": "upfront",
            "assetTransferMethod": "contract-call",
            "call": {
                "to": contract,
                "data": f"0xdf58067d{7:064x}",
                "value": "1000",
                "function": "subscribePost(uint256)",
                "args": ["7"],
            },
            "beneficiary": "0x" + "11" * 20,
            "receipt": {"standard": "erc6909", "contract": contract, "id": "7"},
            "signIn": {
                "domain": "press.example",
                "uri": "https://press.example/posts/7/content",
                "version": "1",
                "nonce": "0123456789abcdef0123456789abcdef",
                "issuedAt": "2026-11-18T10:00:00Z",
                "expirationTime": "2026-11-18T10:05:00Z",
                "statement": "Sign in to read post 7.",
            },
        },
    }


def test_an_offer_of_the_seller_is_accepted() -> None:
    offer = check_offer(json.dumps(offered_entry()).encode(), SELLER, "7")
    assert (offer.post_id, offer.price) == ("7", 1000)


class PromptingWallet:
    """A wallet that sends or refuses a transaction only once its owner has decided."""

    address = "0x" + "11" * 20

    def __init__(self) -> None:
        self.prompted = asyncio.Event()
        self.answer: asyncio.Future[str] = asyncio.Future()

    async def send_transaction(self, call: Call) -> str:
        self.prompted.set()
        return await asyncio.shield(self.answer)

    def sign_message(self, message: str) -> str:
        raise NotImplementedError

    def sign_typed_data(self, data: object) -> str:
        raise NotImplementedError


class RevertingNode:
    """A node that reports no token holders and reverts every transaction."""

    async def request(self, method: str, *params: object) -> Any:
        if method == "eth_call":
            return f"0x{0:064x}"
        return {"status": "0x0", "blockNumber": "0x1", "logs": []}


def offer_at(price: int) -> Offer:
    entry = offered_entry()
    entry["amount"] = entry["extra"]["call"]["value"] = str(price)
    return check_offer(json.dumps(entry).encode(), SELLER, "7")


async def test_a_purchase_refused_after_its_read_ended_releases_its_reserved_price() -> None:
    wallet = PromptingWallet()
    buyer = LimitedBuyer(SELLER, wallet, RevertingNode(), 1000)
    buying = asyncio.create_task(buyer.buy(offer_at(1000)))
    await wallet.prompted.wait()
    buying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await buying
    wallet.answer.set_exception(ValueError("The owner refused."))
    (sending,) = buyer.purchases.values()
    await asyncio.wait([sending])
    assert (buyer.left, buyer.purchases) == (1000, {})


async def test_only_the_buyer_that_reserved_a_price_gets_it_back() -> None:
    wallet = PromptingWallet()
    first = LimitedBuyer(SELLER, wallet, RevertingNode(), 1000)
    second = LimitedBuyer(SELLER, wallet, RevertingNode(), 1000, first.purchases)
    ended, waiting = [asyncio.create_task(each.buy(offer_at(1000))) for each in (first, second)]
    await wallet.prompted.wait()
    ended.cancel()
    wallet.answer.set_exception(ValueError("The owner refused."))
    with pytest.raises(ValueError, match="refused"):
        await waiting
    assert (first.left, second.left) == (1000, 1000)


async def test_a_reverted_purchase_releases_the_reserved_price_not_a_later_one() -> None:
    wallet = PromptingWallet()
    wallet.answer.set_result("0x01")
    buyer = LimitedBuyer(SELLER, wallet, RevertingNode(), 1000)
    await buyer.buy(offer_at(1))
    later = offer_at(10**18)
    assert await buyer.buy(later) == "0x01"
    with pytest.raises(Reverted):
        await buyer.confirm(later, "0x01", None)
    assert buyer.left == 1000


class SlowSale(Imprint):
    """A client whose purchase takes so long that its first proof is too old for the service."""

    offers: list[str]
    """The issue times of the offers, in order."""

    @property
    def _seller(self) -> Seller:
        return SELLER

    async def _request(self, method: str, path: str, **given: Any) -> Any:
        if len(self.offers) < 2 and given["headers"]:
            if self.offers:
                code = Code.SIGNATURE_STALE
                raise Refusal(Problem("about:blank", "", 401, "Stale.", code, error="Stale."))
            return SimpleNamespace(status=200, decode=lambda kind: TEXT)
        entry, issued = offered_entry(), self.offers.pop(0)
        entry["extra"]["signIn"] |= {"issuedAt": issued, "expirationTime": "2026-11-18T10:05:00Z"}
        offered = b64encode(json.dumps({"accepts": [entry]}).encode()).decode()
        return Response(402, {"PAYMENT-REQUIRED": offered}, b"")


class HoldersNode:
    """A node that reports every account as a token holder."""

    async def request(self, method: str, *params: object) -> Any:
        return f"0x{1:064x}"


@pytest.mark.parametrize(
    ("third", "signatures"), [("2026-11-18T10:05:00Z", 2), ("2026-11-18T09:59:59Z", 1)]
)
async def test_a_read_signs_a_new_proof_after_the_first_one_has_expired(
    imprint: Imprint, third: str, signatures: int
) -> None:
    client = SlowSale(imprint.url, imprint.facts, http=imprint.http)
    client.offers = ["2026-11-18T10:00:00Z", "2026-11-18T10:00:00Z", third]
    wallet, node = open_wallet(imprint), HoldersNode()
    reading = client.read("7", wallet=wallet, pay=True, max=1000, node=node)
    if signatures == 1:
        with pytest.raises(Refusal, match="Stale"):
            await reading
    else:
        assert cast(str, await reading) == TEXT
        assert f"Issued At: {third}" in wallet.messages[-1]
    assert len(wallet.messages) == signatures


OTHER = "0x000000000000000000000000000000000000dead"


def change(*path: str, to: object) -> Callable[[dict[str, Any]], None]:
    def apply(entry: dict[str, Any]) -> None:
        *outer, last = path
        for name in outer:
            entry = entry[name]
        entry[last] = to

    return apply


@pytest.mark.parametrize(
    "apply",
    [
        pytest.param(change("payTo", to=OTHER), id="receiver"),
        pytest.param(change("extra", "call", "to", to=OTHER), id="contract"),
        pytest.param(change("extra", "call", "data", to=f"0xa9059cbb{7:064x}"), id="function"),
        pytest.param(change("extra", "call", "data", to=f"0xdf58067d{8:064x}"), id="argument"),
        pytest.param(change("extra", "call", "args", to=["8"]), id="post"),
        pytest.param(change("extra", "call", "args", to=[]), id="no-post"),
        pytest.param(change("extra", "call", "args", to=["٧"]), id="digits"),
        pytest.param(change("extra", "call", "value", to="1001"), id="value"),
        pytest.param(change("amount", to="-1000"), id="negative"),
        pytest.param(change("amount", to=1000), id="number"),
        pytest.param(change("network", to="eip155:1"), id="chain"),
        pytest.param(change("asset", to=OTHER), id="asset"),
        pytest.param(change("scheme", to="exact"), id="scheme"),
        pytest.param(change("extra", "paymentFlow", to="escrow"), id="flow"),
        pytest.param(change("extra", to=None), id="no-terms"),
        pytest.param(change("extra", "signIn", "uri", to="https://press.example"), id="login"),
        pytest.param(
            change("extra", "signIn", "uri", to="https://press.example/posts/8/content"),
            id="proof-of-another-post",
        ),
        pytest.param(
            change("extra", "signIn", "uri", to="https://bank.example/posts/7/content"),
            id="proof-for-another-service",
        ),
        pytest.param(change("extra", "signIn", "domain", to="bank.example"), id="domain"),
        pytest.param(change("extra", "signIn", "statement", to="a\n\nURI: b"), id="statement"),
        pytest.param(change("extra", "signIn", "nonce", to="0123456789\nResources:"), id="nonce"),
        pytest.param(change("extra", "signIn", "issuedAt", to="2026-11-18T10:00:00Z\n"), id="time"),
        pytest.param(change("extra", "signIn", "issuedAt", to="2026-99-18T10:00:00Z"), id="date"),
        pytest.param(change("extra", "signIn", "version", to="2"), id="version"),
    ],
)
def test_an_offer_that_was_tampered_with_is_refused(
    apply: Callable[[dict[str, Any]], None],
) -> None:
    entry = offered_entry()
    apply(entry)
    with pytest.raises(InvalidOffer):
        check_offer(json.dumps(entry).encode(), SELLER, "7")


@pytest.mark.parametrize("header", [None, "", "nonsense", "e30=", "eyJhY2NlcHRzIjpbXX0="])
def test_a_header_without_an_offer_is_refused(header: str | None) -> None:
    with pytest.raises(InvalidOffer):
        find_entry(header)


async def test_a_tampered_offer_is_neither_signed_nor_paid(
    imprint: Imprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    post_id, wallet = await make_post(imprint), open_wallet(imprint)
    monkeypatch.setattr(Imprint, "marketplace", OTHER)
    with pytest.raises(InvalidOffer, match="marketplace"):
        await imprint.read(post_id, wallet=wallet, pay=True, max=PRICE)
    assert (wallet.messages, wallet.calls) == ([], [])


async def test_the_signed_message_is_the_one_in_the_offer(imprint: Imprint) -> None:
    post_id, wallet = await make_post(imprint), open_wallet(imprint)
    await imprint.read(post_id, wallet=wallet, pay=True, max=PRICE)
    (message,) = wallet.messages
    assert message.splitlines()[0].startswith(imprint.url.removeprefix("http://"))
    assert f"URI: {imprint.url}/posts/{post_id}/content" in message.splitlines()
