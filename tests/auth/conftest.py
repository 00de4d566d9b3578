"""Fixtures: accounts, clocks and signers shared by the authentication tests."""

import gc
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from eth_account.signers.local import LocalAccount
from tests.auth.proofs import proved

from imprint.domain.errors import Code, Refusal


@pytest.fixture(scope="session")
def signer() -> LocalAccount:
    return Account.from_key(b"\x11" * 32)


@pytest.fixture(scope="session")
def stranger() -> LocalAccount:
    return Account.from_key(b"\x22" * 32)


@pytest.fixture(scope="session")
def sign_text() -> Callable[[LocalAccount, str], str]:
    def sign(account: LocalAccount, text: str) -> str:
        return account.sign_message(encode_defunct(text=text)).signature.to_0x_hex()

    return sign


@pytest.fixture(scope="session")
def sign_envelope() -> Callable[[LocalAccount, Mapping[str, Any]], str]:
    """Sign typed data exactly as declared by the client."""

    def sign(account: LocalAccount, envelope: Mapping[str, Any]) -> str:
        signable = encode_typed_data(
            envelope["domain"],
            {name: list(members) for name, members in envelope["types"].items()},
            envelope["message"],
        )
        return account.sign_message(signable).signature.to_0x_hex()

    return sign


@pytest.fixture(scope="session")
def refused() -> Callable[[Callable[[], object]], Code | None]:
    """Return the error code if a call is refused, otherwise None. Contract wallets are not
    checked."""

    def code_of(call: Callable[[], object]) -> Code | None:
        try:
            proved(call())
        except Refusal as refusal:
            return refusal.code
        return None

    return code_of


@pytest.fixture(scope="session")
def count_calls() -> Callable[[Callable[[], object]], int]:
    """Count the Python and C functions that a call enters, as a measure of cost that needs no
    clock."""

    def count(call: Callable[[], object]) -> int:
        entered = 0

        def note(_frame: object, event: str, _arg: object) -> None:
            nonlocal entered
            entered += event in ("call", "c_call")

        # Finalize the garbage of earlier tests now, rather than while calls are counted.
        gc.collect()
        gc.disable()
        sys.setprofile(note)
        try:
            call()
        finally:
            sys.setprofile(None)
            gc.enable()
        return entered

    return count
