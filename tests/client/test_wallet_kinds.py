"""Wallets of every type: contracts, node accounts, and calls that revert."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from tests.contract_wallets import KINDS, creation, deployment, keep, predict, wrap

from imprint.client import (
    POST_LIMITS,
    Call,
    Code,
    Imprint,
    KeyWallet,
    Node,
    NodeError,
    NodeWallet,
    Refusal,
    Reverted,
    TypedData,
    buy_post_call,
    create_post_call,
    created_post_id,
    find_receipt,
    wait_for_receipt,
)
from imprint.client.wallet import settle
from imprint.domain.formats.addresses import keccak256
from imprint.domain.formats.cids import document_cid

UNKNOWN_POST = 2**200
OWNER = bytes(range(1, 33))


@dataclass(frozen=True, slots=True)
class ContractWallet:
    """A wallet on the chain that accepts signatures by its owner."""

    address: str
    owner: KeyWallet
    enclose: Callable[[bytes], bytes] = keep

    async def sign_message(self, message: str) -> str:
        return self._enclosed(await self.owner.sign_message(message))

    async def sign_typed_data(self, data: TypedData) -> str:
        return self._enclosed(await self.owner.sign_typed_data(data))

    def send_transaction(self, call: Call) -> str:
        raise NotImplementedError("Its owner sends none here.")

    def _enclosed(self, signature: str) -> str:
        return f"0x{self.enclose(bytes.fromhex(signature[2:])).hex()}"


async def open_account(node: Node, index: int) -> NodeWallet:
    return NodeWallet(node, (await node.request("eth_accounts"))[index])


async def deploy(node: Node, code: bytes) -> str:
    sender = await open_account(node, 0)
    sent = {"from": sender.address, "data": f"0x{code.hex()}"}
    receipt = await node.request(
        "eth_getTransactionReceipt", await node.request("eth_sendTransaction", sent)
    )
    return str(receipt["contractAddress"])


async def open_contract(node: Node, kind: str) -> ContractWallet:
    owner = KeyWallet(OWNER)
    code = creation("OwnedWallet", owner.address)
    if kind == "deployed":
        return ContractWallet(await deploy(node, code), owner)
    if kind == "proxy":
        behind = await deploy(node, code)
        return ContractWallet(
            await deploy(node, creation("WalletProxy", behind, owner.address)), owner
        )
    factory = await deploy(node, creation("WalletFactory"))
    return ContractWallet(
        predict(factory, code), owner, lambda each: wrap(factory, deployment(code), each)
    )


@pytest.mark.parametrize("kind", KINDS)
async def test_a_contract_wallet_can_log_in_and_write(imprint: Imprint, kind: str) -> None:
    wallet = await open_contract(imprint.node(), kind)
    session = await imprint.login(wallet)
    assert session.address == wallet.address.lower()
    draft = await imprint.create_draft(wallet, "# By a contract")
    writing = await imprint.open_writing_session(wallet)
    draft = await imprint.save_draft(writing, "# By a key for a contract", draft.cid)
    assert (await imprint.read_draft(draft.cid)).content == "# By a key for a contract"
    assert (await imprint.delete_draft(wallet, draft.cid)).status == "deleted"


async def test_a_contract_wallet_cannot_log_in_with_a_signature_by_another_key(
    imprint: Imprint,
) -> None:
    wallet = await open_contract(imprint.node(), "deployed")
    stranger = ContractWallet(wallet.address, KeyWallet(bytes(range(2, 34))))
    with pytest.raises(Refusal) as raised:
        await imprint.login(stranger)
    assert raised.value.code == Code.SIGNATURE_INVALID


async def test_a_node_account_can_log_in_write_and_publish(imprint: Imprint) -> None:
    node = imprint.node()
    wallet = await open_account(node, 4)
    assert (await imprint.login(wallet)).address == wallet.address.lower()
    draft = await imprint.create_draft(wallet, "# By a node")
    call = create_post_call(
        imprint.marketplace, cid=draft.cid, title="By a node", thumbnail_cid=draft.cid
    )
    receipt = await wait_for_receipt(node, await wallet.send_transaction(call))
    assert created_post_id(receipt, imprint.marketplace) is not None
    assert (await imprint.wait_for_post(draft.cid)).cid == draft.cid


async def test_a_call_that_would_revert_is_not_sent(imprint: Imprint) -> None:
    wallet = await open_account(imprint.node(), 5)
    with pytest.raises(NodeError, match="revert"):
        await wallet.send_transaction(buy_post_call(imprint.marketplace, UNKNOWN_POST, 1))


async def test_a_failed_transaction_is_reported_as_reverted(imprint: Imprint) -> None:
    node = imprint.node()
    wallet = await open_account(node, 5)
    call = buy_post_call(imprint.marketplace, UNKNOWN_POST, 1)
    # With a gas limit, the node does not simulate the transaction before sending it.
    sent = {"from": wallet.address, "gas": hex(200_000), **call.as_json()}
    transaction = await node.request("eth_sendTransaction", sent)
    with pytest.raises(Reverted, match=transaction):
        await wait_for_receipt(node, transaction)
    receipt = await find_receipt(node, transaction)
    assert receipt is not None
    assert (receipt.status, receipt.logs) == ("reverted", ())


@pytest.mark.parametrize(
    ("limit", "constant"),
    [
        ("title_bytes", "MAX_TITLE_BYTES"),
        ("description_bytes", "MAX_DESCRIPTION_BYTES"),
        ("price_wei", "MAX_PRICE"),
        ("hashtags", "MAX_HASHTAGS"),
    ],
)
async def test_the_post_limits_of_the_client_match_the_contract(
    imprint: Imprint, limit: str, constant: str
) -> None:
    asked = {
        "to": imprint.marketplace,
        "data": f"0x{keccak256(f'{constant}()'.encode())[:4].hex()}",
    }
    assert int(await imprint.node().request("eth_call", asked, "latest"), 16) == POST_LIMITS[limit]


async def test_the_contract_accepts_a_post_at_its_limits(imprint: Imprint) -> None:
    node = imprint.node()
    cid = document_cid(b"At the limits.")
    call = create_post_call(
        imprint.marketplace,
        cid=cid,
        title="t" * POST_LIMITS["title_bytes"],
        thumbnail_cid=cid,
        description="d" * POST_LIMITS["description_bytes"],
        price=POST_LIMITS["price_wei"],
        hashtags=[f"tag{number}" for number in range(POST_LIMITS["hashtags"])],
    )
    sent = await settle((await open_account(node, 6)).send_transaction(call))
    assert (await wait_for_receipt(node, sent)).status == "success"
