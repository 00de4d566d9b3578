"""Multipart forms, in one piece and in small chunks."""

import asyncio
import atexit
from collections.abc import Iterable

from starlette.requests import Request
from starlette.types import Message

from imprint.domain.errors import Refusal
from imprint.web.http.requests import BodyReader, Form

READER = BodyReader(timeout=60.0)
MAX_FILE = 64 * 1024
LOOP = asyncio.new_event_loop()
atexit.register(LOOP.close)


def check(data: bytes) -> None:
    """The chunks in which a form arrives do not change what is read.

    The first line of the input is the content type, and the body is the rest.
    """
    kind, _, body = data.partition(b"\n")
    # After an empty line, the library ignores text up to the boundary, but only in its first chunk.
    body = body.lstrip(b"\r\n")
    whole = _parse(kind, [body])
    assert _parse(kind, [body[at : at + 7] for at in range(0, len(body), 7)]) == whole
    if whole is not None:
        for name in ("salt", "address", "cid"):
            try:
                whole.text(name)
            except Refusal:
                continue


def _parse(kind: bytes, chunks: Iterable[bytes]) -> Form | None:
    messages: list[Message] = [
        {"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks
    ]
    messages.append({"type": "http.request", "body": b"", "more_body": False})
    waiting = iter(messages)

    async def receive() -> Message:
        return next(waiting)

    request = Request({"type": "http", "headers": [(b"content-type", kind)]}, receive)
    try:
        return LOOP.run_until_complete(READER.open_form(request, MAX_FILE).parse())
    except Refusal:
        return None
