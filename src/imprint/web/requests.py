"""Requests: bodies read within limits, JSON parsed strictly, query parameters parsed."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from starlette.datastructures import Headers, QueryParams
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from imprint.domain.addresses import Address, NotAnAddress, parse_address
from imprint.domain.cids import Cid, NotACid, parse_cid
from imprint.domain.errors import Code, Refusal
from imprint.domain.tags import NotTags, parse_hashtags

# Request bodies


class LoginBody(msgspec.Struct):
    """`POST /auth/login`"""

    signature: str
    salt: str
    address: str


class SignedBody(msgspec.Struct):
    """`POST /delete/file`: a signed write without content; `salt` is checked by its verifier."""

    salt: Any
    address: str
    signature: str


class ContentBody(SignedBody):
    """`POST /create/group`, `POST /update/file`: a signed write with content."""

    content: str


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


# Reading a body, in two steps: its headers are checked when it is opened, the rest while it is read

Schema = TypeVar("Schema", bound=msgspec.Struct)

MAX_LENGTH_DIGITS = 18
"""A declared length with more digits is too large, and not parsed."""

MAX_FORM_FIELDS = 8
"""Text fields of a form; more than any signed form has."""


@dataclass(frozen=True, slots=True)
class UnreadBody:
    """A body whose headers are checked and of which nothing is read yet."""

    request: Request
    limit: int
    timeout: float

    async def read(self) -> bytes:
        """The bytes. Refuses `too_large` beyond the limit, and a client that is too slow."""
        try:
            async with asyncio.timeout(self.timeout):
                return await self._collect()
        except TimeoutError:
            raise Refusal(Code.REQUEST_TIMEOUT, "The request took too long to arrive.") from None
        except ClientDisconnect:
            raise Refusal(Code.INVALID_REQUEST, "The request was not sent completely.") from None

    async def _collect(self) -> bytes:
        chunks: list[bytes] = []
        size, more = 0, True
        while more:
            message = await self.request.receive()
            if message["type"] != "http.request":
                raise ClientDisconnect
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > self.limit:
                raise _too_large(self.limit)
            more = message.get("more_body", False)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)


class UnreadJson(UnreadBody):
    """A JSON body that is not read yet."""

    __slots__ = ()

    async def parse(self, schema: type[Schema]) -> Schema:
        """The value. Refuses `invalid_json`, and `invalid_request` if it is not of this schema."""
        value = parse_json(await self.read())
        try:
            return msgspec.convert(value, schema)
        except msgspec.ValidationError as error:
            raise Refusal(Code.INVALID_REQUEST, f"{error}.") from None


class UnreadForm(UnreadBody):
    """A multipart form that is not read yet."""

    __slots__ = ()

    async def parse(self) -> Form:
        """The form. Refuses one that is malformed, not ended, or has a field twice."""
        parser = _InMemoryParser(self.request.headers, await self.read())
        try:
            form = await parser.parse()
        except (MultiPartException, KeyError, ValueError, AttributeError):
            raise Refusal(Code.INVALID_REQUEST, "The form cannot be read.") from None
        fields = form.multi_items()
        texts = {name: value for name, value in fields if isinstance(value, str)}
        files = {name: await value.read() for name, value in fields if not isinstance(value, str)}
        await form.close()
        if len({name for name, _ in fields}) != len(fields):
            raise Refusal(Code.INVALID_REQUEST, "A form field was given twice.")
        return Form(texts, files)


class _InMemoryParser(MultiPartParser):
    """Starlette's parser for a body that is in memory already, and so are its files."""

    spool_max_size = 64 * 1024 * 1024

    def __init__(self, headers: Headers, body: bytes) -> None:
        super().__init__(headers, self._chunks(body), max_files=1, max_fields=MAX_FORM_FIELDS)
        self.is_ended = False

    def on_end(self) -> None:
        self.is_ended = True

    async def _chunks(self, body: bytes) -> AsyncGenerator[bytes, None]:
        yield body
        if not self.is_ended:
            # Raised while the parser reads, because then it closes a file whose end never came.
            raise MultiPartException("The form has no end.")


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Opens the bodies of requests; `timeout` is how many seconds a client may take to send one."""

    timeout: float

    def open(self, request: Request, limit: int) -> UnreadBody:
        """The body of at most `limit` bytes. Refuses one whose headers declare more."""
        _check_length(request, limit)
        return UnreadBody(request, limit, self.timeout)

    def open_json(self, request: Request, limit: int) -> UnreadJson:
        """The JSON body of at most `limit` bytes. Also refuses another media type."""
        _check_length(request, limit)
        _check_media_type(request, "application/json")
        return UnreadJson(request, limit, self.timeout)

    def open_form(self, request: Request, limit: int) -> UnreadForm:
        """The multipart form of at most `limit` bytes. Also refuses another media type."""
        _check_length(request, limit)
        _check_media_type(request, "multipart/form-data")
        return UnreadForm(request, limit, self.timeout)

    async def read_json(self, request: Request, schema: type[Schema], limit: int) -> Schema:
        """The JSON body, opened and parsed."""
        return await self.open_json(request, limit).parse(schema)


def _check_length(request: Request, limit: int) -> None:
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > MAX_LENGTH_DIGITS or int(declared) > limit):
        raise _too_large(limit)


def _check_media_type(request: Request, expected: str) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != expected:
        raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, f"The body must be {expected}.")


def _too_large(limit: int) -> Refusal:
    return Refusal(Code.TOO_LARGE, f"The body may have at most {limit} bytes.")


# Strict JSON


def parse_json(body: bytes | str) -> Any:
    """A JSON value.

    Refuses `invalid_json`, which includes a key given twice, NaN, Infinity and lone surrogates.
    """
    try:
        text = body if isinstance(body, str) else body.decode()
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
        if "\\u" in text:
            # Only an escape can produce a lone surrogate, which UTF-8 cannot encode.
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise Refusal(Code.INVALID_JSON, "The body is not valid JSON.") from None
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is given twice")
    return members


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# Query parameters

_POST_ID = re.compile(r"(0|[1-9][0-9]{0,77})\Z")

MAX_CACHED_QUERY = 512
"""Bytes of the longest query whose parsed parameters are cached."""


def query_params(request: Request) -> QueryParams:
    """The query parameters, cached by query string (docs/decisions/query-parameter-cache.md)."""
    query: bytes = request.scope["query_string"]
    return _cached_params(query) if len(query) <= MAX_CACHED_QUERY else QueryParams(query)


@lru_cache(maxsize=1024)
def _cached_params(query: bytes) -> QueryParams:
    return QueryParams(query)


def query_text(request: Request, name: str, code: Code) -> str:
    """A query parameter, given exactly once. Refuses otherwise with this code."""
    values = query_params(request).getlist(name)
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
    """A query parameter that is an address. Refuses `invalid_address`."""
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
