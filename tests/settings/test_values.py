"""Values derived from settings: login domains, page token secrets, text to redact in logs."""

import pytest
from tests.settings.environments import JWT, REQUIRED, read

from imprint.settings import DEVELOPMENT, SETTINGS, Secret, read_settings


def test_the_host_of_the_public_url_is_always_a_login_domain():
    settings = read(PUBLIC_URL="https://Imprint.Example", LOGIN_DOMAINS="App.example:3000")
    assert settings.login_domains == ("imprint.example", "app.example:3000")


def test_every_development_default_belongs_to_a_setting():
    assert set(DEVELOPMENT) <= {each.name for each in SETTINGS}


def test_printed_settings_show_no_secret():
    settings = read_settings(REQUIRED)
    assert JWT not in repr(settings)
    assert "abcdefghijk" not in repr(settings)


def test_the_secrets_include_keys_in_urls():
    url = "postgresql://me:correcthorse@db/x"
    secrets = read_settings(REQUIRED | {"IMPRINT_DATABASE_URL": url}).secrets
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
def test_a_key_is_recognized_anywhere_in_the_url_of_a_node(address: str):
    assert "canary-0123" in read_settings(REQUIRED | {"IMPRINT_CHAIN_RPC_URL": address}).secrets


def test_the_user_name_in_a_database_url_is_not_a_secret():
    url = "postgresql://postgres:correcthorse@db/x"
    assert "postgres" not in read_settings(REQUIRED | {"IMPRINT_DATABASE_URL": url}).secrets


def test_the_password_of_a_database_is_secret_but_not_its_host_or_name():
    url = "postgresql:///manuscripts?host=/run/postgresql&password=correcthorse"
    secrets = read_settings(REQUIRED | {"IMPRINT_DATABASE_URL": url}).secrets
    assert "correcthorse" in secrets
    assert not {"manuscripts", "/run/postgresql"} & {*secrets}


def test_the_derived_page_token_secret_differs_from_the_session_secret():
    current, previous = read_settings(REQUIRED).page_token_secrets
    assert current.reveal() != JWT
    assert previous is None


def test_an_explicit_page_token_secret_is_used_unchanged():
    given = {"IMPRINT_PAGE_TOKEN_SECRET": JWT[::-1]}
    assert read_settings(REQUIRED | given).page_token_secrets == (Secret(JWT[::-1]), None)


def test_derived_page_token_secrets_rotate_with_the_session_secret():
    old, _ = read_settings(REQUIRED).page_token_secrets
    rotated = {"IMPRINT_JWT_SECRET": JWT[::-1], "IMPRINT_JWT_SECRET_PREVIOUS": JWT}
    assert read_settings(REQUIRED | rotated).page_token_secrets[1] == old
