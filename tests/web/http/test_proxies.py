"""Client addresses behind proxies, observed through per-client rate limits."""

from collections.abc import Sequence
from pathlib import Path

import httpx2
import pytest
from tests.world import ORIGIN, World, open_world, problem

from imprint.web.http.proxies import MAX_HOPS, TrustedProxies, warn_of_untrusted_proxy

PROXY = "192.0.2.1"
INNER_PROXY = "192.0.2.2"
CALLER = "203.0.113.1"
OTHER_CALLER = "203.0.113.2"


async def _status(world: World, peer: str, headers: Sequence[tuple[str, str]]) -> int:
    """The status of a read from this peer with these headers."""
    transport = httpx2.ASGITransport(world.app, client=(peer, 50_000))
    async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
        return (await client.get("/filesMetaData", headers=list(headers))).status_code


async def _are_one_caller(
    folder: Path,
    first: Sequence[tuple[str, str]],
    second: Sequence[tuple[str, str]],
    *,
    peer: str = PROXY,
    trusted: str = f"{PROXY},{INNER_PROXY}",
) -> bool:
    """Whether two requests with these headers share one rate limit."""
    limits = {"RATE_LIMITS": "on", "RATE_READS": "1/60"}
    async with open_world(folder, TRUSTED_PROXIES=trusted, **limits) as world:
        assert await _status(world, peer, first) == 200
        return await _status(world, peer, second) == 429


def _forwarded(*lines: str) -> list[tuple[str, str]]:
    return [("X-Forwarded-For", line) for line in lines]


async def test_clients_behind_a_trusted_proxy_are_counted_separately(tmp_path: Path) -> None:
    first, second = _forwarded(CALLER), _forwarded(OTHER_CALLER)
    assert not await _are_one_caller(tmp_path, first, second)


async def test_requests_of_one_client_behind_a_trusted_proxy_share_a_limit(tmp_path: Path) -> None:
    assert await _are_one_caller(tmp_path, _forwarded(CALLER), _forwarded(CALLER))


@pytest.mark.parametrize("trusted", ["", INNER_PROXY], ids=["none trusted", "another trusted"])
async def test_the_forwarded_header_of_an_untrusted_peer_is_ignored(
    tmp_path: Path, trusted: str
) -> None:
    first, second = _forwarded(CALLER), _forwarded(OTHER_CALLER)
    assert await _are_one_caller(tmp_path, first, second, trusted=trusted)


async def test_a_client_cannot_forge_its_address_in_a_separate_header_line(tmp_path: Path) -> None:
    first, second = _forwarded("198.51.100.1", CALLER), _forwarded("198.51.100.2", CALLER)
    assert await _are_one_caller(tmp_path, first, second)


async def test_a_client_cannot_forge_its_address_at_the_start_of_the_list(tmp_path: Path) -> None:
    first = _forwarded(f"198.51.100.1, {CALLER}")
    second = _forwarded(f"198.51.100.2, {CALLER}")
    assert await _are_one_caller(tmp_path, first, second)


async def test_clients_are_distinguished_by_the_last_header_line(tmp_path: Path) -> None:
    first = _forwarded("198.51.100.1", CALLER)
    second = _forwarded("198.51.100.1", OTHER_CALLER)
    assert not await _are_one_caller(tmp_path, first, second)


@pytest.mark.parametrize("lines", [(f"{CALLER}, {INNER_PROXY}",), (CALLER, INNER_PROXY)], ids=str)
async def test_the_client_is_found_behind_a_chain_of_trusted_proxies(
    tmp_path: Path, lines: tuple[str, ...]
) -> None:
    assert await _are_one_caller(tmp_path / "same", _forwarded(*lines), _forwarded(CALLER))
    assert not await _are_one_caller(
        tmp_path / "other", _forwarded(*lines), _forwarded(OTHER_CALLER)
    )


async def test_garbage_in_the_forwarded_header_causes_no_error(tmp_path: Path) -> None:
    async with open_world(tmp_path, TRUSTED_PROXIES=PROXY, RATE_LIMITS="on") as world:
        transport = httpx2.ASGITransport(world.app, client=(PROXY, 50_000))
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            for garbage in ("", ",", " , ,", "unknown", "[::1", ":", "\xff", "a" * 9000):
                header = {"X-Forwarded-For": garbage.encode("latin-1")}
                assert (await client.get("/filesMetaData", headers=header)).status_code == 200


async def test_garbage_before_the_address_added_by_the_proxy_is_ignored(
    tmp_path: Path,
) -> None:
    first, second = _forwarded(f"unknown,,[, {CALLER}"), _forwarded("\t,", CALLER)
    assert await _are_one_caller(tmp_path, first, second)


async def test_addresses_in_one_ipv6_network_count_as_one_client(tmp_path: Path) -> None:
    first, second = _forwarded("2001:db8::7"), _forwarded("[2001:DB8:0:0::8]:1234")
    assert await _are_one_caller(tmp_path, first, second)


async def test_proxies_in_a_trusted_network_are_trusted(tmp_path: Path) -> None:
    first, second = _forwarded(CALLER), _forwarded(OTHER_CALLER)
    assert not await _are_one_caller(tmp_path, first, second, trusted="192.0.2.0/24")


# The address alone

PROXIES = TrustedProxies(["192.0.2.0/30", "2001:db8::/32", "fe80::1"])


def _client(*lines: str, peer: str = PROXY) -> str:
    return PROXIES.find_client(peer, [line.encode("latin-1") for line in lines])


@pytest.mark.parametrize(
    "spelled",
    [
        CALLER,
        f"{CALLER}:4711",
        f"\t {CALLER}  ",
        f"::ffff:{CALLER}",
        f"[::FFFF:{CALLER}]:443",
        f"[{CALLER}]",
        f"{CALLER}, {PROXY}:80",
        f"{CALLER}, ::ffff:{INNER_PROXY}",
        f"{CALLER}, , {INNER_PROXY},",
        f"{CALLER}, 2001:DB8:0:0::1, [2001:db8::2]:443, fe80::1%eth0",
    ],
)
def test_every_spelling_of_an_address_is_recognized(spelled: str) -> None:
    assert _client(spelled) == CALLER


@pytest.mark.parametrize(
    ("spelled", "address"),
    [
        ("2001:DC8:0:0::7", "2001:dc8::7"),
        ("[2001:dc8::7]:443", "2001:dc8::7"),
        ("fe80::7%eth0", "fe80::7"),
    ],
)
def test_an_ipv6_address_is_normalized(spelled: str, address: str) -> None:
    assert _client(spelled) == address


@pytest.mark.parametrize(
    "garbage", ["unknown", "203.0.113.", "1.2.3.4:x", "1.2.3.4:", "[::1", "[::1]x", "a:b:c", "\xff"]
)
def test_an_invalid_address_ends_the_search_at_the_preceding_proxy(
    garbage: str,
) -> None:
    assert _client(f"{CALLER}, {garbage}") == PROXY
    assert _client(CALLER, garbage) == PROXY
    assert _client(f"{CALLER}, {garbage}, {INNER_PROXY}") == INNER_PROXY
    assert _client(f"{garbage}, {CALLER}") == CALLER


def test_a_request_by_a_proxy_itself_is_attributed_to_that_proxy() -> None:
    assert _client(f"{PROXY}, {INNER_PROXY}") == PROXY
    assert _client("") == PROXY


def test_the_number_of_forwarded_addresses_is_limited() -> None:
    assert _client(", ".join([CALLER, *[INNER_PROXY] * (MAX_HOPS - 1)])) == CALLER
    assert _client(", ".join([CALLER, *[INNER_PROXY] * MAX_HOPS])) == INNER_PROXY
    assert _client("," * 100_000) == PROXY


@pytest.mark.parametrize(
    "address", [PROXY, f"::ffff:{PROXY}", "2001:DB8::1", "fe80::1%eth0", "fe80:0::1"]
)
def test_a_trusted_proxy_is_recognized_in_any_spelling(address: str) -> None:
    assert address in PROXIES


@pytest.mark.parametrize("address", ["192.0.2.4", "2001:db9::", "fe80::2", "proxy", "-", ""])
def test_addresses_other_than_the_listed_proxies_are_not_trusted(address: str) -> None:
    assert address not in PROXIES


# Other headers


@pytest.mark.parametrize("scheme", ["https", "http", "wss", "gopher", ""])
async def test_a_forwarded_scheme_changes_nothing(tmp_path: Path, scheme: str) -> None:
    limits = {"RATE_LIMITS": "on", "RATE_READS": "1/60", "CORS_ORIGINS": ORIGIN}
    async with open_world(tmp_path, TRUSTED_PROXIES="127.0.0.1", **limits) as world:
        plain = await world.client.get("/.well-known/imprint.json", headers=_forwarded(CALLER))
        headers = [
            *_forwarded(OTHER_CALLER),
            ("X-Forwarded-Proto", scheme),
            ("X-Request-Id", plain.headers["x-request-id"]),
        ]
        given = await world.client.get("/.well-known/imprint.json", headers=headers)
        assert (given.status_code, given.headers, given.content) == (
            plain.status_code,
            plain.headers,
            plain.content,
        )
        again = await world.client.get("/filesMetaData", headers=headers)
        assert problem(again) == (429, "rate_limited")


async def _count_warnings(world: World, peer: str, log: pytest.LogCaptureFixture) -> int:
    warn_of_untrusted_proxy.cache_clear()
    log.clear()
    for _ in range(3):
        await _status(world, peer, [("X-Forwarded-For", CALLER)])
    return sum("IMPRINT_TRUSTED_PROXIES" in each.getMessage() for each in log.records)


async def test_an_untrusted_proxy_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", TRUSTED_PROXIES=PROXY) as world:
        assert await _count_warnings(world, INNER_PROXY, caplog) == 1
        assert await _count_warnings(world, PROXY, caplog) == 0
    async with open_world(tmp_path / "none", RATE_LIMITS="on") as world:
        assert await _count_warnings(world, PROXY, caplog) == 1


async def test_without_rate_limits_an_untrusted_proxy_is_not_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_world(tmp_path, RATE_LIMITS="off") as world:
        assert await _count_warnings(world, PROXY, caplog) == 0
