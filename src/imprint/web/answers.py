"""Answers: JSON encoded once, with the headers that its kind of content needs."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

_encode = msgspec.json.Encoder().encode

IMMUTABLE = "public, max-age=31536000, immutable"
"""For bytes named by their hash: they can never change, so nobody need ask again."""

FREE_POST = "public, max-age=5"
"""For a post that is free now: its author may set a price at any time."""

PRIVATE = "no-store"
"""For what only one reader may see."""


def json_answer(value: object, cache: str | None = None) -> Response:
    """A JSON answer, 200."""
    headers = {"Cache-Control": cache} if cache else None
    return Response(_encode(value), headers=headers, media_type="application/json")


def entity_tag(name: str) -> str:
    """The strong tag of bytes that this name, a cid above all, says everything about."""
    return f'"{name}"'


def is_current(request: Request, tag: str) -> bool:
    """Whether the client holds this content already."""
    given = request.headers.get("if-none-match")
    if given is None:
        return False
    return any(part.strip().removeprefix("W/") in (tag, "*") for part in given.split(","))


def not_modified(tag: str, cache: str) -> Response:
    """The client's copy is good, 304."""
    return Response(status_code=304, headers={"ETag": tag, "Cache-Control": cache})
