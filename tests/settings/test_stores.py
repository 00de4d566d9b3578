"""The settings of databases and content stores."""

import pytest

from imprint.settings.secrets import Secret
from imprint.settings.stores import (
    authorization_header,
    find_credentials,
    parse_authorization,
    parse_base_url,
    parse_gateway,
)


@pytest.mark.parametrize(
    ("text", "header", "credentials"),
    [
        ("bearer:token:with:colons", "Bearer token:with:colons", ["token:with:colons"] * 2),
        ("basic:u:p:w", "Basic dTpwOnc=", ["p:w", "dTpwOnc="]),
    ],
)
def test_an_authorization_becomes_a_header(text: str, header: str, credentials: list[str]):
    secret = parse_authorization(text)
    assert secret == Secret(text)
    assert authorization_header(secret) == header
    assert find_credentials(secret) == credentials


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("Name.mypinata.cloud", "https://name.mypinata.cloud"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ],
)
def test_a_gateway_is_a_host_or_an_origin(text: str, origin: str):
    assert parse_gateway(text) == origin


def test_a_base_url_has_no_trailing_slash():
    assert parse_base_url("https://api.example/v3/") == "https://api.example/v3"
