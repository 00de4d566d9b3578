"""CIDs: every spelling of a CID is converted to the same canonical text."""

import json
from base64 import b16encode, b32encode, b32hexencode, b64encode, urlsafe_b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.formats.cids import Codec, NotACid, cid_bytes, cid_of, codec_of, parse_cid

BITCOIN = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
FLICKR = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"

HELLO = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
"""The CID of `hello world` as a raw block."""

HELLO_V0 = "Qmf412jQZiuVUtdgnB36FXFX7xg5V6KEbSJ4dpQuhkLyfD"
"""The CID of `hello world` as a dag-pb leaf, in the version 0 spelling."""

SPELLINGS: dict[str, str | None] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "cid_spellings.json").read_text(encoding="utf-8")
)["spellings"]

codecs = st.sampled_from([Codec.RAW, Codec.DAG_PB])
digests = st.binary(min_size=32, max_size=32)


def write_positional(binary: bytes, alphabet: str) -> str:
    number, out = int.from_bytes(binary), ""
    while number:
        number, digit = divmod(number, len(alphabet))
        out = alphabet[digit] + out
    return out


def spell(binary: bytes) -> dict[str, str]:
    """Return the spellings of a CID, computed without the code under test."""
    base32, base32hex = b32encode(binary).decode(), b32hexencode(binary).decode()
    base36 = write_positional(binary, BASE36)
    return {
        "f": binary.hex(),
        "F": b16encode(binary).decode(),
        "b": base32.rstrip("=").lower(),
        "B": base32.rstrip("="),
        "c": base32.lower(),
        "C": base32,
        "v": base32hex.rstrip("=").lower(),
        "V": base32hex.rstrip("="),
        "t": base32hex.lower(),
        "T": base32hex,
        "k": base36,
        "K": base36.upper(),
        "z": write_positional(binary, BITCOIN),
        "Z": write_positional(binary, FLICKR),
        "m": b64encode(binary).decode(),
        "M": b64encode(binary).decode(),
        "u": urlsafe_b64encode(binary).decode(),
        "U": urlsafe_b64encode(binary).decode(),
    }


def spell_base32(binary: bytes) -> str:
    return "b" + b32encode(binary).decode().rstrip("=").lower()


def test_a_cid_in_canonical_form_is_unchanged() -> None:
    assert parse_cid(HELLO) == HELLO


def test_a_version_0_cid_becomes_the_canonical_cid_of_the_same_node() -> None:
    cid = parse_cid(HELLO_V0)
    assert cid.startswith("bafybei")
    assert write_positional(cid_bytes(cid)[2:], BITCOIN) == HELLO_V0


@given(codecs, digests)
def test_every_spelling_is_converted_to_the_same_cid(codec: Codec, digest: bytes) -> None:
    cid = cid_of(codec, digest)
    for prefix, body in spell(cid_bytes(cid)).items():
        assert parse_cid(prefix + body) == cid, prefix


@given(digests)
def test_every_version_0_cid_is_converted_to_its_dag_pb_cid(digest: bytes) -> None:
    text = write_positional(b"\x12\x20" + digest, BITCOIN)
    assert parse_cid(text) == cid_of(Codec.DAG_PB, digest)


@given(codecs, digests)
def test_a_cid_contains_its_codec_and_digest(codec: Codec, digest: bytes) -> None:
    cid = cid_of(codec, digest)
    assert codec_of(cid) is codec
    assert cid_bytes(cid) == bytes([1, codec, 0x12, 0x20]) + digest


@pytest.mark.parametrize("prefix", ["f", "b", "v", "k"])
def test_case_insensitive_bases_accept_mixed_case(prefix: str) -> None:
    body = spell(cid_bytes(parse_cid(HELLO)))[prefix]
    mixed = "".join(c.upper() if place % 2 else c for place, c in enumerate(body))
    assert parse_cid(prefix + mixed) == HELLO


@given(codecs, digests, st.data())
def test_changing_a_character_never_gives_the_same_cid(
    codec: Codec, digest: bytes, data: st.DataObject
) -> None:
    cid = cid_of(codec, digest)
    for prefix, body in spell(cid_bytes(cid)).items():
        place = data.draw(st.integers(0, len(body) - 1))
        char = data.draw(st.characters(max_codepoint=0x17F))
        if char.lower() == body[place].lower():
            continue
        try:
            other = parse_cid(prefix + body[:place] + char + body[place + 1 :])
        except NotACid:
            continue
        assert other != cid


@pytest.mark.parametrize("last", "fgh")
def test_stray_bits_after_the_last_byte_are_refused(last: str) -> None:
    assert HELLO[-1] == "e"
    with pytest.raises(NotACid):
        parse_cid(HELLO[:-1] + last)


@pytest.mark.parametrize("cut", range(1, 36))
@pytest.mark.parametrize("prefix", ["c", "C", "t", "T"])
def test_padding_before_the_end_is_refused(prefix: str, cut: int) -> None:
    encode = b32encode if prefix in "cC" else b32hexencode
    binary = cid_bytes(parse_cid(HELLO))
    # The two pieces, each with its own padding, are together as long as the whole.
    whole, pieces = encode(binary), encode(binary[:cut]) + encode(binary[cut:])
    assert len(pieces) == len(whole)
    assert parse_cid(prefix + whole.decode()) == HELLO
    if pieces != whole:
        with pytest.raises(NotACid):
            parse_cid(prefix + pieces.decode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        " " + HELLO,
        HELLO + " ",
        HELLO + "\n",
        HELLO + "=",
        HELLO + "======",
        HELLO[1:],
        HELLO[:-1],
        HELLO + "a",
        "b",
        "Qm",
        "Qm" + "0" * 44,
        "Qm" + "z" * 44,
        HELLO_V0[:-1],
        HELLO_V0 + "1",
        "1" + HELLO_V0,
        "z" + HELLO_V0,
        "ipfs://" + HELLO,
        "/ipfs/" + HELLO,
        HELLO + "/..",
        "../../x",
        "%2e%2e",
        "\0" + HELLO,
        HELLO[:20] + "\0" + HELLO[21:],
        HELLO[:20] + "_" + HELLO[21:],
        HELLO.replace("i", "\u0131"),
        HELLO.replace("2", "\u0662"),
        "bafkqaaa",
        "b" + "a" * 10_000,
        "\ud800",
    ],
)
def test_an_invalid_cid_is_refused(text: str) -> None:
    with pytest.raises(NotACid):
        parse_cid(text)


@pytest.mark.parametrize(
    "head",
    [
        "00701220",
        "02551220",
        "01711220",
        "01721220",
        "01001220",
        "01551320",
        "0155121f",
        "01550020",
        "01551b20",
        "81005512",
        "01d50012",
        "12200155",
    ],
    ids=lambda head: f"begins with {head}",
)
def test_unsupported_versions_codecs_hashes_and_long_varints_are_refused(head: str) -> None:
    with pytest.raises(NotACid):
        parse_cid(spell_base32(bytes.fromhex(head) + bytes(32)))


def test_an_overlong_binary_encoding_of_a_cid_is_refused() -> None:
    overlong = bytes.fromhex("01d5001220") + cid_bytes(parse_cid(HELLO))[4:]
    with pytest.raises(NotACid):
        parse_cid(spell_base32(overlong))


def parse_or_none(text: str) -> str | None:
    try:
        return parse_cid(text)
    except NotACid:
        return None


def test_every_recorded_spelling_has_the_recorded_result() -> None:
    assert len(SPELLINGS) >= 300
    assert {text: parse_or_none(text) for text in SPELLINGS} == SPELLINGS


@given(st.text(max_size=200))
def test_arbitrary_text_is_either_a_cid_or_refused(text: str) -> None:
    try:
        cid = parse_cid(text)
    except NotACid:
        return
    assert parse_cid(cid) == cid


@given(
    st.sampled_from(["f", "b", "c", "v", "t", "k", "z", "Z", "m", "u", "Q"]),
    st.text(BITCOIN + "0OIl-_+/=", min_size=40, max_size=80),
)
def test_text_that_resembles_a_cid_is_either_a_cid_or_refused(prefix: str, body: str) -> None:
    try:
        cid = parse_cid(prefix + body)
    except NotACid:
        return
    assert parse_cid(cid) == cid
