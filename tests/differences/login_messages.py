"""Random login messages (EIP-4361): valid ones, unusual ones and altered ones."""

from datetime import UTC, datetime, timedelta
from random import Random

from tests.differences.random_values import mutate, random_address, spell_address

from imprint.domain.formats.addresses import checksum_address

NOW = datetime(2026, 1, 1, tzinfo=UTC)

STATEMENTS = (
    *("Welcome back", "I accept the terms: https://example.com/tos", "", " ", "a" * 200),
    *("URI: https://evil.example", "Issued At: 2026-01-01T00:00:00Z", "~._-[]@!$&'()*+,;=%"),
    *('With "quotes"', "Tab\there", "Ünïcode", "Version: 1", "back`tick", "Resources:"),
)
URIS = (
    *("https://{}/", "https://{}/login?a=b#c", "http://{}", "https://{}", "HTTPS://{}/x"),
    *("https://other.example/", "did:key:z6Mk", "urn:x:y", "//{}/", "/login", "not a uri", ""),
    *("https://{}/%41%zz", "https://{}/a b", "https://user@{}/", "file:///etc/passwd", "x:"),
    *("https://[::1]/", "https://[::ffff:1.2.3.4]:80/", "https://[1::2::3]/", "https://[v1.a]/"),
    *("https://1.2.3.4:99999/", "https://{}:/", "https://{}/[]", "mailto:a@b.c", "https:///x"),
)
DOMAINS = (
    *("example.com", "example.com", "example.com:8080", "localhost:3000", "127.0.0.1:80"),
    *("a.b-c.example", "EXAMPLE.com", "user@example.com", "[::1]:443", "example.com:", "a_b.c"),
    *("xn--bcher-kva.example", "example.com/x", "", "exa mple.com", "%65xample.com", "a..b"),
    *("[::1", "256.1.1.1", "example.com:port", "-", "[fe80::1%25en0]", "[1:2:3:4:5:6:7::]"),
    *(":8080", "user@"),
)
SCHEMES = ("https://", "http://", "HTTPS://", "ftp://", "a+b-c.d://", "1a://", "://", "x:")
RESOURCES = (
    *("https://example.com/claim.json", "ipfs://bafybeiemxf5abjwjbikoz4mc3a3dla6", "urn:a:b"),
    *("not a uri", "", "https://example.com/ü", "did:pkh:eip155:1:0x0", "-", "x:#", "x:?a#b?c/"),
)
REQUEST_IDS = ("some_id", "", "a%20b", "a/b", "a b", "ü", "%zz", ":@!$&'()*+,;=~")
CHAIN_IDS = ("1", "1", "1", "1", "10", "31337", "0", "01", "-1", "1.0", "0x1", "", "9" * 40)
NONCES = ("abcdefgh", "ABC12345", "abc1234", "a" * 300, "abc-efgh", "", "a" * 4000)
EXACT_TIMES = (
    *("2026-01-01t00:00:00z", "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00-23:59"),
    *("2026-01-01T00:00:00+24:00", "2026-01-01T24:00:00Z", "2026-01-01T23:59:60Z"),
    *("2026-02-30T00:00:00Z", "2024-02-29T12:00:00Z", "2023-02-29T12:00:00Z", "2026-01-01"),
    *("2026-01-01T00:00:00", "2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.Z"),
    *("2026-1-1T00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "now"),
    *("9999-12-31T23:59:59-01:00", "20260101T000000Z", "2026-01-01 00:00:00Z", "1767225600"),
    *("2026-13-01T00:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:00+01:60", ""),
    *("Thu, 01 Jan 2026 00:00:00 GMT", "2026-00-01T00:00:00Z", "2026-01-32T00:00:00Z"),
)


def random_message(rng: Random) -> str:
    """Return the text of a login message, unusual or altered in most cases."""
    lines = _random_lines(rng)
    if rng.random() < 0.35:
        _alter_lines(rng, lines)
    text = "\n".join(lines)
    for _ in range(rng.choice([0, 0, 0, 0, 0, 0, 1, 2])):
        text = mutate(rng, text)
    return text


def _random_lines(rng: Random) -> list[str]:
    domain, address = choose_usual(rng, DOMAINS), random_address(rng)
    spelled = checksum_address(address) if rng.random() < 0.9 else spell_address(rng, address)
    scheme = rng.choice(SCHEMES) if rng.random() < 0.2 else ""
    lines = [f"{scheme}{domain} wants you to sign in with your Ethereum account:", spelled, ""]
    if rng.random() < 0.7:
        lines.append(choose_usual(rng, STATEMENTS))
    lines.append("")
    if rng.random() < 0.95:
        lines.append(f"URI: {choose_usual(rng, URIS).format(domain)}")
    lines += [f"Version: {'1' if rng.random() < 0.95 else rng.choice(['2', '01', '1.0', ''])}"]
    lines += [f"Chain ID: {choose_usual(rng, CHAIN_IDS)}", f"Nonce: {choose_usual(rng, NONCES)}"]
    lines += [f"Issued At: {random_time(rng)}"]
    if rng.random() < 0.3:
        lines.append(f"Expiration Time: {random_time(rng)}")
    if rng.random() < 0.3:
        lines.append(f"Not Before: {random_time(rng)}")
    if rng.random() < 0.3:
        lines.append(f"Request ID: {choose_usual(rng, REQUEST_IDS)}")
    if rng.random() < 0.3:
        count = rng.randrange(4)
        lines += ["Resources:", *(f"- {choose_usual(rng, RESOURCES)}" for _ in range(count))]
    return lines


def choose_usual(rng: Random, choices: tuple[str, ...]) -> str:
    """Choose the first value in most cases, so that most messages have one unusual value."""
    return choices[0] if rng.random() < 0.75 else rng.choice(choices)


def _alter_lines(rng: Random, lines: list[str]) -> None:
    at = rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[at])
        case 2:
            lines.insert(at, rng.choice(["", " ", "Extra: 1", "- x:y", "Resources:"]))
        case 3:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case 4:
            lines[at] = rng.choice([f" {lines[at]}", f"{lines[at]} ", lines[at].lower()])
        case _:
            lines[at] += rng.choice(["\r", "\r\n", "\v", "\u2028", "\0"])


def random_time(rng: Random) -> str:
    """Return a time around `NOW` in most cases."""
    if rng.random() < 0.25:
        return rng.choice(EXACT_TIMES)
    moment = NOW + timedelta(milliseconds=rng.choice([0, 1, -1, rng.randrange(-(10**8), 10**8)]))
    whole = moment.strftime("%Y-%m-%dT%H:%M:%S")
    fraction = rng.choice(["", f".{moment.microsecond // 1000:03}", f".{moment.microsecond:06}"])
    return f"{whole}{fraction}{rng.choice(['Z', 'Z', '+00:00', '+05:30', '-08:00'])}"
