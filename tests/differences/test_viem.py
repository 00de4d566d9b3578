"""Imprint and viem compute and read the same values, except for known differences."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any

from tests.auth.test_login_message import fields_of
from tests.differences.comparison import Known, NodeProcess, Refused, Subject, compare, run_node
from tests.differences.login_messages import (
    DOMAINS,
    NONCES,
    NOW,
    REQUEST_IDS,
    RESOURCES,
    STATEMENTS,
    URIS,
    choose_usual,
    random_message,
)
from tests.differences.market_data import (
    decode_entry,
    decode_log,
    encode,
    random_call,
    random_log,
    random_post_entry,
)
from tests.differences.random_values import (
    mutate,
    random_address,
    random_digest_and_signature,
    recover,
    spell_address,
)
from tests.differences.typed_messages import STRICTER, random_typed_data, random_write, read_write

from imprint.auth.login_message import (
    Instant,
    LoginMessage,
    NotAUri,
    Uri,
    parse_authority,
    parse_instant,
    parse_login_message,
    write_login_message,
)
from imprint.auth.logins import LoginClaim, LoginVerifier
from imprint.auth.signatures import CURVE_ORDER
from imprint.domain.errors import Refusal
from imprint.domain.formats.addresses import (
    NotAnAddress,
    checksum_address,
    keccak256,
    parse_address,
)
from imprint.domain.formats.cids import NotACid, parse_cid

AGES = timedelta(days=365 * 3000)
TIMES = ("issuedAt", "expirationTime", "notBefore")


def random_bytes(rng: Random) -> str:
    """Return bytes as hex, often of a length at the end of a Keccak block."""
    size = rng.choice([rng.randrange(600), 0, 1, 134, 135, 136, 137, 271, 272, 273])
    return f"0x{rng.randbytes(size).hex()}"


def hash_bytes(given: str) -> str:
    return f"0x{keccak256(bytes.fromhex(given[2:])).hex()}"


def random_spelling(rng: Random) -> str:
    """Return the text of an address, altered in half of the cases."""
    spelled = spell_address(rng, random_address(rng))
    return mutate(rng, spelled) if rng.random() < 0.5 else spelled


def read_address(text: str) -> str | Refused:
    try:
        return checksum_address(parse_address(text))
    except NotAnAddress as error:
        return Refused(str(error))


def is_upper(address: str) -> bool:
    """Whether an address has letters, all in upper case."""
    return address[2:] == address[2:].upper() != address[2:].lower()


UPPER_CASE = Known(
    "an address in upper case",
    "EIP-55 lets an address in one case be read without a checksum; viem does so for lower case.",
    lambda text, ours, theirs: (
        isinstance(ours, str) and isinstance(theirs, Refused) and is_upper(text)
    ),
)

WRITES = (
    *STRICTER,
    Known(
        "a chain ID as text",
        "Imprint reads the number, but viem leaves a chain ID that is a text out of the domain's "
        "type, so that a signature made this way is refused.",
        lambda case, ours, theirs: (
            isinstance(ours, str) and isinstance(case["envelope"]["domain"]["chainId"], str)
        ),
    ),
    Known(
        "no primary type",
        "Typed data with one type has one possible primary type, but viem requires its name.",
        lambda case, ours, theirs: (
            isinstance(ours, str)
            and isinstance(theirs, Refused)
            and "primaryType" not in case["envelope"]
        ),
    ),
    Known(
        "an address in upper case",
        UPPER_CASE.why,
        lambda case, ours, theirs: (
            isinstance(ours, str)
            and isinstance(theirs, Refused)
            and is_upper(case["envelope"]["message"].get("address", ""))
        ),
    ),
)


SIGNATURES = (
    Known(
        "a high s",
        "Imprint accepts one form of each signature (EIP-2), but viem accepts both.",
        lambda case, ours, theirs: (
            isinstance(ours, Refused)
            and isinstance(theirs, str)
            and CURVE_ORDER // 2 < int(case[1][66:130], 16) < CURVE_ORDER
        ),
    ),
    Known(
        "64 bytes",
        "Imprint accepts the compact form of EIP-2098, but viem recovers only 65 bytes.",
        lambda case, ours, theirs: (
            isinstance(ours, str) and isinstance(theirs, Refused) and len(case[1]) == 130
        ),
    ),
    Known(
        "half a byte",
        "A byte has two digits, but viem counts 129 digits as 65 bytes and reads one digit as v.",
        lambda case, ours, theirs: isinstance(ours, Refused) and len(case[1]) == 131,
    ),
)

CALLS = (
    Known(
        "arguments that the contract refuses",
        "viem encodes any arguments, but Imprint refuses those whose transaction would fail.",
        lambda case, ours, theirs: (
            isinstance(ours, Refused) and isinstance(theirs, str) and _would_fail(**case)
        ),
    ),
)


def _would_fail(functionName: str, args: list[Any]) -> bool:  # noqa: N803  viem's names
    """Whether the contract's limits refuse a call."""
    if functionName == "updatePostPrice":
        return int(args[1]) > 10**18
    if functionName != "createPost":
        return False
    (post,) = args
    sizes = {name: len(text.encode()) for name, text in post.items() if isinstance(text, str)}
    return (
        int(post["priceInNative"]) > 10**18
        or len(post["hashtags"]) > 10
        or not all(sizes[name] for name in ("postCid", "postTitle", "thumbnailCid"))
        or sizes["postTitle"] > 100
        or sizes["description"] > 500
    )


def _refuses(reason: str, name: str, why: str) -> Known:
    return Known(
        name,
        why,
        lambda case, ours, theirs: (
            isinstance(ours, Refused)
            and ours.reason.startswith(reason)
            and isinstance(theirs, dict)
        ),
    )


ABI = (
    _refuses(
        "An address must be",
        "an address with other high bytes",
        "An address must be padded with zeros, but viem ignores the first 12 bytes.",
    ),
    _refuses(
        "A string is not padded",
        "a string padded with other bytes",
        "A string must be padded with zeros, but viem ignores its padding.",
    ),
    _refuses(
        "A string extends past",
        "a string without its padding",
        "A string must be padded to whole words, but viem ignores its padding.",
    ),
    _refuses(
        "A string starts outside",
        "a string inside the head",
        "A string must follow the members of its tuple, but viem reads any offset.",
    ),
)

TEXTS = ("postTitle", "postCid", "thumbnailCid", "hashtag")
LIMITS = {"postTitle": 100, "postCid": 512, "thumbnailCid": 512}


def _differs_in(ours: Any, theirs: Any, is_explained: Callable[[str, str, str], bool]) -> bool:
    """Whether two logs differ in texts alone, and each of these differences is explained."""
    if isinstance(ours, Refused) or isinstance(theirs, Refused):
        return False
    texts = [name for name in TEXTS if ours.get(name) != theirs.get(name)]
    rest = {name: value for name, value in ours.items() if name not in texts}
    same = rest == {name: value for name, value in theirs.items() if name not in texts}
    return same and all(is_explained(name, ours[name], theirs[name]) for name in texts)


LOGS = (
    *ABI,
    _refuses(
        "The log has",
        "too many topics",
        "A log must have the topics of its event, but viem ignores further ones.",
    ),
    Known(
        "a text that starts with NUL or a byte order mark",
        "viem removes them from the start of a string, but Imprint keeps the text of the chain.",
        lambda case, ours, theirs: _differs_in(ours, theirs, _is_stripped),
    ),
    Known(
        "a long text",
        "Imprint stores the beginning of texts that are longer than the contract accepts.",
        lambda case, ours, theirs: _differs_in(
            ours, theirs, lambda *texts: _is_cut(*texts) or _is_stripped(*texts)
        ),
    ),
)


def _is_cut(name: str, own: str, other: str) -> bool:
    beginning = _strip(own).rstrip("\N{REPLACEMENT CHARACTER}")
    return len(own.encode()) > LIMITS.get(name, 2**64) - 4 and other.startswith(beginning)


def _is_stripped(name: str, own: str, other: str) -> bool:
    return _strip(own) == other


def _strip(text: str) -> str:
    """Remove leading NULs, but never the last character, and then a byte order mark, as viem
    does."""
    return (text[:-1].lstrip("\0") + text[-1:]).removeprefix("\ufeff")


def keep_read_members(logs: list[Any]) -> list[Any]:
    """Remove the members that Imprint does not read, because no rule depends on them."""
    unread = {"caller", "oldPrice"}
    return [
        log
        if isinstance(log, Refused)
        else {name: value for name, value in log.items() if name not in unread}
        for log in logs
    ]


def keep_read_entry(entries: list[Any]) -> list[Any]:
    """Reduce the entries to the members that Imprint reads."""
    return [
        entry
        if isinstance(entry, Refused)
        else {
            "author": entry["author"],
            "cid": _cid_or_none(entry["postCid"]),
            "price": entry["priceInNative"],
        }
        for entry in entries
    ]


def _cid_or_none(text: str) -> str | None:
    try:
        return parse_cid(text)
    except NotACid:
        return None


def random_fields(rng: Random) -> dict[str, Any]:
    """Return the fields of a login message as a client passes them to a library."""
    domain = choose_usual(rng, DOMAINS)
    fields: dict[str, Any] = {
        "domain": domain,
        "address": checksum_address(random_address(rng)),
        "uri": choose_usual(rng, URIS).format(domain),
        "version": "1",
        "chainId": rng.choice([1, 1, 1, 0, 31_337, 2**53 - 1, -1]),
        "nonce": choose_usual(rng, NONCES),
        "issuedAt": _random_instant(rng),
    }
    optional = {
        "scheme": lambda: rng.choice(["https", "http", "HTTPS", "a+b", "1a", ""]),
        "statement": lambda: choose_usual(rng, STATEMENTS),
        "expirationTime": lambda: _random_instant(rng),
        "notBefore": lambda: _random_instant(rng),
        "requestId": lambda: choose_usual(rng, REQUEST_IDS),
        "resources": lambda: [choose_usual(rng, RESOURCES) for _ in range(rng.randrange(4))],
    }
    chosen = {name: choose() for name, choose in optional.items() if rng.random() < 0.3}
    return fields | chosen


def _random_instant(rng: Random) -> str:
    moment = NOW + timedelta(milliseconds=rng.randrange(-(10**12), 10**12))
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_message(fields: dict[str, Any]) -> str | Refused:
    """Return the text that Imprint writes for these fields, if it can be parsed again."""

    def instant(name: str) -> Instant | None:
        return parse_instant(fields[name]) if name in fields else None

    resources = [Uri(each, "", None) for each in fields.get("resources", [])]
    text = write_login_message(
        LoginMessage(
            scheme=fields.get("scheme"),
            domain=fields["domain"],
            address=fields["address"],
            statement=fields.get("statement"),
            uri=Uri(fields["uri"], "", None),
            chain_id=fields["chainId"],
            nonce=fields["nonce"],
            issued_at=parse_instant(fields["issuedAt"]),
            expires_at=instant("expirationTime"),
            not_before=instant("notBefore"),
            request_id=fields.get("requestId"),
            resources=tuple(resources) if "resources" in fields else None,
        )
    )
    try:
        parse_login_message(text)
    except Refusal as refusal:
        return Refused(refusal.detail)
    return text


STRICTER_WRITTEN = (
    (("The first line",), "a malformed scheme or domain", "viem writes some of these."),
    (("This is not a host",), "a malformed host", "viem writes some of these."),
    (
        ("This is not a URI",),
        "a malformed URI",
        "viem writes URIs that have a scheme and any text.",
    ),
    (("The chain id",), "a negative chain ID", "viem writes any integer."),
    (("A login message must be",), "a text that is not ASCII", "viem writes any characters."),
    (("The statement",), "a statement with other characters", "viem writes any characters."),
    (("The request id",), "a request ID with other characters", "viem writes any characters."),
)
"""The beginnings of Imprint's reasons, the name of the difference, and what viem does instead."""

WRITTEN = (
    *(
        Known(
            name,
            why,
            lambda case, ours, theirs, reasons=reasons: (
                isinstance(ours, Refused)
                and ours.reason.startswith(reasons)
                and isinstance(theirs, str)
            ),
        )
        for reasons, name, why in STRICTER_WRITTEN
    ),
    Known(
        "an unusual domain",
        "viem writes messages for names with dots, IPv4 addresses and localhost only, but EIP-4361 "
        "allows any authority.",
        lambda fields, ours, theirs: (
            isinstance(ours, str) and isinstance(theirs, Refused) and '"domain"' in theirs.reason
        ),
    ),
    Known(
        "an empty field",
        "viem leaves out a statement or request ID that is empty, but EIP-4361 allows it.",
        lambda fields, ours, theirs: (
            isinstance(ours, str)
            and isinstance(theirs, str)
            and "" in (fields.get("statement"), fields.get("requestId"))
        ),
    ),
)


def random_login(rng: Random) -> dict[str, Any]:
    """Return a login message, and the domain, address and time that it is checked against."""
    text = random_message(rng)
    opening = re.match(r"(?:[^ \n]*://)?([^ \n]+) wants [^\n]*\n(0x[0-9a-fA-F]{40})\n", text)
    domain, address = opening.groups() if opening else ("example.com", "0x" + "11" * 20)
    if not _is_domain(domain) or rng.random() < 0.03:
        domain = "example.com"
    # The claimed address is valid even if the one in the message has a wrong checksum.
    address = random_address(rng) if rng.random() < 0.03 else address.lower()
    return {"text": text, "domain": domain, "address": address, "time": NOW.isoformat()}


def _is_domain(text: str) -> bool:
    try:
        LoginVerifier([text], 1)
        return bool(parse_authority(text).host)
    except (NotAUri, ValueError):
        return False


def verify(case: dict[str, Any]) -> dict[str, Any] | Refused:
    """Return the fields of a message that Imprint accepts before it checks the signature."""
    verifier = LoginVerifier([case["domain"]], 1, freshness=AGES, skew=AGES)
    try:
        verifier.verify(LoginClaim(case["text"], case["address"], "0x"), NOW)
        fields = fields_of(parse_login_message(case["text"]))
    except Refusal as refusal:
        return Refused(refusal.detail)
    times = {name: _milliseconds(fields[name]) for name in TIMES if name in fields}
    lists = {"resources": list(fields["resources"])} if "resources" in fields else {}
    return fields | times | lists


def _milliseconds(text: str) -> int:
    moment = parse_instant(text).moment
    return (moment - datetime(1970, 1, 1, tzinfo=moment.tzinfo)) // timedelta(milliseconds=1)


STRICTER_MESSAGES = (
    (("This is not a",), "a malformed URI", "viem reads any text as a URI or a resource."),
    (("The statement",), "a statement with other characters", "viem reads any characters."),
    (("The request id",), "a request ID with other characters", "viem reads any characters."),
    (("A login message must be",), "a message that is long or not ASCII", "viem reads any text."),
    (("The login message has",), "further lines", "viem ignores lines that it does not know."),
    (("The line", "An empty line"), "missing lines", "viem ignores where a line is."),
    (("The scheme",), "another scheme", "viem reads any scheme, but only web pages log in here."),
    (("The login message is for",), "another chain", "viem leaves this to its caller."),
    (("The URI",), "a URI on another domain", "viem does not compare the URI with the domain."),
    (("A time must",), "a time in another format", "viem reads whatever JavaScript reads."),
    (("There is no such",), "a time that does not exist", "JavaScript reads the 30th of February."),
    (("The nonce",), "a short nonce", "viem checks the length only when it writes a message."),
    (("The version",), "another version", "viem reads any version."),
    (("The chain id",), "a chain ID with leading zeros", "viem reads any digits."),
    (("The signature is not",), "the zero address", "viem reads an address that has no key."),
    (("The mixed case",), "a wrong checksum", "viem ignores the checksum of a message's address."),
)
"""The beginnings of Imprint's reasons, the name of the difference, and what viem does instead."""


def _has_empty_field(fields: dict[str, Any]) -> bool:
    return "" in (fields.get("statement"), fields.get("requestId"))


def _without_empty_fields(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value != ""}


MESSAGES = (
    *(
        Known(
            name,
            why,
            lambda case, ours, theirs, reasons=reasons: (
                isinstance(ours, Refused)
                and ours.reason.startswith(reasons)
                and isinstance(theirs, dict)
            ),
        )
        for reasons, name, why in STRICTER_MESSAGES
    ),
    Known(
        "no URI",
        "Imprint's protocol makes the URI optional, but viem finds no other field without it.",
        lambda case, ours, theirs: (
            isinstance(ours, dict) and isinstance(theirs, Refused) and "uri" not in ours
        ),
    ),
    Known(
        "an unusual domain",
        "viem reads domains of letters, digits, dots and hyphens only, but EIP-4361 allows any "
        "authority.",
        lambda case, ours, theirs: (
            isinstance(ours, dict)
            and isinstance(theirs, Refused)
            and theirs.reason == "no domain"
            and not re.fullmatch(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?", ours["domain"])
        ),
    ),
    Known(
        "an empty field",
        "viem leaves out a statement or request ID that is empty, but EIP-4361 allows it.",
        lambda case, ours, theirs: (
            isinstance(ours, dict)
            and _has_empty_field(ours)
            and _without_empty_fields(ours) == theirs
        ),
    ),
    Known(
        "the word Resources in a statement",
        "viem reads a list of resources after this word, wherever it is.",
        lambda case, ours, theirs: (
            isinstance(ours, dict)
            and isinstance(theirs, dict)
            and "Resources:" in case["text"].partition("\nURI: ")[0]
            and _without_empty_fields(ours) | {"resources": []} == theirs | {"resources": []}
        ),
    ),
)


def subjects_of(viem: NodeProcess) -> list[Subject]:
    def log_results(cases: list[Any]) -> list[Any]:
        return keep_read_members(viem.ask("logs")(cases))

    def entry_results(cases: list[Any]) -> list[Any]:
        return keep_read_entry(viem.ask("post entries")(cases))

    ask = viem.ask
    return [
        Subject("keccak", 10, random_bytes, hash_bytes, ask("keccak")),
        Subject("addresses", 15, random_spelling, read_address, ask("addresses"), [UPPER_CASE]),
        Subject(
            "typed data",
            10,
            random_typed_data,
            lambda case: case["digest"],
            ask("typed data"),
        ),
        Subject("writes", 10, random_write, read_write, ask("writes"), WRITES),
        Subject(
            "signatures", 5, random_digest_and_signature, recover, ask("signatures"), SIGNATURES
        ),
        Subject("calls", 10, random_call, encode, ask("calls"), CALLS),
        Subject("logs", 15, random_log, decode_log, log_results, LOGS),
        Subject("post entries", 5, random_post_entry, decode_entry, entry_results, ABI),
        Subject(
            "written messages", 5, random_fields, write_message, ask("written messages"), WRITTEN
        ),
        Subject("messages", 15, random_login, verify, ask("messages"), MESSAGES),
    ]


def test_imprint_and_viem_compute_and_read_the_same_values():
    with run_node("viem.mjs") as viem:
        compare(
            "viem",
            "Random bytes, addresses, typed data, signatures, calls, logs and login messages, "
            "valid, unusual or altered, computed or read by both.",
            subjects_of(viem),
        )
