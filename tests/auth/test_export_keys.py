"""The Ed25519 signature of an export key is valid only for that key and the signed message."""

import pytest

from imprint.auth.export_keys import SEED_BYTES, ExportKey, is_signed

KEY = ExportKey(bytes(range(SEED_BYTES)))
MESSAGE = b"The manifest of an export."
SIGNATURE = KEY.sign(MESSAGE)
FLIPPED = bytes([SIGNATURE[0] ^ 1]) + SIGNATURE[1:]

RFC_8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555"
        "fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da0"
        "85ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
]
"""Seed, public key, message and signature of the first two vectors in RFC 8032, section 7.1."""


@pytest.mark.parametrize(("seed", "public", "message", "signature"), RFC_8032)
def test_keys_and_signatures_match_the_vectors_of_rfc_8032(
    seed: str, public: str, message: str, signature: str
):
    key = ExportKey(bytes.fromhex(seed))
    assert key.public.hex() == public
    assert key.sign(bytes.fromhex(message)).hex() == signature


def test_a_signature_is_valid_for_its_key_and_message():
    assert is_signed(KEY.public, MESSAGE, SIGNATURE)


def test_a_signature_is_invalid_for_another_message():
    assert not is_signed(KEY.public, MESSAGE + b" ", SIGNATURE)


def test_a_signature_is_invalid_for_another_key():
    assert not is_signed(ExportKey(bytes(SEED_BYTES)).public, MESSAGE, SIGNATURE)


@pytest.mark.parametrize("signature", [FLIPPED, SIGNATURE[:-1], SIGNATURE + b"\0", b""])
def test_a_malformed_signature_is_invalid(signature: bytes):
    assert not is_signed(KEY.public, MESSAGE, signature)


@pytest.mark.parametrize("public", [KEY.public[:-1], KEY.public + b"\0", b""])
def test_a_public_key_of_the_wrong_size_verifies_no_signature(public: bytes):
    assert not is_signed(public, MESSAGE, SIGNATURE)


@pytest.mark.parametrize("size", [0, SEED_BYTES - 1, SEED_BYTES + 1])
def test_a_seed_of_the_wrong_size_cannot_sign(size: int):
    with pytest.raises(ValueError, match="32 bytes"):
        ExportKey(bytes(size)).sign(MESSAGE)


def test_the_repr_of_a_key_does_not_show_its_seed():
    assert repr(KEY.seed) not in repr(KEY)
    assert KEY.seed.hex() not in repr(KEY)
