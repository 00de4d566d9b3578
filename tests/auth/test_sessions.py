"""Sessions: ours are read, by us and by any reader of JWTs; all others are refused."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from hypothesis import given
from hypothesis import strategies as st

from imprint.auth.sessions import Session, SessionKeys, Sessions, key_id
from imprint.domain.addresses import Address
from imprint.domain.refusals import Code, Refusal

KEY, OTHER = b"k" * 32, b"o" * 32
ISSUER, AUDIENCE = "https://imprint.example", "imprint:31337"
READER = Address("0x" + "ab" * 20)
NOW = datetime(2030, 1, 31, 12, 0, 0, 999_999, tzinfo=UTC)
AT = int(NOW.timestamp())
SESSIONS = Sessions(SessionKeys(KEY), ISSUER, AUDIENCE)
HEADER = {"alg": "HS256", "typ": "JWT", "kid": key_id(KEY)}
CLAIMS = {
    "sub": READER,
    "iss": ISSUER,
    "aud": AUDIENCE,
    "iat": AT,
    "exp": AT + 7200,
    "jti": "00" * 16,
}
Refused = Callable[[Callable[[], object]], Code | None]


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(header: Any = None, claims: Any = None, key: bytes = KEY, how: str = "sha256") -> str:
    """A token of any header and claims; texts and bytes are taken as they are."""
    parts = [
        part if isinstance(part, bytes) else json.dumps(part).encode()
        for part in (HEADER if header is None else header, CLAIMS if claims is None else claims)
    ]
    signed = ".".join(map(b64, parts))
    return f"{signed}.{b64(hmac.digest(key, signed.encode(), how))}"


def read(token: str, now: datetime = NOW, sessions: Sessions = SESSIONS) -> Session:
    return sessions.read(f"Bearer {token}", now)


def test_an_issued_session_is_read_back() -> None:
    issued = SESSIONS.issue(READER, NOW)
    assert issued.expires_at == datetime.fromtimestamp(AT + 7200, UTC)
    assert read(issued.token) == Session(READER, issued.expires_at)


def test_another_implementation_reads_an_issued_session() -> None:
    random = Sessions(SessionKeys(KEY), ISSUER, AUDIENCE, random_bytes=lambda n: b"\x07" * n)
    token = random.issue(READER, NOW).token
    options: Any = {"verify_exp": False, "verify_iat": False, "require": list(CLAIMS)}
    claims = jwt.decode(
        token, KEY, algorithms=["HS256"], audience=AUDIENCE, issuer=ISSUER, options=options
    )
    assert claims == {**CLAIMS, "jti": "07" * 16}
    assert jwt.get_unverified_header(token) == HEADER


def test_a_session_of_another_implementation_is_read() -> None:
    token = jwt.encode(CLAIMS, KEY, algorithm="HS256", headers={"kid": key_id(KEY)})
    assert read(token) == Session(READER, datetime.fromtimestamp(AT + 7200, UTC))


def test_no_two_sessions_are_the_same() -> None:
    assert SESSIONS.issue(READER, NOW) != SESSIONS.issue(READER, NOW)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_the_scheme_is_read_in_any_case(scheme: str) -> None:
    assert SESSIONS.read(f"{scheme} {sign()}", NOW).address == READER


def test_no_header_is_a_missing_session(refused: Refused) -> None:
    assert refused(lambda: SESSIONS.read(None, NOW)) is Code.SESSION_MISSING


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
def test_any_other_header_is_refused(header: str, refused: Refused) -> None:
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
    "issued in the future": sign(claims={**CLAIMS, "iat": AT + 6, "exp": AT + 100}),
    "sub in mixed case": sign(claims={**CLAIMS, "sub": "0x" + "AB" * 20}),
    "sub without prefix": sign(claims={**CLAIMS, "sub": "ab" * 20}),
    "sub short": sign(claims={**CLAIMS, "sub": READER[:-1]}),
    "sub empty": sign(claims={**CLAIMS, "sub": ""}),
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


def test_a_second_spelling_of_header_or_claims_is_refused_though_well_signed(
    refused: Refused,
) -> None:
    def respell(part: str) -> str:
        """Set a bit that decoding drops."""
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        return part[:-1] + alphabet[alphabet.index(part[-1]) + 1]

    claims = b64(json.dumps({**CLAIMS, "jti": "x"}).encode())
    header = b64(json.dumps(HEADER).encode())
    assert len(claims) % 4
    assert len(header) % 4
    for signed in (f"{respell(header)}.{claims}", f"{header}.{respell(claims)}"):
        token = f"{signed}.{b64(hmac.digest(KEY, signed.encode(), 'sha256'))}"
        assert refused(lambda t=token: read(t)) is Code.SESSION_INVALID


def test_any_changed_character_is_refused(refused: Refused) -> None:
    for place, old in enumerate(GOOD):
        for new in "A_b.":
            changed = GOOD[:place] + new + GOOD[place + 1 :]
            if new != old:
                assert refused(lambda t=changed: read(t)) is Code.SESSION_INVALID


@pytest.mark.parametrize(
    ("later", "code"),
    [
        (timedelta(seconds=7199), None),
        (timedelta(seconds=7200), Code.SESSION_EXPIRED),
        (timedelta(days=3650), Code.SESSION_EXPIRED),
    ],
)
def test_a_session_lasts_two_hours(later: timedelta, code: Code | None, refused: Refused) -> None:
    token = SESSIONS.issue(READER, NOW.replace(microsecond=0)).token
    assert refused(lambda: read(token, NOW.replace(microsecond=0) + later)) is code


@pytest.mark.parametrize(("ahead", "code"), [(5, None), (6, Code.SESSION_INVALID)])
def test_the_clock_of_the_issuer_may_run_five_seconds_ahead(
    ahead: int, code: Code | None, refused: Refused
) -> None:
    now = NOW.replace(microsecond=0)
    token = SESSIONS.issue(READER, now + timedelta(seconds=ahead)).token
    assert refused(lambda: read(token, now)) is code


def test_after_a_rotation_the_previous_key_still_reads_but_no_longer_signs(
    refused: Refused,
) -> None:
    old = SESSIONS.issue(READER, NOW).token
    rotated = Sessions(SessionKeys(OTHER, previous=KEY), ISSUER, AUDIENCE)
    new = rotated.issue(READER, NOW).token
    assert read(old, sessions=rotated).address == read(new, sessions=rotated).address == READER
    assert jwt.get_unverified_header(new)["kid"] == key_id(OTHER)
    assert refused(lambda: read(new)) is Code.SESSION_INVALID
    forgotten = Sessions(SessionKeys(OTHER), ISSUER, AUDIENCE)
    assert refused(lambda: read(old, sessions=forgotten)) is Code.SESSION_INVALID


@pytest.mark.parametrize("keys", [(b"k" * 31, None), (KEY, b"o" * 31), (b"", None), (KEY, b"")])
def test_a_short_key_is_not_taken(keys: tuple[bytes, bytes | None]) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        SessionKeys(*keys)


def test_neither_keys_nor_sessions_show_themselves() -> None:
    issued = SESSIONS.issue(READER, NOW)
    assert "kkkk" not in repr(SessionKeys(KEY, KEY))
    assert issued.token not in repr(issued)


def test_the_name_of_a_key_is_not_the_start_of_its_plain_hash() -> None:
    assert key_id(KEY) != hashlib.sha256(KEY).hexdigest()[:8]


@given(st.text() | st.text(st.characters(codec="ascii")).map("Bearer {}".format))
def test_only_a_refusal_ever_escapes(header: str) -> None:
    with pytest.raises(Refusal):
        SESSIONS.read(header, NOW)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_only_a_refusal_ever_escapes_from_signed_nonsense(header: bytes, claims: bytes) -> None:
    for token in (sign(header, claims), sign(claims=claims)):
        with pytest.raises(Refusal):
            read(token)
