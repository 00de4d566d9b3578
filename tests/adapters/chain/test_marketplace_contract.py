"""The marketplace over JSON-RPC, tested with the shipped contract on the development chain."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from eth_abi.abi import encode
from tests.adapters.chain.conftest import fixed_clock

from imprint.adapters.chain.block_calls import BlockCalls
from imprint.adapters.chain.json_rpc import ChainMisconfigured, JsonRpc
from imprint.adapters.chain.marketplace import JsonRpcMarketplace
from imprint.adapters.webhooks.provider_a import ProviderA
from imprint.adapters.webhooks.provider_b import ProviderB
from imprint.devchain.blocks import Block
from imprint.devchain.calls import Request, sign_request
from imprint.devchain.chain import Chain
from imprint.devchain.deployment import deploy_adapter, deploy_marketplace
from imprint.devchain.rpc import Dispatcher
from imprint.devchain.webhooks import build_body_a, build_body_b, sign_body_a, sign_body_b
from imprint.domain.formats.addresses import Address, keccak256
from imprint.domain.formats.cids import Cid

CID = Cid("bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e")
OTHER = Cid("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku")
NEW_POST = "(string,string,string,string,uint256,string[])"
SECRET = "a secret of the development chain's"
NOW = datetime.fromtimestamp(1_760_000_000, UTC)


@dataclass
class DeployedMarketplace:
    """A development chain with the marketplace, and a client that reads it."""

    chain: Chain
    address: Address
    rpc: JsonRpc
    market: JsonRpcMarketplace

    def person(self, number: int) -> Address:
        return Address(self.chain.wallet.addresses[number].lower())

    def call(self, sender: int, signature: str, arguments: bytes, value: int = 0) -> Block:
        data = keccak256(signature.encode())[:4] + arguments
        request = Request(self.person(sender), self.address, data, value)
        return self.chain.submit(sign_request(self.chain, request))

    def publish(self, cid: str = CID, price: int = 5) -> Block:
        post = (cid, "On ink", "thumb", "", price, ["ink"])
        return self.call(1, f"createPost({NEW_POST})", encode([NEW_POST], [post]))


def lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


@pytest.fixture
async def deployed() -> AsyncIterator[DeployedMarketplace]:
    chain = Chain.open(None, lambda: 1_760_000_000)
    address = Address(deploy_marketplace(chain).lower())
    dispatcher = Dispatcher(chain)

    async def respond(request: web.Request) -> web.Response:
        return web.Response(body=dispatcher.respond(await request.read()))

    application = web.Application()
    application.router.add_post("/", respond)
    server = TestServer(application)
    await server.start_server(access_log=None)
    rpc = JsonRpc([f"http://127.0.0.1:{server.port}/"])
    market = JsonRpcMarketplace(BlockCalls(rpc, 31337, fixed_clock), address)
    yield DeployedMarketplace(chain, address, rpc, market)
    await market.close()
    await server.close()
    chain.close()


async def test_a_probe_finds_the_contract(deployed: DeployedMarketplace) -> None:
    await deployed.market.probe()


async def test_a_probe_finds_no_contract_at_an_account_address(
    deployed: DeployedMarketplace,
) -> None:
    astray = JsonRpcMarketplace(BlockCalls(deployed.rpc, 31337, fixed_clock), deployed.person(3))
    with pytest.raises(ChainMisconfigured):
        await astray.probe()


async def test_a_probe_accepts_the_adapter_of_the_marketplace(
    deployed: DeployedMarketplace,
) -> None:
    adapter = Address(deploy_adapter(deployed.chain).lower())
    calls = BlockCalls(deployed.rpc, 31337, fixed_clock)
    await JsonRpcMarketplace(calls, deployed.address, adapter).probe()


async def test_a_probe_refuses_an_address_that_is_not_the_marketplaces_adapter(
    deployed: DeployedMarketplace,
) -> None:
    adapter = Address(deploy_adapter(deployed.chain).lower())
    calls = BlockCalls(deployed.rpc, 31337, fixed_clock)
    for marketplace, given, reason in (
        (deployed.address, deployed.person(3), "There is no contract"),
        (deployed.address, deployed.address, "not a purchase adapter"),
        (adapter, adapter, f"buys from {deployed.address}"),
    ):
        with pytest.raises(ChainMisconfigured) as refused:
            await JsonRpcMarketplace(calls, marketplace, given).probe()
        assert reason in refused.value.sentence


async def test_an_unpublished_post_does_not_exist(deployed: DeployedMarketplace) -> None:
    facts = await deployed.market.post_facts(1, deployed.person(2))
    assert (facts.entry.exists, facts.entry.price, facts.balance) == (False, 0, 0)


async def test_a_published_post_has_an_author_a_cid_and_a_price(
    deployed: DeployedMarketplace,
) -> None:
    deployed.publish()
    facts = await deployed.market.post_facts(1, deployed.person(2))
    assert facts.entry.author == deployed.person(1)
    assert (facts.entry.cid, facts.entry.price, facts.balance) == (CID, 5, 0)


async def test_a_purchase_is_visible_immediately(deployed: DeployedMarketplace) -> None:
    deployed.publish()
    deployed.call(2, "subscribePost(uint256)", encode(["uint256"], [1]), value=5)
    assert (await deployed.market.post_facts(1, deployed.person(2))).balance == 1


async def test_a_published_cid_has_an_entry_and_an_unknown_one_has_none(
    deployed: DeployedMarketplace,
) -> None:
    deployed.publish()
    entry = await deployed.market.entry_of_cid(CID)
    assert entry is not None
    assert entry.author == deployed.person(1)
    assert await deployed.market.entry_of_cid(OTHER) is None


async def test_both_providers_deliver_the_same_event(deployed: DeployedMarketplace) -> None:
    block = deployed.publish(cid=CID.upper())
    body_a = build_body_a(block, deployed.address, identifier="1", sequence=1, created_at=NOW)
    body_b = build_body_b(block, deployed.address)
    sent_a = sign_body_a(body_a, SECRET)
    sent_b = sign_body_b(body_b, SECRET, nonce="n-1", timestamp=int(NOW.timestamp()), compress=True)
    from_a = ProviderA([SECRET], 31337, deployed.address).open(lower(sent_a.headers), sent_a.body)
    from_b = ProviderB([SECRET], 31337, deployed.address).open(lower(sent_b.headers), sent_b.body)
    assert from_a.events == from_b.events
    (event,) = from_a.events
    assert (event.post_id, event.author, event.cid) == (1, deployed.person(1), CID)
    assert event.place.block_hash == "0x" + block.hash.hex()
