"""When documents are encrypted, what that needs, and what is refused on a public network."""

import base64

import pytest

from imprint.settings import Secret, Settings, SettingsProblems, read_settings
from imprint.settings.encryption import decode_key

KEY = "5c7d1f0e93ab48260d51be7fa94c836217e0db3f68a5924cc1f7053eb8d26a94"
OLD = "e1b8402f7a6dc95301f4827bd0ce593a6f18a5d07b34e29c8855c3f1607ad92e"
KUBO = "kubo:http://127.0.0.1:5001"
ENOUGH = {
    "IMPRINT_CHAIN_RPC_URL": "https://rpc.example/v2/abcdefghijk",
    "IMPRINT_CHAIN_ID": "1",
    "IMPRINT_MARKETPLACE_ADDRESS": "0x5fbdb2315678afecb367f032d93f642f64180aa3",
    "IMPRINT_JWT_SECRET": "8c1f0a5be27d4693b1f0c8e9d2a7465f",
    "IMPRINT_PINATA_JWT": "issued-by-pinata",
    "IMPRINT_PINATA_GATEWAY": "gateway.example",
}


def read(**given: str) -> Settings:
    return read_settings(ENOUGH | {f"IMPRINT_{name}": text for name, text in given.items()})


def problems_of(**given: str) -> list[str]:
    with pytest.raises(SettingsProblems) as raised:
        read(**given)
    return raised.value.problems


def encrypts(**given: str) -> bool:
    settings = read(**given)
    return settings.encryption.encrypts(settings.storage.content)


@pytest.mark.parametrize("place", ["embedded", "pinata"])
def test_documents_that_strangers_cannot_fetch_are_stored_as_they_are(place: str):
    assert not encrypts(CONTENT_STORE=place)


@pytest.mark.parametrize("place", [KUBO, "pinata-public"])
def test_documents_on_a_public_network_are_encrypted(place: str):
    assert encrypts(CONTENT_STORE=place, ENCRYPTION_KEY=KEY)


def test_encryption_can_be_switched_on_anywhere():
    assert encrypts(ENCRYPTION="on", ENCRYPTION_KEY=KEY)


@pytest.mark.parametrize("given", [{"ENCRYPTION": "on"}, {"CONTENT_STORE": KUBO}])
def test_encryption_without_a_key_is_refused_in_plain_words(given: dict[str, str]):
    (problem,) = problems_of(**given)
    assert problem.startswith("IMPRINT_ENCRYPTION_KEY is missing, and IMPRINT_ENCRYPTION is '")
    assert problem.endswith("openssl rand -hex 32")


@pytest.mark.parametrize("place", [KUBO, "pinata-public"])
def test_encryption_is_not_switched_off_by_accident_where_strangers_read(place: str):
    (problem,) = problems_of(CONTENT_STORE=place, ENCRYPTION="off", ENCRYPTION_KEY=KEY)
    assert "IMPRINT_ALLOW_READABLE_DOCUMENTS=on" in problem


def test_encryption_is_switched_off_for_whoever_insists():
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
def test_a_text_that_is_no_key_is_refused_without_showing_it(text: str):
    problems = problems_of(ENCRYPTION_KEY=text)
    assert problems[0].startswith("IMPRINT_ENCRYPTION_KEY must be 32 bytes")
    assert text not in "".join(problems)


@pytest.mark.parametrize("text", ["0" * 64, "ab" * 32])
def test_a_key_that_anybody_could_guess_is_refused(text: str):
    assert problems_of(ENCRYPTION_KEY=text) == [
        "IMPRINT_ENCRYPTION_KEY repeats itself; make one with: openssl rand -hex 32."
    ]


def test_a_previous_key_needs_a_current_one():
    problems = problems_of(ENCRYPTION_KEY_PREVIOUS=OLD)
    assert problems == ["IMPRINT_ENCRYPTION_KEY_PREVIOUS is given without IMPRINT_ENCRYPTION_KEY."]


def test_keys_are_never_logged():
    settings = read(ENCRYPTION_KEY=KEY, ENCRYPTION_KEY_PREVIOUS=OLD)
    assert {KEY, OLD} <= set(settings.secrets)
    assert KEY not in repr(settings)
    assert settings.encryption.key == Secret(KEY)
