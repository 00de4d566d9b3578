"""URIs and authorities, as defined by RFC 3986."""

import pytest

from imprint.auth.login_message import Authority, NotAUri, parse_authority, parse_uri


@pytest.mark.parametrize(
    ("text", "scheme", "authority"),
    [
        ("https://example.com", "https", "example.com"),
        ("https://example.com:8080/a/b?c=d/?e#f/?g", "https", "example.com:8080"),
        ("HTTPS://Example.Com/%7Eme", "HTTPS", "Example.Com"),
        ("https://[::cafe]:1/", "https", "[::cafe]:1"),
        ("https://[v1.a:b]", "https", "[v1.a:b]"),
        ("https://user:pass@example.com", "https", "user:pass@example.com"),
        ("file:///etc", "file", ""),
        ("ipfs://bafy/", "ipfs", "bafy"),
        ("urn:isbn:0451450523", "urn", None),
        ("did:key:z6Mk", "did", None),
        ("a:", "a", None),
        ("a:/b//c", "a", None),
        ("https://example.com?q#", "https", "example.com"),
    ],
)
def test_a_valid_uri_is_parsed(text: str, scheme: str, authority: str | None) -> None:
    uri = parse_uri(text)
    assert (uri.text, uri.scheme, uri.authority) == (text, scheme, authority)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":not",
        "1a:b",
        "/relative",
        "example.com/path",
        "https://exa mple.com",
        "https://example.com/a b",
        "https://example.com/%zz",
        "https://example.com/%4",
        "https://example.com/#a#b",
        "https://example.com/<x>",
        'https://example.com/"',
        "https://example.com/{x}",
        "https://example.com/a\\b",
        "https://example.com/é",
        "https://example.com/\n",
        "https://a@b@c",
        "https://example.com:80:80",
        "https://example.com:8a",
        "https://[::1",
        "https://::1]",
        "https://[::g]",
        "https://[1::2::3]",
        "https://[::1%25eth0]",
        "https://[1.2.3.4]",
        "https://[v1]",
        "https://[::1]x",
    ],
)
def test_an_invalid_uri_is_refused(text: str) -> None:
    with pytest.raises(NotAUri):
        parse_uri(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("example.com", Authority("example.com")),
        ("127.0.0.1:8080", Authority("127.0.0.1", port="8080")),
        ("example.com:", Authority("example.com", port="")),
        ("[::1]", Authority("[::1]")),
        ("me:secret@[::1]:1", Authority("[::1]", "me:secret", "1")),
        ("@example.com", Authority("example.com", "")),
        (":8080", Authority("", port="8080")),
        ("", Authority("")),
    ],
)
def test_an_authority_is_split_into_its_parts(text: str, parts: Authority) -> None:
    assert parse_authority(text) == parts
