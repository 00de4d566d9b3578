"""Envelope encryption: documents need their keys, and keys need the master key."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.adapters.encryption import (
    KEY_ID_BYTES,
    NONCE_BYTES,
    OVERHEAD,
    AesCipher,
    PlainCipher,
    identify_key,
)
from imprint.domain.errors import Code, Unavailable
from imprint.ports.content import DocumentCipher

MASTER, OLD, OTHER = (bytes([n]) * 31 + b"\x07" for n in (1, 2, 3))
NAME = "0x" + "a1" * 20 + "_1"
DOCUMENT = b'{"content":"words for sale","name":"n","salt":"s"}'


def refuses(cipher: DocumentCipher, document: bytes, key: bytes | None, name: str = NAME) -> str:
    with pytest.raises(Unavailable) as raised:
        cipher.decrypt(document, key, name)
    return raised.value.code


@given(st.binary(max_size=2000), st.text(max_size=60))
def test_an_encrypted_document_can_be_decrypted(document: bytes, name: str):
    cipher = AesCipher(MASTER)
    try:
        name.encode()
    except UnicodeEncodeError:
        return
    encrypted = cipher.encrypt(document, name)
    assert cipher.decrypt(encrypted.document, encrypted.wrapped_key, name) == document


def test_an_encrypted_document_does_not_contain_the_plaintext():
    encrypted = AesCipher(MASTER).encrypt(DOCUMENT, NAME)
    assert b"words" not in encrypted.document
    assert len(encrypted.document) == len(DOCUMENT) + OVERHEAD


def test_the_same_document_is_encrypted_differently_each_time():
    cipher = AesCipher(MASTER)
    first, second = cipher.encrypt(DOCUMENT, NAME), cipher.encrypt(DOCUMENT, NAME)
    assert first.document != second.document
    assert first.wrapped_key != second.wrapped_key


def test_no_encryption_nonce_is_used_twice():
    cipher = AesCipher(MASTER)
    made = [cipher.encrypt(DOCUMENT, NAME) for _ in range(20)]
    assert len({each.document[:NONCE_BYTES] for each in made}) == len(made)
    header = 1 + KEY_ID_BYTES
    wrapped = [each.wrapped_key or b"" for each in made]
    assert len({key[header : header + NONCE_BYTES] for key in wrapped}) == len(made)


def test_no_key_is_stored_or_printed():
    encrypted = AesCipher(MASTER).encrypt(DOCUMENT, NAME)
    assert encrypted.wrapped_key is not None
    assert MASTER not in encrypted.document + encrypted.wrapped_key
    assert repr(encrypted.wrapped_key) not in repr(encrypted)


def test_a_document_decrypts_only_under_its_own_name():
    encrypted = AesCipher(MASTER).encrypt(DOCUMENT, NAME)
    code = refuses(AesCipher(MASTER), encrypted.document, encrypted.wrapped_key, NAME + "2")
    assert code == Code.STORAGE_UNAVAILABLE


def test_a_document_does_not_decrypt_with_the_key_of_another_document():
    cipher = AesCipher(MASTER)
    mine, theirs = cipher.encrypt(DOCUMENT, NAME), cipher.encrypt(b"theirs", NAME + "2")
    assert refuses(cipher, theirs.document, mine.wrapped_key) == Code.STORAGE_UNAVAILABLE


def test_a_document_moved_with_its_key_to_another_file_does_not_decrypt():
    cipher = AesCipher(MASTER)
    theirs = cipher.encrypt(b"theirs", NAME + "2")
    assert refuses(cipher, theirs.document, theirs.wrapped_key) == Code.STORAGE_UNAVAILABLE


@pytest.mark.parametrize("at", [0, 11, 12, 30, -1])
def test_a_document_with_a_changed_byte_does_not_decrypt(at: int):
    encrypted = AesCipher(MASTER).encrypt(DOCUMENT, NAME)
    changed = bytearray(encrypted.document)
    changed[at] ^= 1
    code = refuses(AesCipher(MASTER), bytes(changed), encrypted.wrapped_key)
    assert code == Code.STORAGE_UNAVAILABLE


def test_a_wrapped_key_with_any_changed_byte_does_not_decrypt():
    encrypted = AesCipher(MASTER).encrypt(DOCUMENT, NAME)
    assert encrypted.wrapped_key is not None
    for at in range(len(encrypted.wrapped_key)):
        changed = bytearray(encrypted.wrapped_key)
        changed[at] ^= 1
        refuses(AesCipher(MASTER), encrypted.document, bytes(changed))


@pytest.mark.parametrize("length", [0, 1, 11, 12, 27])
def test_a_truncated_document_does_not_decrypt(length: int):
    encrypted = AesCipher(MASTER).encrypt(DOCUMENT, NAME)
    refuses(AesCipher(MASTER), encrypted.document[:length], encrypted.wrapped_key)


@pytest.mark.parametrize("length", [0, 1, 8, 9, 68])
def test_a_truncated_wrapped_key_does_not_decrypt(length: int):
    encrypted = AesCipher(MASTER).encrypt(DOCUMENT, NAME)
    assert encrypted.wrapped_key is not None
    refuses(AesCipher(MASTER), encrypted.document, encrypted.wrapped_key[:length])


def test_a_missing_master_key_is_logged_as_critical_with_its_id(caplog: pytest.LogCaptureFixture):
    encrypted = AesCipher(OLD).encrypt(DOCUMENT, NAME)
    refuses(AesCipher(MASTER), encrypted.document, encrypted.wrapped_key)
    (record,) = caplog.records
    assert record.levelno == logging.CRITICAL
    assert vars(record)["key_id"] == identify_key(OLD).hex()
    assert OLD.hex() not in str(vars(record))


def test_documents_still_decrypt_with_the_previous_master_key():
    encrypted = AesCipher(OLD).encrypt(DOCUMENT, NAME)
    rotated = AesCipher(MASTER, OLD)
    assert rotated.decrypt(encrypted.document, encrypted.wrapped_key, NAME) == DOCUMENT


def test_a_rewrapped_key_no_longer_needs_the_previous_master_key():
    encrypted = AesCipher(OLD).encrypt(DOCUMENT, NAME)
    assert encrypted.wrapped_key is not None
    wrapped = AesCipher(MASTER, OLD).rewrap(encrypted.wrapped_key, NAME)
    assert AesCipher(MASTER).decrypt(encrypted.document, wrapped, NAME) == DOCUMENT
    refuses(AesCipher(OLD), encrypted.document, wrapped)


def test_a_key_wrapped_with_the_current_master_key_is_not_wrapped_again():
    encrypted = AesCipher(MASTER).encrypt(DOCUMENT, NAME)
    assert encrypted.wrapped_key is not None
    assert AesCipher(MASTER, OLD).rewrap(encrypted.wrapped_key, NAME) is None


def test_a_key_wrapped_with_an_unknown_master_key_is_not_rewrapped():
    encrypted = AesCipher(OTHER).encrypt(DOCUMENT, NAME)
    assert encrypted.wrapped_key is not None
    with pytest.raises(Unavailable):
        AesCipher(MASTER, OLD).rewrap(encrypted.wrapped_key, NAME)


def test_a_document_stored_before_encryption_stays_readable():
    assert AesCipher(MASTER).decrypt(DOCUMENT, None, NAME) == DOCUMENT


def test_an_encrypted_document_stays_readable_after_encryption_is_disabled():
    encrypted = AesCipher(MASTER).encrypt(DOCUMENT, NAME)
    plain = PlainCipher(AesCipher(MASTER))
    assert plain.decrypt(encrypted.document, encrypted.wrapped_key, NAME) == DOCUMENT
    assert plain.encrypt(DOCUMENT, NAME).document == DOCUMENT
    assert plain.encrypt(DOCUMENT, NAME).wrapped_key is None


def test_an_encrypted_document_without_a_master_key_is_logged_as_critical(
    caplog: pytest.LogCaptureFixture,
):
    encrypted = AesCipher(MASTER).encrypt(DOCUMENT, NAME)
    code = refuses(PlainCipher(), encrypted.document, encrypted.wrapped_key)
    assert code == Code.STORAGE_UNAVAILABLE
    assert [record.levelno for record in caplog.records] == [logging.CRITICAL]


def test_documents_encrypted_by_earlier_versions_can_be_decrypted():
    document = bytes.fromhex(
        "969ffcee09020751818973d1185b1db34ed6b9d388ce12746a52950c744a24495f34a4979d5779dba9844dc0"
        "5697"
    )
    wrapped_key = bytes.fromhex(
        "018ad84d63f2d5bf5e6ff153824089bc856ef6eaee4bd5768ea8c00b5ad19e7090e94d37b73f8666143a637a"
        "3c0868ee0e9a483c20937fa5aa48c354a0c84ffbca2c3f7c23"
    )
    cipher = AesCipher(bytes(range(32)))
    assert cipher.decrypt(document, wrapped_key, "0xa1_7") == b'{"content":"kept"}'


@pytest.mark.parametrize("key", [b"", b"short", b"k" * 33])
def test_a_master_key_of_the_wrong_length_is_refused(key: bytes):
    with pytest.raises(ValueError, match="32 bytes"):
        AesCipher(key)


def test_the_previous_master_key_must_differ_from_the_current_one():
    with pytest.raises(ValueError, match="the same"):
        AesCipher(MASTER, MASTER)
