"""Logins and sessions over HTTP: who gets a session, what it permits, and when it ends."""

import base64
import json
from datetime import datetime, timedelta
from pathlib import Path

import jwt
import pytest
from tests.world import DOMAIN, ORIGIN, MovableClock, Wallet, World, open_world, problem

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_login_returns_a_session_for_two_hours(town: World) -> None:
    alice = town.stranger()
    response = await town.client.post("/auth/login", json=alice.sign_login(alice.login_message()))
    assert response.status_code == 200
    body = response.json()
    assert body.keys() == {"token", "address", "expiresIn", "expiresAt"}
    assert (body["address"], body["expiresIn"]) == (alice.address, "2h")
    expires = datetime.fromisoformat(body["expiresAt"])
    assert abs(expires - town.clock.now() - timedelta(hours=2)) <= timedelta(seconds=1)


@pytest.mark.parametrize(
    ("seconds", "text"), [("60", "1m"), ("90", "90s"), ("3600", "1h"), ("5400", "90m")]
)
async def test_the_lifetime_of_a_session_is_configurable(
    tmp_path: Path, seconds: str, text: str
) -> None:
    async with open_world(tmp_path, SESSION_SECONDS=seconds) as world:
        alice = world.wallet(1)
        body = alice.sign_login(alice.login_message())
        response = (await world.client.post("/auth/login", json=body)).json()
        assert response["expiresIn"] == text
        lasts = datetime.fromisoformat(response["expiresAt"]) - world.clock.now()
        assert abs(lasts - timedelta(seconds=int(seconds))) <= timedelta(seconds=1)
        session = {"Authorization": f"Bearer {response['token']}"}
        world.clock.advance(int(seconds) - 1)
        assert (await world.client.get("/me/feeds", headers=session)).status_code == 200
        world.clock.advance(1)
        refused = await world.client.get("/me/feeds", headers=session)
        assert problem(refused) == (401, "session_expired")


async def test_a_shorter_configured_lifetime_does_not_affect_issued_sessions(
    tmp_path: Path,
) -> None:
    clock = MovableClock()
    async with open_world(tmp_path, clock=clock) as world:
        session = await world.login(world.wallet(1))
    clock.advance(7000)
    async with open_world(tmp_path, clock=clock, SESSION_SECONDS="60") as world:
        assert (await world.client.get("/me/feeds", headers=session)).status_code == 200


async def test_an_authorization_header_without_bearer_is_refused_with_a_hint(town: World) -> None:
    token = (await town.login(town.stranger()))["Authorization"].removeprefix("Bearer ")
    response = await town.client.get("/me/feeds", headers={"Authorization": token})
    assert problem(response) == (401, "session_invalid")
    assert "Bearer is missing" in response.json()["detail"]


async def test_a_login_is_never_cached(town: World) -> None:
    alice = town.stranger()
    response = await town.client.post("/auth/login", json=alice.sign_login(alice.login_message()))
    assert response.headers["cache-control"] == "no-store"


async def test_a_session_token_has_the_documented_header_and_claims(town: World) -> None:
    alice = town.stranger()
    token = (await town.login(alice))["Authorization"].removeprefix("Bearer ")
    header, claims = (
        json.loads(base64.urlsafe_b64decode(part + "==")) for part in token.split(".")[:2]
    )
    assert (header["alg"], header["typ"]) == ("HS256", "JWT")
    assert header.keys() == {"alg", "typ", "kid"}
    assert claims.keys() == {"sub", "iss", "aud", "iat", "exp", "jti", "address"}
    assert claims["sub"] == claims["address"] == alice.address
    assert claims["exp"] - claims["iat"] == 7200


async def test_a_login_message_is_accepted_only_once(town: World) -> None:
    alice = town.stranger()
    body = alice.sign_login(alice.login_message())
    assert (await town.client.post("/auth/login", json=body)).status_code == 200
    assert problem(await town.client.post("/auth/login", json=body)) == (409, "nonce_used")


async def test_the_same_login_nonce_can_be_used_by_two_wallets(town: World) -> None:
    alice, eve = town.stranger(), town.stranger()
    for wallet in (eve, alice):
        body = wallet.sign_login(wallet.login_message(nonce="predictable1"))
        assert (await town.client.post("/auth/login", json=body)).status_code == 200


async def test_a_login_without_a_uri_line_is_accepted(town: World) -> None:
    alice = town.stranger()
    message = alice.login_message().replace(f"URI: http://{DOMAIN}/\n", "")
    response = await town.client.post("/auth/login", json=alice.sign_login(message))
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("age", "accepted"), [(-6, False), (-5, True), (0, True), (60, True), (61, False)]
)
async def test_a_login_may_be_at_most_60_seconds_old_and_5_seconds_ahead(
    town: World, age: int, accepted: bool
) -> None:
    alice = town.stranger()
    issued = (town.clock.now() - timedelta(seconds=age)).isoformat().replace("+00:00", "Z")
    body = alice.sign_login(alice.login_message(issued=issued))
    response = await town.client.post("/auth/login", json=body)
    if accepted:
        assert response.status_code == 200
    else:
        assert problem(response) == (401, "signature_stale")


@pytest.mark.parametrize(
    "line",
    ["Expiration Time: {past}", "Not Before: {future}"],
    ids=["expired", "not valid yet"],
)
async def test_a_login_outside_its_validity_period_is_stale(town: World, line: str) -> None:
    alice = town.stranger()
    minute = timedelta(minutes=1)
    times = {
        "past": (town.clock.now() - minute).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "future": (town.clock.now() + minute).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    message = f"{alice.login_message()}\n{line.format(**times)}"
    response = await town.client.post("/auth/login", json=alice.sign_login(message))
    assert problem(response) == (401, "signature_stale")


WRONG_MESSAGES = {
    "another domain": lambda m: m.replace(DOMAIN, "evil.example"),
    "a subdomain": lambda m: m.replace(DOMAIN, f"www.{DOMAIN}"),
    "another port": lambda m: m.replace(DOMAIN, f"{DOMAIN}:81"),
    "user information before the domain": lambda m: m.replace(DOMAIN, f"{DOMAIN}@evil.example"),
    "a URI elsewhere": lambda m: m.replace(f"http://{DOMAIN}/", "http://evil.example/"),
    "another chain": lambda m: m.replace("Chain ID: 31337", "Chain ID: 1"),
    "another version": lambda m: m.replace("Version: 1", "Version: 2"),
    "a short nonce": lambda m: _replace_line(m, "Nonce: ", "abc1234"),
    "a nonce with a sign": lambda m: _replace_line(m, "Nonce: ", "abcdefgh_1"),
    "CRLF": lambda m: m.replace("\n", "\r\n"),
    "a tab": lambda m: m.replace("Welcome back", "Welcome\tback"),
    "Issued At in the statement": lambda m: m.replace(
        "Welcome back", "Issued At: 2999-01-01T00:00:00Z\nWelcome back"
    ),
    "an extra line": lambda m: m + "\nIssued At: 2999-01-01T00:00:00Z",
    "a week date": lambda m: _replace_line(m, "Issued At: ", "2024-W42-3"),
    "a time without a zone": lambda m: _replace_line(m, "Issued At: ", "2026-01-01T00:00:00"),
    "no Issued At": lambda m: m.partition("\nIssued At: ")[0],
    "more than 4096 bytes": lambda m: m.replace("Welcome back", "a" * 4097),
    "something else": lambda m: "I sign anything",
    "nothing": lambda m: "",
}


def _replace_line(message: str, label: str, value: str) -> str:
    lines = [label + value if line.startswith(label) else line for line in message.split("\n")]
    return "\n".join(lines)


@pytest.mark.parametrize("change", WRONG_MESSAGES.values(), ids=WRONG_MESSAGES.keys())
async def test_a_login_message_for_another_service_is_refused(town: World, change) -> None:
    alice = town.stranger()
    body = alice.sign_login(change(alice.login_message()))
    response = await town.client.post("/auth/login", json=body)
    assert problem(response) == (400, "invalid_login_message")


async def test_a_login_signed_by_another_wallet_is_refused(town: World) -> None:
    alice, eve = town.stranger(), town.stranger()
    body = eve.sign_login(alice.login_message()) | {"address": alice.account.address}
    response = await town.client.post("/auth/login", json=body)
    assert problem(response) == (401, "signature_invalid")


async def test_the_claimed_address_must_match_the_login_message(town: World) -> None:
    alice, eve = town.stranger(), town.stranger()
    body = alice.sign_login(alice.login_message()) | {"address": eve.account.address}
    response = await town.client.post("/auth/login", json=body)
    assert problem(response) == (401, "signature_invalid")


async def test_a_refused_login_spends_no_nonce(town: World) -> None:
    alice = town.stranger()
    body = alice.sign_login(alice.login_message())
    refused = await town.client.post("/auth/login", json=body | {"signature": "0x" + "11" * 65})
    assert problem(refused) == (401, "signature_invalid")
    assert (await town.client.post("/auth/login", json=body)).status_code == 200


async def _ask(world: World, wallet: Wallet, authorization: str | None) -> tuple[int, str]:
    headers = {} if authorization is None else {"Authorization": authorization}
    params = {"owner": wallet.address}
    response = await world.client.get("/pendingFilesByOwner", params=params, headers=headers)
    if response.status_code == 200:
        return 200, ""
    # A refusal that a client can resolve by signing in contains a bearer challenge.
    assert response.headers["www-authenticate"].startswith("Bearer")
    return problem(response)


@pytest.mark.parametrize(
    "path", ["/fileByCid?cid=x", "/pendingFilesByOwner?owner=x", "/fileByPostId?user=x&postId=1"]
)
async def test_a_protected_read_without_a_session_gets_a_bearer_challenge(
    town: World, path: str
) -> None:
    response = await town.client.get(path)
    assert problem(response) == (401, "session_missing")
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_authorization_scheme_is_case_insensitive(town: World, scheme: str) -> None:
    alice = town.stranger()
    token = (await town.login(alice))["Authorization"].removeprefix("Bearer ")
    assert await _ask(town, alice, f"{scheme} {token}") == (200, "")


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", "Basic {token}", "{token}", "Bearer {token}x", "Bearer  {token}"],
)
async def test_a_header_without_a_valid_bearer_session_is_refused(
    town: World, authorization: str
) -> None:
    alice = town.stranger()
    token = (await town.login(alice))["Authorization"].removeprefix("Bearer ")
    assert await _ask(town, alice, authorization.format(token=token)) == (401, "session_invalid")


async def test_a_session_in_the_query_string_is_ignored(town: World) -> None:
    alice = town.stranger()
    token = (await town.login(alice))["Authorization"].removeprefix("Bearer ")
    params = {"owner": alice.address, "Authorization": f"Bearer {token}", "token": token}
    response = await town.client.get("/pendingFilesByOwner", params=params)
    assert problem(response) == (401, "session_missing")


HOSTILE_SESSIONS = {
    "unsigned": ({}, {}, "none"),
    "another algorithm": ({}, {}, "HS512"),
    "another key": ({}, {}, "other"),
    "no end": ({"exp": None}, {}, "HS256"),
    "an end in words": ({"exp": "tomorrow"}, {}, "HS256"),
    "three hours": ({"exp": 10_800}, {}, "HS256"),
    "another issuer": ({"iss": "http://elsewhere"}, {}, "HS256"),
    "another audience": ({"aud": "http://elsewhere"}, {}, "HS256"),
    "no subject": ({"sub": None}, {}, "HS256"),
    "an unknown key id": ({}, {"kid": "../../dev/null"}, "HS256"),
    "a critical extension": ({}, {"crit": ["b64"]}, "HS256"),
    "another type": ({}, {"typ": "at+jwt"}, "HS256"),
}


@pytest.mark.parametrize(
    ("claims", "header", "algorithm"), HOSTILE_SESSIONS.values(), ids=HOSTILE_SESSIONS.keys()
)
async def test_a_forged_session_is_refused(
    town: World, claims: dict, header: dict, algorithm: str
) -> None:
    alice = town.stranger()
    real = (await town.login(alice))["Authorization"].removeprefix("Bearer ")
    key: str | None = town.settings.sessions.jwt_secret.reveal()
    if algorithm == "other":
        key, algorithm = "a-key-that-is-long-enough-but-not-ours", "HS256"
    if algorithm == "HS512":
        key = f"{key}{key}"
    if algorithm == "none":
        key = None
    iat = town.clock.seconds
    forged = {
        "sub": alice.address,
        "iss": ORIGIN,
        "aud": ORIGIN,
        "iat": iat,
        "exp": iat + 7200,
        "jti": "00" * 16,
    } | {name: iat + value if isinstance(value, int) else value for name, value in claims.items()}
    forged = {name: value for name, value in forged.items() if value is not None}
    headers = {"kid": jwt.get_unverified_header(real)["kid"]} | header
    token = jwt.encode(forged, key, algorithm=algorithm, headers=headers)
    assert await _ask(town, alice, f"Bearer {token}") == (401, "session_invalid")


async def test_a_token_built_by_hand_is_accepted_if_signed_with_the_real_key(town: World) -> None:
    alice = town.stranger()
    real = (await town.login(alice))["Authorization"].removeprefix("Bearer ")
    iat = town.clock.seconds
    claims = {
        "sub": alice.address, "iss": ORIGIN, "aud": ORIGIN, "iat": iat, "exp": iat + 7200,
        "jti": "00" * 16,
    }  # fmt: skip
    headers = {"kid": jwt.get_unverified_header(real)["kid"]}
    key = town.settings.sessions.jwt_secret.reveal()
    token = jwt.encode(claims, key, algorithm="HS256", headers=headers)
    assert await _ask(town, alice, f"Bearer {token}") == (200, "")


async def test_a_session_expires_after_exactly_two_hours(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        alice = world.wallet(1)
        authorization = (await world.login(alice))["Authorization"]
        world.clock.advance(7199 - world.clock.now().microsecond / 1e6)
        assert await _ask(world, alice, authorization) == (200, "")
        world.clock.advance(1)
        assert await _ask(world, alice, authorization) == (401, "session_expired")


async def test_a_session_survives_the_rotation_of_its_key(tmp_path: Path) -> None:
    old, new = "0f1e2d3c4b5a69788796a5b4c3d2e1f0", "f0e1d2c3b4a5968778695a4b3c2d1e0f"
    async with open_world(tmp_path, JWT_SECRET=old) as world:
        clock = world.clock
        alice = world.wallet(1)
        authorization = (await world.login(alice))["Authorization"]
    both = {"JWT_SECRET": new, "JWT_SECRET_PREVIOUS": old}
    async with open_world(tmp_path, clock=clock, **both) as world:
        assert await _ask(world, alice, authorization) == (200, "")
        renewed = (await world.login(alice))["Authorization"]
    async with open_world(tmp_path, clock=clock, JWT_SECRET=new) as world:
        assert await _ask(world, alice, renewed) == (200, "")
        assert await _ask(world, alice, authorization) == (401, "session_invalid")


async def test_a_session_from_another_deployment_is_refused(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        clock = world.clock
        alice = world.wallet(1)
        authorization = (await world.login(alice))["Authorization"]
    async with open_world(tmp_path, clock=clock, PUBLIC_URL="http://other.test") as world:
        assert await _ask(world, alice, authorization) == (401, "session_invalid")


@pytest.mark.parametrize("domain", ["app.example", "app.example:8443", DOMAIN])
async def test_readers_can_log_in_from_the_allowed_domains(tmp_path: Path, domain: str) -> None:
    async with open_world(tmp_path, LOGIN_DOMAINS="app.example,app.example:8443") as world:
        alice = world.stranger()
        body = alice.sign_login(alice.login_message(domain=domain))
        assert (await world.client.post("/auth/login", json=body)).status_code == 200


async def test_too_many_logins_by_one_address_are_rate_limited(tmp_path: Path) -> None:
    limits = {"RATE_LIMITS": "on", "RATE_LOGINS": "3/60"}
    async with open_world(tmp_path, **limits) as world:
        alice, bob = world.wallet(1), world.wallet(2)
        for _ in range(3):
            await world.login(alice)
        body = alice.sign_login(alice.login_message())
        response = await world.client.post("/auth/login", json=body)
        assert problem(response) == (429, "rate_limited")
        assert int(response.headers["retry-after"]) >= 1
        await world.login(bob)
        world.clock.advance(int(response.headers["retry-after"]))
        await world.login(alice)
