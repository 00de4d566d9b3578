"""Content identifiers: any spelling in, CIDv1 in base32 out."""

from base64 import b32decode, b32encode
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import NewType

from imprint.domain.varints import write_varint

Cid = NewType("Cid", str)
"""A CIDv1 in lower-case base32, checked: one text for one content."""

MAX_CID_LENGTH = 128
"""Longer texts are refused unread; the longest spelling understood here has 73 characters."""

_SHA2_256 = b"\x12\x20"
"""The multihash code of SHA-256, and its length of 32 bytes."""

_DIGEST = 32
"""How many bytes a digest has."""


class Codec(IntEnum):
    """What the hashed bytes are: the content itself, or a node that links to pieces of it.

    `DAG_JSON` is for the manifests of exports, which nobody names to the service: such a cid is
    made and split here, but never parsed from a text.
    """

    RAW = 0x55
    DAG_PB = 0x70
    DAG_JSON = 0x0129


_PREFIXES = {codec: b"\x01" + write_varint(codec) + _SHA2_256 for codec in Codec}
"""How the binary form of a cid begins; the digest follows."""


class NotACid(ValueError):
    """The text is no cid, or one of a kind that is never made here."""


@dataclass(frozen=True, slots=True)
class _Spelling:
    """How the 36 bytes of a cid look in one base.

    All those cids begin with the same few bits, so in every base they have one length; a text of
    that length with the right first and last bits is the only one for its bytes.
    """

    digits: dict[str, int]
    radix: int
    length: int
    spare_bits: int = 0
    padding: str = ""


def _spell(alphabet: str, length: int, spare_bits: int = 0, padding: str = "") -> _Spelling:
    digits = {char: value for value, char in enumerate(alphabet)}
    return _Spelling(digits, len(alphabet), length, spare_bits, padding)


def _spell_any_case(alphabet: str, length: int, spare_bits: int = 0, pad: str = "") -> _Spelling:
    exact = _spell(alphabet, length, spare_bits, pad)
    upper = {char.upper(): value for char, value in exact.digits.items()}
    return _Spelling(exact.digits | upper, exact.radix, length, spare_bits, pad)


_LOWER = "abcdefghijklmnopqrstuvwxyz"
_BITCOIN = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_FLICKR = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
_DIGITS = "0123456789"
_BASE16 = _spell_any_case(_DIGITS + "abcdef", 72)
_BASE32 = _spell_any_case(_LOWER + "234567", 58, 2)
_BASE32_PADDED = _spell_any_case(_LOWER + "234567", 58, 2, "=" * 6)
_BASE32HEX = _spell_any_case(_DIGITS + "abcdefghijklmnopqrstuv", 58, 2)
_BASE32HEX_PADDED = _spell_any_case(_DIGITS + "abcdefghijklmnopqrstuv", 58, 2, "=" * 6)
_BASE36 = _spell_any_case(_DIGITS + _LOWER, 55)
_BASE64 = _spell(_LOWER.upper() + _LOWER + _DIGITS + "+/", 48)
_BASE64URL = _spell(_LOWER.upper() + _LOWER + _DIGITS + "-_", 48)

_SPELLINGS = {
    "f": _BASE16,
    "F": _BASE16,
    "b": _BASE32,
    "B": _BASE32,
    "c": _BASE32_PADDED,
    "C": _BASE32_PADDED,
    "v": _BASE32HEX,
    "V": _BASE32HEX,
    "t": _BASE32HEX_PADDED,
    "T": _BASE32HEX_PADDED,
    "k": _BASE36,
    "K": _BASE36,
    "z": _spell(_BITCOIN, 48),
    "Z": _spell(_FLICKR, 48),
    "m": _BASE64,
    "M": _BASE64,
    "u": _BASE64URL,
    "U": _BASE64URL,
}
"""The multibase prefixes, as their registry has them: bases 16, 32 and 36 ignore case.

The padded forms of base 64 are the bare ones, since 36 bytes leave nothing to pad.
"""

_VERSION_0 = _spell(_BITCOIN, 46)
"""The old spelling: the multihash alone, in base58, always of a dag-pb node."""


@lru_cache(maxsize=8192)
def parse_cid(text: str) -> Cid:
    """The cid written as `text`, in CIDv1 and base32.

    Refuses, with `NotACid`, what is not exactly one cid in a known spelling, and every codec but
    raw and dag-pb and every hash but SHA-256: no other is made here.
    """
    if len(text) > MAX_CID_LENGTH:
        raise NotACid("A cid is shorter than this.")
    if len(text) == _VERSION_0.length and text.startswith("Qm"):
        multihash = _decode(text, _VERSION_0, 34)
        return _check(bytes([1, Codec.DAG_PB]) + multihash)
    spelling = _SPELLINGS.get(text[:1])
    if spelling is None:
        raise NotACid("A cid begins with the letter of a known multibase, or with Qm.")
    return _check(_decode(text[1:], spelling, 36))


def cid_of(codec: Codec, digest: bytes) -> Cid:
    """The cid of what has this SHA-256 digest."""
    return _write(_PREFIXES[codec] + digest)


@lru_cache(maxsize=8192)
def cid_bytes(cid: Cid) -> bytes:
    """The cid in its binary form: 36 bytes, or 37 with DAG-JSON."""
    return b32decode(cid[1:].upper() + "=" * (-(len(cid) - 1) % 8))


def codec_of(cid: Cid) -> Codec:
    """Whether the cid is of the content itself, or of a node above pieces of it."""
    binary = cid_bytes(cid)
    return next(codec for codec, prefix in _PREFIXES.items() if binary.startswith(prefix))


def digest_of(cid: Cid) -> bytes:
    """The SHA-256 digest in a cid."""
    return cid_bytes(cid)[-_DIGEST:]


def split_cid(data: bytes) -> tuple[Cid, bytes]:
    """The cid in binary that `data` begins with, and what follows it. Refuses with `NotACid`."""
    for prefix in _PREFIXES.values():
        end = len(prefix) + _DIGEST
        if data.startswith(prefix) and len(data) >= end:
            return _write(data[:end]), data[end:]
    raise NotACid("Only CIDv1 of raw, dag-pb or dag-json with SHA-256 is understood here.")


def _decode(text: str, spelling: _Spelling, size: int) -> bytes:
    digits = text.removesuffix(spelling.padding)
    if len(text) != spelling.length + len(spelling.padding) or len(digits) != spelling.length:
        raise NotACid("A cid in this spelling has another length.")
    number = 0
    try:
        for char in digits:
            number = number * spelling.radix + spelling.digits[char]
    except KeyError:
        raise NotACid("A character does not belong to the spelling of this cid.") from None
    if number & ((1 << spelling.spare_bits) - 1) or (number >> spelling.spare_bits) >> (8 * size):
        raise NotACid("This spelling is not the canonical one of its bytes.")
    return (number >> spelling.spare_bits).to_bytes(size)


def _check(binary: bytes) -> Cid:
    if binary[0] != 1 or binary[1] not in (Codec.RAW, Codec.DAG_PB) or binary[2:4] != _SHA2_256:
        raise NotACid("Only CIDv1 of raw or dag-pb with SHA-256 is understood here.")
    return _write(binary)


@lru_cache(maxsize=8192)
def _write(binary: bytes) -> Cid:
    # Whoever makes a document and whoever stores it both spell its cid.
    return Cid("b" + b32encode(binary).decode().rstrip("=").lower())
