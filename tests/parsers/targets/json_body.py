"""JSON bodies, whole and split into an envelope and its content."""

from typing import Any

from imprint.domain.errors import Refusal
from imprint.web.http.content_splitter import ContentSplitter
from imprint.web.http.requests import parse_json

MAX_ENVELOPE, MAX_CONTENT = 64 * 1024, 64 * 1024


def check(data: bytes) -> None:
    """A body that is split and accepted is also accepted whole, with the same values."""
    whole = _parse(data)
    for size in (len(data) or 1, 5):
        split = _split(data, size)
        if split is None:
            continue
        envelope, content = split
        if not isinstance(envelope, dict) or envelope.get("content") != "":
            assert envelope == whole or not isinstance(envelope, dict)
        else:
            assert whole == envelope | {"content": content}


def _parse(data: bytes) -> Any:
    try:
        return parse_json(data)
    except Refusal:
        return None


def _split(data: bytes, size: int) -> tuple[Any, str] | None:
    splitter = ContentSplitter(MAX_ENVELOPE, MAX_CONTENT)
    try:
        for at in range(0, len(data), size):
            splitter.take(data[at : at + size])
        envelope = parse_json(splitter.envelope)
        return envelope, splitter.decode_content()
    except Refusal:
        return None
