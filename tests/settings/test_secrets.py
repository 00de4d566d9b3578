"""Secrets: what is refused, and that none is ever shown."""

import pickle

import pytest
from tests.settings.test_loader import ENOUGH, JWT

from imprint.settings import DEVELOPMENT, Secret, SettingsProblems, read_settings
from imprint.settings.secrets import find_weakness


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x" * 31,
        "changeme-changeme-changeme-please-now",
        "this-is-my-supersecret-text-for-jwt-1234",
        "your-256-bit-key-goes-right-here-0192837465",
        "whsec_short",
    ],
)
def test_what_protects_nothing_is_refused(text: str):
    assert find_weakness(Secret(text)) is not None


@pytest.mark.parametrize("text", [JWT, "é" * 4 + JWT[:24]])
def test_a_random_text_is_taken(text: str):
    assert find_weakness(Secret(text)) is None


@pytest.mark.parametrize("text", ["a" * 32, "0123456789abcdef" * 2])
def test_what_repeats_itself_is_taken_with_a_warning(text: str):
    settings = read_settings(ENOUGH | {"IMPRINT_JWT_SECRET": text})
    assert [warning.split(" and ")[0] for warning in settings.warnings] == [
        "IMPRINT_JWT_SECRET repeats itself"
    ]
    assert text not in str(settings.warnings)


def test_good_secrets_need_no_warning():
    assert read_settings(ENOUGH).warnings == ()


@pytest.mark.parametrize("name", ["JWT_SECRET", "WEBHOOK_A_SECRET", "WEBHOOK_B_SECRET"])
def test_while_developing_every_given_secret_wins(name: str):
    given = {f"IMPRINT_{name}": "changeme"}
    settings = read_settings(given, defaults=DEVELOPMENT, check_secrets=False)
    assert "changeme" in settings.secrets
    assert settings.warnings == ()


@pytest.mark.parametrize("own", ["JWT_SECRET", "JWT_SECRET_PREVIOUS", "PAGE_TOKEN_SECRET"])
@pytest.mark.parametrize("shared", ["WEBHOOK_A_SECRET", "WEBHOOK_B_SECRET"])
def test_what_a_provider_knows_is_no_secret_of_ours(own: str, shared: str):
    given = {f"IMPRINT_{own}": JWT[::-1], f"IMPRINT_{shared}": JWT[::-1]}
    with pytest.raises(SettingsProblems) as raised:
        read_settings(ENOUGH | given)
    assert raised.value.problems == [
        f"IMPRINT_{shared} is the same as IMPRINT_{own}, and the provider of deliveries knows it."
    ]


def test_two_providers_with_one_secret_are_warned_about():
    given = dict.fromkeys(("IMPRINT_WEBHOOK_A_SECRET", "IMPRINT_WEBHOOK_B_SECRET"), JWT[::-1])
    assert read_settings(ENOUGH | given).warnings == (
        "IMPRINT_WEBHOOK_B_SECRET is the same as IMPRINT_WEBHOOK_A_SECRET;"
        " every secret should be its own.",
    )


def test_a_secret_may_be_its_own_predecessor():
    assert read_settings(ENOUGH | {"IMPRINT_JWT_SECRET_PREVIOUS": JWT}).warnings == ()


def test_a_secret_never_shows_itself():
    secret = Secret(JWT)
    assert JWT not in f"{secret} {secret!r} {secret!s} {secret:>40} {[secret]}"


def test_a_secret_is_not_pickled():
    with pytest.raises(TypeError):
        pickle.dumps(Secret(JWT))


def test_the_settings_never_show_a_secret():
    settings = read_settings(ENOUGH)
    assert JWT not in repr(settings)
    assert "abcdefghijk" not in repr(settings)


def test_no_problem_quotes_a_secret():
    given = {"IMPRINT_JWT_SECRET": "hunter2", "IMPRINT_CHAIN_RPC_URL": "ftp://node/hunter2"}
    with pytest.raises(SettingsProblems) as raised:
        read_settings(ENOUGH | given)
    assert "hunter2" not in str(raised.value)


def test_the_list_of_secrets_has_the_keys_in_addresses():
    url = "postgresql://me:correcthorse@db/x"
    secrets = read_settings(ENOUGH | {"IMPRINT_DATABASE_URL": url}).secrets
    assert {JWT, "abcdefghijk", "correcthorse"} <= set(secrets)


@pytest.mark.parametrize(
    "address",
    [
        "https://canary-0123@node.example",
        "https://canary-0123:x@node.example",
        "https://me:canary-0123@node.example",
        "https://node.example/v2/canary-0123",
        "https://node.example/?network=main&apikey=canary-0123",
        "https://node.example/?canary-0123",
        "https://me:canary%2D0123@node.example",
        "https://node.example/?key=canary%2D0123",
    ],
)
def test_a_key_is_found_wherever_it_stands_in_an_address(address: str):
    assert "canary-0123" in read_settings(ENOUGH | {"IMPRINT_CHAIN_RPC_URL": address}).secrets


def test_the_name_of_a_databases_user_is_no_secret():
    url = "postgresql://postgres:correcthorse@db/x"
    assert "postgres" not in read_settings(ENOUGH | {"IMPRINT_DATABASE_URL": url}).secrets


def test_page_tokens_have_a_secret_of_their_own_even_when_derived():
    current, previous = read_settings(ENOUGH).page_token_secrets
    assert current.reveal() != JWT
    assert previous is None


def test_a_given_page_token_secret_is_used_as_it_is():
    given = {"IMPRINT_PAGE_TOKEN_SECRET": JWT[::-1]}
    assert read_settings(ENOUGH | given).page_token_secrets == (Secret(JWT[::-1]), None)


def test_derived_page_token_secrets_rotate_with_the_sessions():
    old, _ = read_settings(ENOUGH).page_token_secrets
    rotated = {"IMPRINT_JWT_SECRET": JWT[::-1], "IMPRINT_JWT_SECRET_PREVIOUS": JWT}
    assert read_settings(ENOUGH | rotated).page_token_secrets[1] == old


def test_a_secret_that_a_provider_issued_may_be_shorter():
    text = "whsec_9f3hQ2mLzX7kVb1Tg8Rp"
    assert find_weakness(Secret(text), issued=True) is None
    assert find_weakness(Secret(text)) == "is 26 bytes long; it must have at least 32"
