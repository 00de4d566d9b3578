"""When documents are encrypted, and which keys are accepted."""

import base64

import pytest
from tests.settings.environments import KEY, PINATA, problems_of, read

from imprint.settings import Secret
from imprint.settings.groups import decode_key

OLD = "e1b8402f7a6dc95301f4827bd0ce593a6f18a5d07b34e29c8855c3f1607ad92e"
KUBO = "kubo:http://127.0.0.1:5001"


def encrypts(**given: str) -> bool:
    settings = read(**given)
    return settings.encryption.encrypts(settings.storage.content)


@pytest.mark.parametrize("place", ["embedded", "pinata"])
def test_documents_in_a_private_store_are_not_encrypted(place: str):
    assert not encrypts(CONTENT_STORE=place, **PINATA)


@pytest.mark.parametrize("place", [KUBO, "pinata-public"])
def test_documents_on_a_public_network_are_encrypted(place: str):
    assert encrypts(CONTENT_STORE=place, **PINATA, ENCRYPTION_KEY=KEY)


def test_documents_in_a_bucket_are_encrypted_if_there_is_a_key():
    assert not encrypts(CONTENT_STORE="s3://bucket")
    assert encrypts(CONTENT_STORE="s3://bucket", ENCRYPTION_KEY=KEY)
    assert not encrypts(CONTENT_STORE="s3://bucket", ENCRYPTION_KEY=KEY, ENCRYPTION="off")


def test_encryption_can_be_switched_on_anywhere():
    assert encrypts(ENCRYPTION="on", ENCRYPTION_KEY=KEY)


@pytest.mark.parametrize("given", [{"ENCRYPTION": "on"}, {"CONTENT_STORE": KUBO}])
def test_encryption_without_a_key_is_refused(given: dict[str, str]):
    (problem,) = problems_of(**given)
    assert problem.startswith("IMPRINT_ENCRYPTION_KEY is missing, and IMPRINT_ENCRYPTION is '")
    assert problem.endswith("openssl rand -hex 32")


@pytest.mark.parametrize("place", [KUBO, "pinata-public"])
def test_switching_encryption_off_on_a_public_network_needs_confirmation(place: str):
    (problem,) = problems_of(CONTENT_STORE=place, **PINATA, ENCRYPTION="off", ENCRYPTION_KEY=KEY)
    assert "IMPRINT_ALLOW_READABLE_DOCUMENTS=on" in problem


def test_encryption_can_be_switched_off_on_a_public_network_if_confirmed():
    assert not encrypts(CONTENT_STORE=KUBO, ENCRYPTION="off", ALLOW_READABLE_DOCUMENTS="on")


@pytest.mark.parametrize(
    "spelled",
    [
        KEY,
        KEY.upper(),
        base64.b64encode(bytes.fromhex(KEY)).decode(),
        base64.urlsafe_b64encode(bytes.fromhex(KEY)).decode().rstrip("="),
    ],
)
def test_a_key_is_hex_or_base64(spelled: str):
    key = read(ENCRYPTION_KEY=spelled).encryption.key
    assert key is not None
    assert decode_key(key) == bytes.fromhex(KEY)


@pytest.mark.parametrize("text", [KEY[:-2], KEY + "00", "not a key at all, not at all, no", "AAAA"])
def test_a_malformed_key_is_refused_without_quoting_it(text: str):
    problems = problems_of(ENCRYPTION_KEY=text)
    assert problems[0].startswith("IMPRINT_ENCRYPTION_KEY must be 32 bytes")
    assert text not in "".join(problems)


@pytest.mark.parametrize("text", ["0" * 64, "ab" * 32])
def test_a_repetitive_key_is_refused(text: str):
    assert problems_of(ENCRYPTION_KEY=text) == [
        "IMPRINT_ENCRYPTION_KEY is a repeated pattern; make one with: openssl rand -hex 32."
    ]


def test_a_previous_key_needs_a_current_one():
    problems = problems_of(ENCRYPTION_KEY_PREVIOUS=OLD)
    assert problems == ["IMPRINT_ENCRYPTION_KEY_PREVIOUS is set without IMPRINT_ENCRYPTION_KEY."]


def test_keys_are_secrets():
    settings = read(ENCRYPTION_KEY=KEY, ENCRYPTION_KEY_PREVIOUS=OLD)
    assert {KEY, OLD} <= set(settings.secrets)
    assert KEY not in repr(settings)
    assert settings.encryption.key == Secret(KEY)
