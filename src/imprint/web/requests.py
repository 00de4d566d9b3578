"""Requests: bodies read under a limit, JSON taken strictly, parameters parsed at the edge."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from starlette.datastructures import QueryParams
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from imprint.domain.addresses import Address, NotAnAddress, parse_address
from imprint.domain.cids import Cid, NotACid, parse_cid
from imprint.domain.errors import Code, Refusal
from imprint.domain.tags import NotTags, parse_hashtags

Body = TypeVar("Body", bound=msgspec.Struct)

_POST_ID = re.compile(r"(0|[1-9][0-9]{0,77})\Z")

MAX_LENGTH_DIGITS = 18
"""A declared length with more digits than this is not even read as a number."""

SHORT_QUERY = 512
"""Up to how many bytes a query is kept, parsed, for whoever asks the same again."""

MAX_FORM_FIELDS = 8
"""More text fields than any signed form has."""


class _InMemoryParser(MultiPartParser):
    """A form whose file never touches the disk: the body was read under a limit already."""

    spool_max_size = 64 * 1024 * 1024

    def close(self) -> None:
        """Let go of the file, also of one whose end never came."""
        for file in self._files_to_close_on_error:
            file.close()


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a multipart form."""

    texts: Mapping[str, str]
    files: Mapping[str, bytes]

    def text(self, name: str, default: str | None = None) -> str:
        """A text field. Refuses a missing one, unless there is a default."""
        value = self.texts.get(name, None if name in self.files else default)
        if value is None:
            raise Refusal(Code.INVALID_REQUEST, f"The form needs a text field '{name}'.")
        return value

    def file(self, name: str) -> bytes:
        """The bytes of a file. Refuses a missing one."""
        if name not in self.files:
            raise Refusal(Code.INVALID_REQUEST, f"The form needs a file '{name}'.")
        return self.files[name]


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Reads bodies; `timeout` is how many seconds a client may take to send one."""

    timeout: float

    async def read(self, request: Request, limit: int) -> bytes:
        """The body, at most `limit` bytes: one byte more and nothing of it is kept.

        Refuses `too_large`, and a client that is too slow.
        """
        check_length(request, limit)
        try:
            async with asyncio.timeout(self.timeout):
                return await _collect(request, limit)
        except TimeoutError:
            raise Refusal(Code.REQUEST_TIMEOUT, "The request took too long to arrive.") from None
        except ClientDisconnect:
            raise Refusal(Code.INVALID_REQUEST, "The request was not sent completely.") from None

    async def read_json(self, request: Request, limit: int, shape: type[Body]) -> Body:
        """The JSON body in its shape.

        Refuses another media type, a key given twice, NaN, lone surrogates, and what is no JSON or
        not of this shape.
        """
        expect_json(request, limit)
        value = parse_json(await self.read(request, limit))
        try:
            return msgspec.convert(value, shape)
        except msgspec.ValidationError as error:
            raise Refusal(Code.INVALID_REQUEST, f"{error}.") from None

    async def read_form(self, request: Request, limit: int) -> Form:
        """The multipart form. Refuses another media type, a broken form, a field given twice."""
        expect_form(request, limit)
        body = await self.read(request, limit)
        parser = _InMemoryParser(
            request.headers, _once(body), max_files=1, max_fields=MAX_FORM_FIELDS
        )
        try:
            fields = (await parser.parse()).multi_items()
            texts = {name: value for name, value in fields if isinstance(value, str)}
            files = {
                name: await value.read() for name, value in fields if not isinstance(value, str)
            }
        except (MultiPartException, KeyError, ValueError, AttributeError):
            raise Refusal(Code.INVALID_REQUEST, "The form cannot be read.") from None
        finally:
            parser.close()
        if len({name for name, _ in fields}) != len(fields):
            raise Refusal(Code.INVALID_REQUEST, "A form field was given twice.")
        return Form(texts, files)


async def _collect(request: Request, limit: int) -> bytes:
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message = await request.receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            raise _too_large(limit)
        more = message.get("more_body", False)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def _once(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


def _too_large(limit: int) -> Refusal:
    return Refusal(Code.TOO_LARGE, f"The body may have at most {limit} bytes.")


def expect_json(request: Request, limit: int) -> None:
    """Refuses a request whose headers speak of anything but a JSON body within the limit."""
    check_length(request, limit)
    check_media_type(request, "application/json")


def expect_form(request: Request, limit: int) -> None:
    """Refuses a request whose headers speak of anything but a form within the limit."""
    check_length(request, limit)
    check_media_type(request, "multipart/form-data")


def check_length(request: Request, limit: int) -> None:
    """Refuses a body that says itself that it is longer than the limit."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > MAX_LENGTH_DIGITS or int(declared) > limit):
        raise _too_large(limit)


def check_media_type(request: Request, expected: str) -> None:
    """Refuses a body of another media type."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != expected:
        raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, f"The body must be {expected}.")


def parse_json(body: bytes | str) -> Any:
    """A JSON value, taken strictly. Refuses `invalid_json`."""
    try:
        text = body if isinstance(body, str) else body.decode()
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
        if "\\u" in text:
            # Only an escape can smuggle in half a surrogate pair, which no UTF-8 can carry.
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise Refusal(Code.INVALID_JSON, "The body is not valid JSON.") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is given twice")
    return members


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def query_of(request: Request) -> QueryParams:
    """The parameters in the address of a request."""
    query: bytes = request.scope["query_string"]
    return _known_query(query) if len(query) <= SHORT_QUERY else QueryParams(query)


@lru_cache(maxsize=1024)
def _known_query(query: bytes) -> QueryParams:
    return QueryParams(query)


def query_text(request: Request, name: str, code: Code) -> str:
    """A query parameter, given exactly once. Refuses otherwise with this code."""
    values = query_of(request).getlist(name)
    if len(values) != 1:
        raise Refusal(code, f"The parameter '{name}' must be given once.")
    return values[0]


def query_cid(request: Request) -> Cid:
    """The parameter `cid` in its canonical spelling. Refuses `invalid_cid`."""
    return canonical_cid(query_text(request, "cid", Code.INVALID_CID))


def canonical_cid(text: str) -> Cid:
    """A cid in its canonical spelling. Refuses `invalid_cid`."""
    try:
        return parse_cid(text)
    except NotACid as error:
        raise Refusal(Code.INVALID_CID, str(error)) from None


def query_address(request: Request, name: str) -> Address:
    """An address among the parameters. Refuses `invalid_address`."""
    try:
        return parse_address(query_text(request, name, Code.INVALID_ADDRESS))
    except NotAnAddress as error:
        raise Refusal(Code.INVALID_ADDRESS, str(error)) from None


def query_post_id(request: Request) -> int:
    """The parameter `postId`: plain decimal, below 2^256. Refuses `invalid_post_id`."""
    text = query_text(request, "postId", Code.INVALID_POST_ID)
    if not _POST_ID.match(text) or (post_id := int(text)) >= 2**256:
        raise Refusal(Code.INVALID_POST_ID, "A post id is a decimal number below 2^256.")
    return post_id


def query_tags(request: Request) -> tuple[str, ...]:
    """The parameter `tags`: at least one hashtag. Refuses `invalid_tags`."""
    tags = parse_tags(query_text(request, "tags", Code.INVALID_TAGS))
    if not tags:
        raise Refusal(Code.INVALID_TAGS, "Give at least one hashtag.")
    return tags


def parse_tags(text: str) -> tuple[str, ...]:
    """A list of hashtags, which may be empty. Refuses `invalid_tags`."""
    try:
        return parse_hashtags(text)
    except NotTags as error:
        raise Refusal(Code.INVALID_TAGS, str(error)) from None
