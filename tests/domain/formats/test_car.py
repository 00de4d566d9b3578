"""Writing and reading CAR files, intact and damaged."""

import io
from contextlib import suppress
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.formats.car import (
    MAX_BLOCK,
    MAX_ROOTS,
    NotACar,
    read_header,
    read_sections,
    write_car,
    write_header,
    write_section,
)
from imprint.domain.formats.cids import Cid, Codec, blocks, cid_bytes, cid_of, document_cid

HELLO = Cid("bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e")
RELABELLED = cid_of(Codec.DAG_PB, sha256(b"hello world").digest())
HELLO_CAR = bytes.fromhex(
    # {"roots": [HELLO], "version": 1} in DAG-CBOR, as every implementation writes it
    "3aa265726f6f747381d82a58250001551220"
    "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
    "6776657273696f6e01"
    "2f01551220b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
    "68656c6c6f20776f726c64"
)


def raw(block: bytes) -> Cid:
    return cid_of(Codec.RAW, sha256(block).digest())


def read(car: bytes) -> tuple[tuple[Cid, ...], list[tuple[Cid, bytes]]]:
    stream = io.BytesIO(car)
    return read_header(stream.read), list(read_sections(stream.read))


def test_a_written_car_equals_the_reference_car():
    assert b"".join(write_car(HELLO, [(HELLO, b"hello world")])) == HELLO_CAR


def test_the_reference_car_can_be_read():
    assert read(HELLO_CAR) == ((HELLO,), [(HELLO, b"hello world")])


@given(st.binary(max_size=600_000), st.sampled_from(list(Codec)))
def test_a_written_car_is_read_back(data, codec):
    root = cid_of(codec, sha256(data).digest())
    found = [*blocks(data), (root, data)]
    assert read(b"".join(write_car(root, found))) == (
        (root,),
        [(cid, bytes(block)) for cid, block in found],
    )


def test_a_car_may_have_several_roots():
    roots = tuple(raw(bytes([n])) for n in range(MAX_ROOTS))
    assert read_header(io.BytesIO(write_header(roots)).read) == roots


@pytest.mark.parametrize("roots", [[], [HELLO] * (MAX_ROOTS + 1)])
def test_a_header_without_roots_or_with_too_many_is_refused(roots):
    with pytest.raises(ValueError, match="roots"):
        write_header(roots)


@pytest.mark.parametrize("end", range(1, len(HELLO_CAR)))
def test_a_car_truncated_inside_a_block_is_refused(end):
    if end == 59:
        assert read(HELLO_CAR[:end]) == ((HELLO,), [])
        return
    with pytest.raises(NotACar):
        read(HELLO_CAR[:end])


@pytest.mark.parametrize("at", range(len(HELLO_CAR)))
def test_every_changed_byte_is_detected(at):
    changed = bytearray(HELLO_CAR)
    for by in range(1, 256):
        changed[at] = HELLO_CAR[at] ^ by
        try:
            roots, sections = read(bytes(changed))
        except NotACar:
            continue
        # Two parts are covered by no checksum: the root in the header, and a block's codec.
        if roots == (HELLO,):
            assert sections == [(RELABELLED, b"hello world")]
        else:
            assert sections == [(HELLO, b"hello world")]


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_either_read_or_refused(data):
    with suppress(NotACar):
        read(data)


def test_a_block_above_the_size_limit_is_refused_before_it_is_read():
    asked = []
    stream = io.BytesIO(write_section(HELLO, b"x" * (MAX_BLOCK + 2)))

    def read_some(size: int) -> bytes:
        asked.append(size)
        return stream.read(size)

    with pytest.raises(NotACar, match="more than"):
        list(read_sections(read_some))
    assert max(asked) == 1


def test_a_block_of_the_maximum_size_is_accepted():
    block = bytes(MAX_BLOCK)
    assert list(read_sections(io.BytesIO(write_section(raw(block), block)).read)) == [
        (raw(block), block)
    ]


def test_a_cid_of_an_unsupported_type_is_refused():
    section = bytes([38]) + b"\x01\x55\x16\x20" + bytes(34)
    with pytest.raises(NotACar, match="kind"):
        list(read_sections(io.BytesIO(section).read))


@pytest.mark.parametrize(
    "header",
    [
        b"\xa1\x67version\x01",
        b"\xa2\x65roots\x80\x67version\x01",
        b"\xa2\x65roots\x81\xd8\x2a\x58\x25\x00" + cid_bytes(HELLO) + b"\x67version\x02",
        b"\xa2\x67version\x01\x65roots\x81\xd8\x2a\x58\x25\x00" + cid_bytes(HELLO),
        b"\xa2\x65roots\x81\xd8\x2a\x58\x25\x01" + cid_bytes(HELLO) + b"\x67version\x01",
    ],
)
def test_an_unsupported_header_is_refused(header):
    with pytest.raises(NotACar):
        read_header(io.BytesIO(bytes([len(header)]) + header).read)


def test_the_blocks_of_a_large_document_are_written_depth_first_from_its_root():
    data = bytes(range(256)) * 4000
    root = document_cid(data)
    found = read(b"".join(write_car(root, blocks(data))))[1]
    assert found[0][0] == root
    assert b"".join(block for _, block in found[1:]) == data
