"""Contract wallets as authors and readers: Safe, passkey, delegated, and custom ones."""

from dataclasses import dataclass, replace

import pytest
from eth_account.messages import SignableMessage
from eth_account.signers.local import LocalAccount
from tests.anvil.client import Client
from tests.anvil.conftest import MakeService
from tests.anvil.node import Anvil, Receipt, encode_call, open_account, post_id_of
from tests.anvil.wallet_client import FORMS, WalletClient
from tests.anvil.wallets import (
    ContractWallet,
    KeyedDelegation,
    WalletContracts,
    delegate,
    wrap,
)
from tests.processes import Service
from tests.world import problem

BUYER_OF = {
    "safe": "passkey",
    "safe-counterfactual": "owned",
    "passkey": "delegated-code",
    "delegated-key": "safe",
    "delegated-code": "delegated-key",
    "owned": "safe-counterfactual",
}
"""For each type of wallet that writes a post, the type of wallet that buys the post."""


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A wallet that wraps all signatures as if it were not deployed yet, so that its code is
    called."""

    wallet: ContractWallet

    @property
    def anvil(self) -> Anvil:
        return self.wallet.anvil

    @property
    def address(self) -> str:
        return self.wallet.address

    def sign(self, message: SignableMessage, declaration: str = "") -> bytes:
        return wrap(self.address, b"", self.wallet.sign(message, declaration))

    def send(self, to: str, data: bytes, value: int = 0) -> Receipt:
        return self.wallet.send(to, data, value)


@pytest.fixture
def service(make_service: MakeService) -> Service:
    opened = make_service(RATE_LIMITS="off", PUBLIC_URL="https://imprint.example")
    opened.start()
    return opened


@pytest.fixture
def contracts(anvil: Anvil) -> WalletContracts:
    return WalletContracts.deploy(anvil)


@pytest.fixture
def stranger() -> LocalAccount:
    return open_account(9)


@pytest.mark.parametrize(("kind", "buyers"), BUYER_OF.items())
def test_one_wallet_publishes_a_post_that_another_buys_and_reads(
    contracts: WalletContracts, client: Client, stranger: LocalAccount, kind: str, buyers: str
) -> None:
    author = WalletClient(client, contracts.open(kind))
    reader = WalletClient(client, contracts.open(buyers, 1))
    for form in FORMS:
        draft = author.create(form, f"A first line in {form}.")
        assert draft["keyvalues"]["owner"] == author.wallet.address.lower()
        assert problem(reader.delete(form, draft["cid"])) == (403, "not_owner")
        draft = author.update(form, draft["cid"], f"A better line in {form}.")
        thumbnail = author.publish(form, draft["cid"], "essays,ink")
        post_id = post_id_of(receipt := author.create_post(draft["cid"], thumbnail))

        (event,) = client.deliver(receipt)["events"]
        assert event == {"postId": str(post_id), "postCid": draft["cid"], "status": "onchain"}
        post = client.metadata(draft["cid"])
        assert post["keyvalues"]["owner"] == author.wallet.address.lower()
        assert post["tx_hash"] == receipt["transactionHash"]

        session = reader.log_in()
        assert problem(reader.read_post(post_id, session)) == (403, "not_entitled")
        reader.buy(post_id)
        content = f"A better line in {form}."
        assert reader.read_post(post_id, session).json()["content"] == content
        assert author.read_post(post_id, author.log_in()).json()["content"] == content
        assert problem(client.read_post(stranger, post_id)) == (403, "not_entitled")


def test_a_delegated_account_signs_with_its_key_and_through_its_code(
    contracts: WalletContracts, client: Client
) -> None:
    nested = contracts.open_nested()
    keyed = KeyedDelegation(contracts.anvil, nested.key, contracts.delegated)
    wrapped = Wrapped(KeyedDelegation(contracts.anvil, open_account(5), contracts.simple_7702))
    delegate(contracts.anvil, open_account(5), contracts.simple_7702)
    wallets: tuple[ContractWallet, ...] = (nested, keyed, wrapped)
    for wallet in wallets:
        author = WalletClient(client, wallet)
        for form in FORMS:
            draft = author.create(form, f"Signed by {type(wallet).__name__} in {form}.")
            assert draft["keyvalues"]["owner"] == wallet.address.lower()
        author.log_in()


def test_a_safe_checks_signatures_against_its_current_owners_and_threshold(
    contracts: WalletContracts, client: Client
) -> None:
    safe = contracts.open_safe()
    assert WalletClient(client, safe).send_login().status_code == 200
    alone = WalletClient(client, replace(safe, signers=safe.signers[:1]))
    assert problem(alone.send_login()) == (401, "signature_invalid")

    # From now on one signature is enough, as long as it is by an owner.
    first, second = (owner.address for owner in safe.signers)
    kinds = ["address", "address", "uint256"]
    safe.send(safe.address, encode_call("removeOwner", kinds, [first, second, 1]))
    assert alone.send_login().status_code == 200
    removed = WalletClient(client, replace(safe, signers=safe.signers[1:]))
    assert problem(removed.send_login()) == (401, "signature_invalid")
