"""Imprint and eth-account compute the same digests and signers, except for known differences."""

import re
from collections.abc import Callable
from typing import Any

from eth_abi.exceptions import EncodingError
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from eth_keys.backends.native.main import NativeECCBackend
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError
from tests.anvil.wallets import digest_of
from tests.differences.comparison import Known, Refused, Subject, compare
from tests.differences.random_values import random_digest_and_signature, random_text, recover
from tests.differences.typed_messages import STRICTER, random_typed_data, random_write, read_write

from imprint.auth.signatures import CURVE_ORDER, personal_digest

REFUSALS = (
    *(ValueError, TypeError, KeyError, AttributeError, AssertionError, IndexError, OverflowError),
    *(ValidationError, BadSignature, EncodingError),
)
"""What eth-account raises for input that it does not accept."""


def one_by_one(read: Callable[[Any], str]) -> Callable[[list[Any]], list[str | Refused]]:
    """Return a function that reads a batch of cases, with a refusal for each error."""

    def read_batch(cases: list[Any]) -> list[str | Refused]:
        results: list[str | Refused] = []
        for case in cases:
            try:
                results.append(read(case))
            except REFUSALS as error:
                results.append(Refused(f"{type(error).__name__}: {error}"))
        return results

    return read_batch


def hash_typed_data(case: dict[str, Any]) -> str:
    return digest_of(encode_typed_data(full_message=case["envelope"])).hex()


def hash_text(text: str) -> str:
    return digest_of(encode_defunct(text=text)).hex()


def recover_with(account: Account) -> Callable[[list[Any]], list[str | Refused]]:
    """Return a function that recovers addresses with eth-account."""
    return one_by_one(
        lambda case: account._recover_hash(bytes.fromhex(case[0][2:]), signature=case[1]).lower()
    )


SIGNATURES = (
    Known(
        "a high s",
        "Imprint accepts one form of each signature (EIP-2), but eth-account accepts both.",
        lambda case, ours, theirs: (
            isinstance(ours, Refused)
            and isinstance(theirs, str)
            and CURVE_ORDER // 2 < int(case[1][66:130], 16) < CURVE_ORDER
        ),
    ),
    Known(
        "a v of a transaction",
        "eth-account also reads a v that contains a chain ID (EIP-155), which messages never have.",
        lambda case, ours, theirs: (
            isinstance(ours, Refused)
            and isinstance(theirs, str)
            and len(case[1]) == 132
            and int(case[1][130:], 16) >= 35
        ),
    ),
    Known(
        "64 bytes",
        "Imprint accepts the compact form of EIP-2098, but eth-account recovers only 65 bytes.",
        lambda case, ours, theirs: (
            isinstance(ours, str) and isinstance(theirs, Refused) and len(case[1]) == 130
        ),
    ),
    Known(
        "another spelling of bytes",
        "A signature is 0x and two digits a byte, but eth-account also reads half bytes and bytes "
        "without 0x.",
        lambda case, ours, theirs: (
            isinstance(ours, Refused) and not re.fullmatch("0x(?:[0-9a-fA-F]{2})*", case[1])
        ),
    ),
)


def test_imprint_and_eth_account_compute_the_same_digests_and_signers():
    # The fast backend is the library that Imprint uses; the slow one is independent of it.
    fast, slow = Account(), Account()
    slow.set_key_backend(NativeECCBackend())
    hash_batch, draw = one_by_one(hash_typed_data), random_digest_and_signature
    compare(
        "eth-account",
        "Random typed data, texts and signatures, valid, unusual, malleated or altered, hashed or "
        "recovered by both.",
        [
            Subject("typed data", 35, random_typed_data, lambda case: case["digest"], hash_batch),
            Subject("writes", 30, random_write, read_write, hash_batch, STRICTER),
            Subject(
                "texts",
                10,
                lambda rng: random_text(rng, 60),
                lambda text: personal_digest(text.encode()).hex(),
                one_by_one(hash_text),
            ),
            Subject("signatures", 24, draw, recover, recover_with(fast), SIGNATURES),
            Subject("signatures in Python", 1, draw, recover, recover_with(slow), SIGNATURES),
        ],
    )
