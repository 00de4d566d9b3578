"""JSON encoding of requests and responses."""

from typing import TypeVar, cast

import msgspec

from imprint.interface.values import Wei

Record = TypeVar("Record")


def _write_amount(value: object) -> str:
    if not isinstance(value, Wei):
        raise NotImplementedError(f"{type(value).__name__} is not part of a record.")
    return int.__repr__(value)


def _read_amount(kind: type, value: object) -> Wei:
    if kind is not Wei or not isinstance(value, str) or not value.isdecimal():
        raise ValueError("An amount is a text of digits.")
    return Wei(value)


encode_json = msgspec.json.Encoder(enc_hook=_write_amount).encode
"""Encode a record, a list of records or plain JSON."""


def decode_json(data: bytes, kind: type[Record]) -> Record:
    """Decode JSON. Raises `msgspec.DecodeError` if it does not match the type."""
    return msgspec.json.decode(data, type=kind, dec_hook=_read_amount)


def encode_once(record: Record) -> Record:
    """Encode a record once for many responses. The result can only be embedded in other records."""
    return cast("Record", msgspec.Raw(encode_json(record)))
