"""The client's signatures, compared with those of another library."""

import stat
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from hypothesis import given
from hypothesis import strategies as st

from imprint.auth.typed_data import SigningForm
from imprint.client import Call, FileKeyStore, KeyWallet, NodeError, NodeWallet, WritingSession
from imprint.client.transactions import Transaction
from imprint.client.typed_data import Write, opening_typed_data, write_typed_data
from imprint.client.writing_session import new_key, public_point
from imprint.domain.drafts.files import Action
from imprint.interface.accounts import WritingSessionRecord
from imprint.interface.service import SigningFacts

KEY = bytes(range(1, 33))
ACCOUNT = Account.from_key(KEY)
WALLET = KeyWallet(KEY)
SIGNING = SigningFacts("Imprint", "1", 31337)
SERVICE = "http://imprint.test"
ON_NODE = partial(NodeWallet, address=WALLET.address)
NUMBERS = st.integers(0, 2**64)


class NodeOnFive:
    """A node on chain 5 that records calls and always returns the same response."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def request(self, method: str, *params: object) -> str:
        self.asked.append(method)
        return "0x5"


def test_a_key_has_the_same_address_as_in_eth_account():
    assert WALLET.address == ACCOUNT.address
    assert KeyWallet("0x" + KEY.hex()).address == ACCOUNT.address


@pytest.mark.parametrize("key", ["", "0x12", "0x" + "g" * 64, bytes(31), bytes(32)])
def test_an_invalid_private_key_is_refused_without_quoting_it(key):
    with pytest.raises(ValueError, match=r"^((?!0x12).)*$"):
        KeyWallet(key)


@given(st.text())
async def test_a_message_signature_matches_eth_account(text):
    signed = ACCOUNT.sign_message(encode_defunct(text=text)).signature.to_0x_hex()
    assert await WALLET.sign_message(text) == signed


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize("form", list(SigningForm))
async def test_a_write_signature_matches_eth_account(form, action):
    write = Write(action, cid="bafk", content="Wörter", thumbnail=b"\x89PNG", hashtags="a,b")
    data = write_typed_data(
        form, SIGNING, SERVICE, write, address=WALLET.address, nonce="n", timestamp=1_700_000_000
    )
    signed = ACCOUNT.sign_message(encode_typed_data(full_message=data.declared))
    assert await WALLET.sign_typed_data(data) == signed.signature.to_0x_hex()


async def test_the_signature_that_opens_a_writing_session_matches_eth_account():
    data = opening_typed_data(
        SIGNING,
        SERVICE,
        wallet=WALLET.address,
        public_key=public_point(new_key()),
        actions=["create", "update"],
        not_before=1,
        expires=2,
        nonce="n",
    )
    signed = ACCOUNT.sign_message(encode_typed_data(full_message=data.declared))
    assert await WALLET.sign_typed_data(data) == signed.signature.to_0x_hex()


@given(st.tuples(*[NUMBERS] * 4), st.integers(0, 2**200), st.binary(max_size=300))
def test_a_signed_transaction_matches_eth_account(numbers, value, data):
    nonce, tip, fee, gas = numbers
    call = Call(ACCOUNT.address, data, value)
    raw = Transaction(31337, nonce, tip, fee, gas, call).sign(WALLET._key)
    signed = ACCOUNT.sign_transaction(
        {
            "type": 2,
            "chainId": 31337,
            "nonce": nonce,
            "maxPriorityFeePerGas": tip,
            "maxFeePerGas": fee,
            "gas": gas,
            "to": ACCOUNT.address,
            "value": value,
            "data": data,
        }
    )
    assert raw == bytes(signed.raw_transaction)


async def test_sending_a_transaction_without_a_node_is_refused():
    with pytest.raises(NodeError, match="Give it one"):
        await WALLET.send_transaction(Call(WALLET.address, b""))


@pytest.mark.parametrize("make", [lambda node: KeyWallet(KEY, node), ON_NODE])
async def test_a_transaction_for_a_chain_other_than_the_nodes_is_not_sent(make):
    node = NodeOnFive()
    with pytest.raises(NodeError, match=r"for chain 6, but the node is on chain 5"):
        await make(node).send_transaction(Call(WALLET.address, b"", chain_id=6))
    assert node.asked == ["eth_chainId"]
    assert await make(node).send_transaction(Call(WALLET.address, b"", chain_id=5)) == "0x5"


def test_the_repr_of_a_wallet_does_not_show_its_key():
    assert repr(WALLET) == f"KeyWallet({ACCOUNT.address})"


def test_the_key_file_of_a_writing_session_is_readable_only_by_its_owner(tmp_path: Path):
    at = datetime(2026, 1, 1, tzinfo=UTC)
    record = WritingSessionRecord("id", WALLET.address.lower(), ("create",), at, at, at)
    session, store = WritingSession(record, new_key()), FileKeyStore(tmp_path / "keys")
    assert store.load(SERVICE, WALLET.address) is None
    store.save(SERVICE, session)
    (file,) = (tmp_path / "keys").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    found = store.load(SERVICE, WALLET.address)
    assert found is not None
    assert found.record == record
    assert public_point(found.key) == public_point(session.key)
    assert store.load("http://other.test", WALLET.address) is None
    file.write_bytes(b"{}")
    assert store.load(SERVICE, WALLET.address) is None
    store.remove(SERVICE, WALLET.address)
    assert list((tmp_path / "keys").iterdir()) == []
