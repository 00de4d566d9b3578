"""What is told to the places where documents are kept."""

import pytest

from imprint.settings.secrets import Secret
from imprint.settings.stores import (
    find_credentials,
    read_authorization,
    read_base,
    read_gateway,
    write_authorization,
)


@pytest.mark.parametrize(
    ("text", "header", "credentials"),
    [
        ("bearer:token:with:colons", "Bearer token:with:colons", ["token:with:colons"] * 2),
        ("basic:u:p:w", "Basic dTpwOnc=", ["p:w", "dTpwOnc="]),
    ],
)
def test_an_authorization_becomes_a_header(text: str, header: str, credentials: list[str]):
    secret = read_authorization(text)
    assert secret == Secret(text)
    assert write_authorization(secret) == header
    assert find_credentials(secret) == credentials


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("Name.mypinata.cloud", "https://name.mypinata.cloud"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ],
)
def test_a_gateway_is_a_host_or_an_origin(text: str, origin: str):
    assert read_gateway(text) == origin


def test_a_base_ends_without_a_slash():
    assert read_base("https://api.example/v3/") == "https://api.example/v3"
