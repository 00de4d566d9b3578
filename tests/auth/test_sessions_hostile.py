"""Sessions that were never issued here are refused, without side effects."""

import hmac
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from hypothesis import given
from hypothesis import strategies as st
from tests.auth.tokens import (
    AT,
    AUDIENCE,
    CLAIMS,
    HEADER,
    ISSUER,
    KEY,
    NOW,
    OTHER,
    READER,
    SESSIONS,
    Refused,
    b64,
    read,
    sign,
)

from imprint.auth.sessions import key_id
from imprint.domain.errors import Code, Refusal

GOOD = sign()
HEAD, BODY, SIGNATURE = GOOD.split(".")
HOSTILE_HEADERS = {
    "empty": "",
    "space": " ",
    "scheme alone": "Bearer",
    "scheme and space": "Bearer ",
    "no scheme": GOOD,
    "other scheme": f"Basic {GOOD}",
    "longer scheme": f"Bearerx {GOOD}",
    "two spaces": f"Bearer  {GOOD}",
    "tab": f"Bearer\t{GOOD}",
    "space before": f" Bearer {GOOD}",
    "space after": f"Bearer {GOOD} ",
    "line feed after": f"Bearer {GOOD}\n",
    "quoted": f'Bearer "{GOOD}"',
    "two tokens": f"Bearer {GOOD}, Bearer {GOOD}",
    "space inside": f"Bearer {HEAD}. {BODY}.{SIGNATURE}",
    "two parts": f"Bearer {HEAD}.{BODY}",
    "four parts": f"Bearer {GOOD}.{SIGNATURE}",
    "five parts": f"Bearer {GOOD}.{HEAD}.{BODY}",
    "empty parts": "Bearer ..",
    "empty header": f"Bearer .{BODY}.{SIGNATURE}",
    "empty claims": f"Bearer {HEAD}..{SIGNATURE}",
    "empty signature": f"Bearer {HEAD}.{BODY}.",
    "padding": f"Bearer {GOOD}=",
    "padding in the header": f"Bearer {HEAD}=.{BODY}.{SIGNATURE}",
    "other alphabet": f"Bearer {HEAD}.{BODY}.{'+' + SIGNATURE[1:]}",
    "not ASCII": f"Bearer {GOOD[:-1]}é",
    "full-width letter": f"Bearer {GOOD[:-1]}\uff21",
    "Arabic digit": f"Bearer {GOOD[:-1]}٣",
    "Kelvin sign in the scheme": f"Bearer \u212a{GOOD}",
    "lone surrogate": f"Bearer {GOOD[:-1]}\ud800",
    "NUL": f"Bearer {GOOD}\0",
    "long": f"Bearer {HEAD}.{BODY + 'A' * 4000}.{SIGNATURE}",
    "very long": "Bearer " + "A" * 10_000_000,
    "header that is no base64": f"Bearer A.{BODY}.{SIGNATURE}",
    "header that is no JSON": f"Bearer AAAA.{BODY}.{SIGNATURE}",
}


@pytest.mark.parametrize("header", HOSTILE_HEADERS.values(), ids=HOSTILE_HEADERS)
def test_a_malformed_header_is_refused(header: str, refused: Refused) -> None:
    assert refused(lambda: SESSIONS.read(header, NOW)) is Code.SESSION_INVALID


def without(claim: str) -> dict[str, Any]:
    return {name: value for name, value in CLAIMS.items() if name != claim}


def unsigned(header: dict[str, Any]) -> str:
    return f"{b64(json.dumps(header).encode())}.{BODY}."


HOSTILE_TOKENS = {
    "alg none": unsigned({**HEADER, "alg": "none"}),
    "alg none with a signature": sign({**HEADER, "alg": "none"}),
    "alg None": sign({**HEADER, "alg": "None"}),
    "alg hs256": sign({**HEADER, "alg": "hs256"}),
    "alg HS384": sign({**HEADER, "alg": "HS384"}, how="sha384"),
    "alg HS512": sign({**HEADER, "alg": "HS512"}, how="sha512"),
    "HS512 called HS256": sign(how="sha512"),
    "alg RS256 signed with our key": sign({**HEADER, "alg": "RS256"}),
    "alg RS256 by a stranger": jwt.encode(
        CLAIMS, generate_private_key(65537, 2048), "RS256", {"kid": key_id(KEY)}
    ),
    "alg as number": sign({**HEADER, "alg": 256}),
    "alg as list": sign({**HEADER, "alg": ["HS256"]}),
    **{
        f"header without {name}": sign({k: v for k, v in HEADER.items() if k != name})
        for name in HEADER
    },
    "typ other": sign({**HEADER, "typ": "at+jwt"}),
    "typ jwt": sign({**HEADER, "typ": "jwt"}),
    "crit": sign({**HEADER, "crit": ["exp"]}),
    "empty crit": sign({**HEADER, "crit": []}),
    "b64": sign({**HEADER, "b64": False}),
    "jku": sign({**HEADER, "jku": "https://evil.example/keys"}),
    "jwk": sign({**HEADER, "jwk": {"kty": "oct", "k": b64(OTHER)}}, key=OTHER),
    "x5u": sign({**HEADER, "x5u": "https://evil.example/cert"}),
    "kid of another key": sign({**HEADER, "kid": key_id(OTHER)}, key=OTHER),
    "kid of another key, signed with ours": sign({**HEADER, "kid": key_id(OTHER)}),
    "kid like a path": sign({**HEADER, "kid": "../../dev/null"}, key=b""),
    "kid empty": sign({**HEADER, "kid": ""}, key=b""),
    "kid null": sign({**HEADER, "kid": None}),
    "kid as list": sign({**HEADER, "kid": [key_id(KEY)]}),
    "our kid, another key": sign(key=OTHER),
    "our kid, an empty key": sign(key=b""),
    "header a list": sign([]),
    "header a text": sign("HS256"),
    "header not UTF-8": sign(b'{"alg":"HS256","typ":"JWT","kid":"\xff"}'),
    "header cut": sign(b'{"alg":"HS256"'),
    "header deep": sign(b"[" * 200),
    "header with an escape of half a character": sign(b'{"kid":"\\ud800"}'),
    "header with text after": sign(json.dumps(HEADER).encode() + b"{}"),
    **{f"without {claim}": sign(claims=without(claim)) for claim in CLAIMS},
    **{f"{claim} null": sign(claims={**CLAIMS, claim: None}) for claim in CLAIMS},
    **{f"{claim} true": sign(claims={**CLAIMS, claim: True}) for claim in CLAIMS},
    **{f"{claim} a number": sign(claims={**CLAIMS, claim: 1}) for claim in CLAIMS},
    **{f"{claim} a list": sign(claims={**CLAIMS, claim: [CLAIMS[claim]]}) for claim in CLAIMS},
    **{
        f"{claim} a text": sign(claims={**CLAIMS, claim: str(CLAIMS[claim])})
        for claim in ("iat", "exp")
    },
    **{
        f"{claim} {value:.8}": sign(
            claims=json.dumps({**CLAIMS, claim: "?"}).replace('"?"', value).encode()
        )
        for claim in ("iat", "exp")
        for value in (
            "1e30",
            "1" + "0" * 30,
            "-1" + "0" * 30,
            "9" * 1000,
            f"{AT + 100}.0",
            f"{AT + 100}.5",
            "NaN",
            "Infinity",
            "-Infinity",
            "1e400",
        )
    },
    "longer than two hours": sign(claims={**CLAIMS, "exp": AT + 7201}),
    "shorter than nothing": sign(claims={**CLAIMS, "iat": AT + 5, "exp": AT + 4}),
    "lasting no time": sign(claims={**CLAIMS, "iat": AT + 5, "exp": AT + 5}),
    "issued in the future": sign(claims={**CLAIMS, "iat": AT + 6, "exp": AT + 100}),
    "sub in mixed case": sign(claims={**CLAIMS, "sub": "0x" + "AB" * 20}),
    "sub without prefix": sign(claims={**CLAIMS, "sub": "ab" * 20}),
    "sub short": sign(claims={**CLAIMS, "sub": READER[:-1]}),
    "sub empty": sign(claims={**CLAIMS, "sub": ""}),
    "another address": sign(claims={**CLAIMS, "address": "0x" + "cd" * 20}),
    "address in mixed case": sign(claims={**CLAIMS, "address": "0x" + "AB" * 20}),
    "address empty": sign(claims={**CLAIMS, "address": ""}),
    "address a number": sign(claims={**CLAIMS, "address": 1}),
    "other iss": sign(claims={**CLAIMS, "iss": "https://evil.example"}),
    "part of iss": sign(claims={**CLAIMS, "iss": ISSUER[:-1]}),
    "other aud": sign(claims={**CLAIMS, "aud": "imprint:1"}),
    "several aud": sign(claims={**CLAIMS, "aud": [AUDIENCE, "x"]}),
    "nbf": sign(claims={**CLAIMS, "nbf": AT + 1000}),
    "claims a list": sign(claims=[]),
    "claims not UTF-8": sign(
        claims=json.dumps(CLAIMS).encode().replace(b"0000", b"\xff\xff\xff\xff")
    ),
    "claims cut": sign(claims=json.dumps(CLAIMS).encode()[:-1]),
    "claims deep": sign(claims=b'{"sub":' + b"[" * 1000),
}


@pytest.mark.parametrize("token", HOSTILE_TOKENS.values(), ids=HOSTILE_TOKENS)
def test_a_hostile_token_is_refused(token: str, refused: Refused) -> None:
    assert refused(lambda: read(token)) is Code.SESSION_INVALID


@pytest.mark.parametrize(("length", "code"), [(2048, None), (2049, Code.SESSION_INVALID)])
def test_a_header_has_at_most_2048_characters(
    length: int, code: Code | None, refused: Refused
) -> None:
    claims = json.dumps(CLAIMS).encode()
    tokens = (sign(claims=claims + b" " * spaces) for spaces in range(2_000))
    token = next(each for each in tokens if len(f"Bearer {each}") >= length)
    assert len(f"Bearer {token}") == length
    assert refused(lambda: read(token)) is code


def test_a_non_canonical_encoding_of_header_or_claims_is_refused(
    refused: Refused,
) -> None:
    def respell(part: str) -> str:
        """Set a bit that decoders ignore, at the end of an encoded part."""
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        return part[:-1] + alphabet[alphabet.index(part[-1]) + 1]

    claims = b64(json.dumps({**CLAIMS, "jti": "x"}).encode())
    header = b64(json.dumps(HEADER).encode())
    assert len(claims) % 4
    assert len(header) % 4
    for signed in (f"{respell(header)}.{claims}", f"{header}.{respell(claims)}"):
        token = f"{signed}.{b64(hmac.digest(KEY, signed.encode(), 'sha256'))}"
        assert refused(lambda t=token: read(t)) is Code.SESSION_INVALID


def test_a_token_with_any_changed_character_is_refused(refused: Refused) -> None:
    for place, old in enumerate(GOOD):
        for new in "A_b.":
            changed = GOOD[:place] + new + GOOD[place + 1 :]
            if new != old:
                assert refused(lambda t=changed: read(t)) is Code.SESSION_INVALID


@given(st.text() | st.text(st.characters(codec="ascii")).map("Bearer {}".format))
def test_an_arbitrary_header_raises_nothing_but_a_refusal(header: str) -> None:
    with pytest.raises(Refusal):
        SESSIONS.read(header, NOW)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_correctly_signed_garbage_raises_nothing_but_a_refusal(
    header: bytes, claims: bytes
) -> None:
    for token in (sign(header, claims), sign(claims=claims)):
        with pytest.raises(Refusal):
            read(token)
