"""The development accounts: derived from the public test mnemonic, funded, and unlocked."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from eth_abi.exceptions import EncodingError
from eth_account import Account
from eth_account.hdaccount import key_from_seed, seed_from_mnemonic
from eth_account.messages import SignableMessage, encode_defunct, encode_typed_data
from eth_account.signers.local import LocalAccount
from eth_utils.exceptions import ValidationError

MNEMONIC = "test test test test test test test test test test test junk"
"""The mnemonic that development chains share; its keys are public."""

INITIAL_BALANCE = 10_000 * 10**18
"""The initial balance of each development account in wei."""

_ACCOUNT_COUNT = 10
"""How many accounts are derived, as on other development chains."""


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
"""The errors of eth_account for typed data that does not match its own types."""


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
        """The addresses in order of derivation, in lower case."""
        return tuple(self._accounts)

    def sign_transaction(self, sender: str, fields: Mapping[str, Any]) -> bytes:
        """Sign a transaction and return its raw bytes; raises `UnknownAccount`."""
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
