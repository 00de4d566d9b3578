"""Signed transactions, decoded from raw bytes. The sender is recovered from the signature."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import rlp
from eth_abi.exceptions import EncodingError
from eth_account import Account
from eth_account.hdaccount import key_from_seed, seed_from_mnemonic
from eth_account.messages import SignableMessage, encode_defunct, encode_typed_data
from eth_account.signers.local import LocalAccount
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError

from imprint.devchain.evm import keccak256

LEGACY, ACCESS_LIST, DYNAMIC_FEE = 0, 1, 2
"""The supported EIP-2718 transaction types, by their type byte."""

MAX_TRANSACTION_BYTES = 128 * 1024
"""Maximum transaction size in bytes, as in geth. rlp takes quadratic time for long lists."""

_FIELD_COUNT = {LEGACY: 9, ACCESS_LIST: 11, DYNAMIC_FEE: 12}

_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
"""Half of the curve order. A higher s is the malleated form of a valid signature."""

_PROTECTED_V = 35
"""The lowest v of a legacy signature that includes the chain ID (EIP-155)."""

Rlp: TypeAlias = "bytes | list[Rlp]"
"""Decoded RLP: bytes or a nested list of bytes. Numbers are also given as bytes."""


class TransactionRefused(Exception):
    """The transaction cannot be mined. The message gives the reason as nodes word it."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """A signed transaction."""

    kind: int
    hash: bytes
    raw: bytes
    sender: str
    chain_id: int
    nonce: int
    to: str | None
    value: int
    data: bytes
    gas: int
    max_fee: int
    max_priority_fee: int
    access_list: tuple[tuple[str, tuple[int, ...]], ...]
    v: int
    r: int
    s: int


def decode_transaction(raw: bytes) -> Transaction:
    """Decode a signed transaction.

    Raises `TransactionRefused` for unknown types, non-canonical encodings, signatures without a
    chain id, and invalid signatures.
    """
    kind, fields = _split(raw)
    if kind == LEGACY:
        nonce, price, gas, to, value, data, v, r, s = fields
        chain_id, priority, fee = _read_chain_id(_integer(v)), price, price
        listed: Rlp = []
    elif kind == ACCESS_LIST:
        chain, nonce, price, gas, to, value, data, listed, v, r, s = fields
        chain_id, priority, fee = _integer(chain), price, price
    else:
        chain, nonce, priority, fee, gas, to, value, data, listed, v, r, s = fields
        chain_id = _integer(chain)
    if not 0 < _integer(s) <= _HALF_ORDER:
        raise TransactionRefused("invalid transaction v, r, s values")
    checked = Transaction(
        kind=kind,
        hash=keccak256(raw),
        raw=raw,
        sender="",
        chain_id=chain_id,
        nonce=_integer(nonce),
        to=_address(to) if _bytes(to) else None,
        value=_integer(value),
        data=_bytes(data),
        gas=_integer(gas),
        max_fee=_integer(fee),
        max_priority_fee=_integer(priority),
        access_list=_access_list(listed),
        v=_integer(v),
        r=_integer(r),
        s=_integer(s),
    )
    return replace(checked, sender=_recover(raw))


def _split(raw: bytes) -> tuple[int, list[Rlp]]:
    if not raw:
        raise TransactionRefused("empty transaction")
    if len(raw) > MAX_TRANSACTION_BYTES:
        raise TransactionRefused(
            f"oversized data: transaction size {len(raw)}, limit {MAX_TRANSACTION_BYTES}"
        )
    kind, body = (LEGACY, raw) if raw[0] >= 0xC0 else (raw[0], raw[1:])
    if kind not in _FIELD_COUNT or (kind == LEGACY and body is not raw):
        raise TransactionRefused("transaction type not supported")
    try:
        fields = rlp.decode(body)
    except (rlp.DecodingError, RecursionError) as error:
        raise TransactionRefused("rlp: transaction cannot be decoded") from error
    if not isinstance(fields, list) or len(fields) != _FIELD_COUNT[kind]:
        raise TransactionRefused("rlp: wrong number of transaction fields")
    return kind, fields


def _read_chain_id(v: int) -> int:
    if v < _PROTECTED_V:
        raise TransactionRefused("only replay-protected (EIP-155) transactions allowed over RPC")
    return (v - _PROTECTED_V) // 2


def _recover(raw: bytes) -> str:
    try:
        return str(Account.recover_transaction(raw)).lower()
    except (BadSignature, ValidationError, ValueError, TypeError, KeyError) as error:
        raise TransactionRefused("invalid sender") from error


def _bytes(item: Rlp) -> bytes:
    if not isinstance(item, bytes):
        raise TransactionRefused("rlp: expected bytes")
    return item


def _integer(item: Rlp) -> int:
    data = _bytes(item)
    if len(data) > 32 or data[:1] == b"\0":
        raise TransactionRefused("rlp: bad integer")
    return int.from_bytes(data, "big")


def _address(item: Rlp) -> str:
    data = _bytes(item)
    if len(data) != 20:
        raise TransactionRefused("rlp: bad address")
    return "0x" + data.hex()


def _access_list(item: Rlp) -> tuple[tuple[str, tuple[int, ...]], ...]:
    entries: list[tuple[str, tuple[int, ...]]] = []
    if not isinstance(item, list):
        raise TransactionRefused("rlp: bad access list")
    for entry in item:
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], list)):
            raise TransactionRefused("rlp: bad access list")
        entries.append((_address(entry[0]), tuple(_slot(key) for key in entry[1])))
    return tuple(entries)


def _slot(item: Rlp) -> int:
    data = _bytes(item)
    if len(data) != 32:
        raise TransactionRefused("rlp: bad storage key")
    return int.from_bytes(data, "big")


MNEMONIC = "test test test test test test test test test test test junk"
"""The mnemonic shared by development chains, whose keys are public."""

INITIAL_BALANCE = 10_000 * 10**18
"""The initial balance of each development account, in wei."""

_ACCOUNT_COUNT = 10
"""Number of derived accounts, the same as on other development chains."""


_UNHASHABLE = (
    ValidationError,
    EncodingError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    OverflowError,
    RecursionError,
)
"""Errors that eth_account raises for typed data that does not match its own types."""


class UnknownAccount(Exception):
    """The address is not a development account."""


class UnusableTypedData(Exception):
    """The typed data cannot be hashed."""


class Wallet:
    """The keys of the development accounts."""

    def __init__(self) -> None:
        self._accounts = {account.address.lower(): account for account in _derive_accounts()}

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses in derivation order, in lower case."""
        return tuple(self._accounts)

    def sign_transaction(self, sender: str, fields: Mapping[str, Any]) -> bytes:
        """Sign a transaction and return its raw bytes. Raises `UnknownAccount`."""
        return bytes(self._find(sender).sign_transaction(dict(fields)).raw_transaction)

    def sign_text(self, signer: str, text: bytes) -> bytes:
        """Sign bytes as a personal message (ERC-191). Raises `UnknownAccount`."""
        return self._sign(signer, encode_defunct(primitive=text))

    def sign_typed_data(self, signer: str, typed_data: Mapping[str, Any]) -> bytes:
        """Sign typed data (EIP-712). Raises `UnknownAccount` and `UnusableTypedData`."""
        try:
            message = encode_typed_data(full_message=dict(typed_data))
        except _UNHASHABLE as error:
            raise UnusableTypedData("typed data cannot be hashed") from error
        return self._sign(signer, message)

    def _sign(self, signer: str, message: SignableMessage) -> bytes:
        return bytes(self._find(signer).sign_message(message).signature)

    def _find(self, address: str) -> LocalAccount:
        account = self._accounts.get(address.lower())
        if account is None:
            raise UnknownAccount("unknown account")
        return account


@cache
def _derive_accounts() -> tuple[LocalAccount, ...]:
    # Key derivation is slow by design, and the result is always the same.
    seed = seed_from_mnemonic(MNEMONIC, "")
    return tuple(
        Account.from_key(key_from_seed(seed, f"m/44'/60'/0'/0/{index}"))
        for index in range(_ACCOUNT_COUNT)
    )
