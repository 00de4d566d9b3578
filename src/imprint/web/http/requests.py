"""Requests: reads bodies within limits, and parses strict JSON and query parameters."""

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar

import msgspec
from starlette.datastructures import Headers, QueryParams
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from imprint.domain.drafts.documents import ContentTooLarge, NotContent, check_content
from imprint.domain.drafts.tags import NotTags, parse_hashtags
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address, NotAnAddress, parse_address
from imprint.domain.formats.cids import Cid, NotACid, parse_cid
from imprint.interface.drafts import ContentBody
from imprint.web.http.content_splitter import ContentSplitter

# Request bodies


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a multipart form. Fields other than files are not decoded yet."""

    fields: Mapping[str, bytes]
    files: Mapping[str, bytes]

    def field(self, name: str, default: bytes | None = None) -> bytes:
        """Return a field that is not a file. Refuses a missing field unless there is a default."""
        value = self.fields.get(name, default)
        if value is None:
            raise Refusal(Code.INVALID_REQUEST, f"The form needs a text field '{name}'.")
        return value

    def text(self, name: str) -> str:
        """Return a text field. Refuses a missing field, and a text that is not UTF-8."""
        return decode_text(self.field(name), Code.INVALID_REQUEST)

    def file(self, name: str) -> bytes:
        """Return the bytes of a file. Refuses a missing file."""
        if name not in self.files:
            raise Refusal(Code.INVALID_REQUEST, f"The form needs a file '{name}'.")
        return self.files[name]


def decode_text(field: bytes, code: Code) -> str:
    """Decode the text of a form field. Refuses with this code if it is not UTF-8."""
    try:
        return field.decode()
    except UnicodeDecodeError:
        raise Refusal(code, "The text fields of a form must be UTF-8.") from None


# Reading a body, in two steps: its headers are checked when it is opened, the rest while it is read

Schema = TypeVar("Schema", bound=msgspec.Struct)
WithContent = TypeVar("WithContent", bound=ContentBody)

MAX_LENGTH_DIGITS = 18
"""Maximum number of digits of a declared length. A longer number is too large and is not parsed."""

MAX_FORM_FIELDS = 8
"""Maximum number of text fields in a form, more than any signed form has."""

SMALL_BODY = 64 * 1024
"""Maximum bytes of a body, not counting content or image, and of each text field of a form.

A signature and the signed data are shorter. A body of this size is parsed at once, which
takes at most 4 ms.
"""

FILE_FIELD = "file"
"""The name of a form's only file field. Every other field is text, whatever its part declares."""

ESCAPED = 6
"""Maximum length of a JSON string relative to its text. An escape has up to six characters."""


@dataclass(frozen=True, slots=True)
class UnreadBody:
    """A body that has not been read yet, but whose headers have been checked."""

    request: Request
    limit: int
    timeout: float

    def check_length(self) -> None:
        """Refuse a body whose headers declare too many bytes."""
        declared = self.request.headers.get("content-length", "")
        is_long = len(declared) > MAX_LENGTH_DIGITS
        if declared.isdecimal() and (is_long or int(declared) > self.limit):
            raise self.too_large()

    def too_large(self) -> Refusal:
        """Return the refusal for a body with more bytes than the limit."""
        return Refusal(Code.TOO_LARGE, f"The body may have at most {self.limit} bytes.")

    async def read(self) -> bytes:
        """Return the bytes. Refuses with `too_large` above the limit, and refuses slow clients."""
        chunks: list[bytes] = []
        await self.receive(chunks.append)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def receive(self, take: Callable[[bytes], None]) -> None:
        """Pass each chunk to `take` as it arrives. Refuses in the same cases as `read`."""
        try:
            async with asyncio.timeout(self.timeout):
                await self._receive(take)
        except TimeoutError:
            raise Refusal(Code.REQUEST_TIMEOUT, "The request took too long to arrive.") from None
        except ClientDisconnect:
            raise Refusal(Code.INVALID_REQUEST, "The request body is incomplete.") from None

    async def _receive(self, take: Callable[[bytes], None]) -> None:
        size, more = 0, True
        while more:
            message = await self.request.receive()
            if message["type"] != "http.request":
                raise ClientDisconnect
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > self.limit:
                raise self.too_large()
            take(chunk)
            more = message.get("more_body", False)


class UnreadJson(UnreadBody):
    """A JSON body that has not been read yet."""

    __slots__ = ()

    async def parse(self, schema: type[Schema]) -> Schema:
        """Read and parse the value.

        Refuses with `invalid_json`, and `invalid_request` if it does not match this schema.
        """
        return _convert(parse_json(await self.read()), schema)


@dataclass(frozen=True, slots=True)
class UnreadContent(UnreadBody):
    """A JSON body with content of at most `max_content` bytes of UTF-8."""

    max_content: int

    async def parse(self, schema: type[WithContent]) -> tuple[WithContent, str | Callable[[], str]]:
        """Return the value and its content, or a function that decodes the content if it is large.

        Refuses in the same cases as `UnreadJson.parse`, and also refuses content that is too large
        or has NUL characters or lone surrogates. Only the size of large content is checked here,
        and the function checks the rest. The function takes up to a tenth of a second, so call it
        only for verified signers.
        """
        sink = _ContentSink(self.max_content)
        await self.receive(sink.take)
        if sink.splitter is None:
            body = _convert(parse_json(sink.body), schema)
            return body, _check_content(body.content, self.max_content)
        body = _convert(parse_json(sink.splitter.envelope), schema)
        return body, partial(self._decode, sink.splitter)

    def _decode(self, splitter: ContentSplitter) -> str:
        return _check_content(splitter.decode_content(), self.max_content)


class _ContentSink:
    """Stores a small body unchanged, and splits a larger body as it arrives."""

    __slots__ = ("_max_content", "body", "splitter")

    def __init__(self, max_content: int) -> None:
        self.body = bytearray()
        self.splitter: ContentSplitter | None = None
        self._max_content = max_content

    def take(self, chunk: bytes) -> None:
        if self.splitter is None:
            self.body += chunk
            if len(self.body) <= SMALL_BODY:
                return
            self.splitter = ContentSplitter(SMALL_BODY, self._max_content)
            chunk = bytes(self.body)
            self.body.clear()
        self.splitter.take(chunk)


class UnreadForm(UnreadBody):
    """A multipart form with an image that has not been read yet."""

    __slots__ = ()

    def too_large(self) -> Refusal:
        most = self.limit - SMALL_BODY
        detail = f"The picture may have at most {most} bytes, and the form around it {SMALL_BODY}."
        return Refusal(Code.TOO_LARGE, detail)

    async def parse(self) -> Form:
        """Read the form. Refuses a form that is malformed, truncated, or repeats a field."""
        chunks: deque[bytes] = deque()
        await self.receive(chunks.append)
        parser = _InMemoryParser(self.request.headers, chunks)
        try:
            form = await parser.parse()
        except (MultiPartException, KeyError, ValueError, AttributeError):
            raise Refusal(Code.INVALID_REQUEST, "The form cannot be read.") from None
        items = form.multi_items()
        files = {name: await value.read() for name, value in items if not isinstance(value, str)}
        await form.close()
        if len({name for name, _ in items}) != len(items):
            raise Refusal(Code.INVALID_REQUEST, "A form field was given twice.")
        return Form(parser.fields, files)


class _InMemoryParser(MultiPartParser):
    """Starlette's parser, for a body that is already in memory with its files."""

    spool_max_size = 64 * 1024 * 1024

    def __init__(self, headers: Headers, chunks: deque[bytes]) -> None:
        super().__init__(
            headers,
            self._feed(chunks),
            max_files=2,  # the file, and a text field that is a file until its name is known
            max_fields=MAX_FORM_FIELDS,
            max_part_size=SMALL_BODY,
        )
        self.fields: dict[str, bytes] = {}
        self.is_ended = False

    def on_part_begin(self) -> None:
        super().on_part_begin()
        # Not the charset that the client chose, because decoding some of them takes quadratic time.
        self._charset = "utf-8"

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        part = self._current_part
        if part.file is not None and part.field_name != FILE_FIELD:
            # Browsers name a file in the part of every Blob, and JSON is sent as a Blob.
            part.file = None
            self._files_to_close_on_error.pop().close()
            self._current_files -= 1
            self._current_fields += 1
            if self._current_fields > self.max_fields:
                raise MultiPartException("Too many fields.")

    def on_part_end(self) -> None:
        # Starlette decodes fields, and replaces invalid bytes.
        if self._current_part.file is None:
            self.fields[self._current_part.field_name] = bytes(self._current_part.data)
        super().on_part_end()

    def on_end(self) -> None:
        self.is_ended = True

    async def _feed(self, chunks: deque[bytes]) -> AsyncGenerator[bytes, None]:
        while chunks:
            yield chunks.popleft()
            if chunks:
                # A form of 5 MB takes 12 ms, during which other requests get their turn.
                await asyncio.sleep(0)
        if not self.is_ended:
            # Raised while the parser reads, because then it closes a file that was never completed.
            raise MultiPartException("The form is truncated.")


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Opens request bodies. A client may take `timeout` seconds to send a body."""

    timeout: float

    def open(self, request: Request, limit: int) -> UnreadBody:
        """Open a body of at most `limit` bytes. Refuses a body whose headers declare more."""
        unread = UnreadBody(request, limit, self.timeout)
        unread.check_length()
        return unread

    def open_json(self, request: Request, limit: int) -> UnreadJson:
        """Open a JSON body of at most `limit` bytes. Refuses other media types and compression."""
        unread = UnreadJson(request, limit, self.timeout)
        unread.check_length()
        _check_media_type(request, "application/json")
        return unread

    def open_content(self, request: Request, max_content: int) -> UnreadContent:
        """Open a JSON body with at most `max_content` bytes of UTF-8 content.

        Refuses in the same cases as `open_json`.
        """
        limit = ESCAPED * max_content + SMALL_BODY
        unread = UnreadContent(request, limit, self.timeout, max_content)
        unread.check_length()
        _check_media_type(request, "application/json")
        return unread

    def open_form(self, request: Request, max_file: int) -> UnreadForm:
        """Open a multipart form with a file of at most `max_file` bytes.

        Refuses in the same cases as `open_json`.
        """
        unread = UnreadForm(request, max_file + SMALL_BODY, self.timeout)
        unread.check_length()
        _check_media_type(request, "multipart/form-data")
        return unread

    async def read_json(self, request: Request, schema: type[Schema], limit: int) -> Schema:
        """Open and parse a JSON body."""
        return await self.open_json(request, limit).parse(schema)


def _check_media_type(request: Request, expected: str) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != expected:
        raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, f"The body must be {expected}.")
    for coding in request.headers.getlist("content-encoding"):
        if coding.strip().lower() not in ("", "identity"):
            raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, "The body must not be compressed.")


def _check_content(content: str, limit: int) -> str:
    try:
        check_content(content, limit)
    except ContentTooLarge as error:
        raise Refusal(Code.TOO_LARGE, str(error)) from None
    except NotContent as error:
        raise Refusal(Code.INVALID_REQUEST, str(error)) from None
    return content


# Strict JSON

_PAIRED = re.compile(
    r"(?:[^\\]++|\\(?:[^u]|u(?:[^dD]|[dD][0-7])|u[dD][89abAB]..\\u[dD][c-fC-F]))*+", re.DOTALL
)
"""Pattern for JSON in which every escaped surrogate is part of a pair."""


def parse_json(body: bytes | bytearray) -> Any:
    """Parse a JSON value.

    Refuses with `invalid_json`, including for duplicate keys, NaN, Infinity and lone surrogates.
    """
    try:
        text = body.decode()
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise _invalid_json() from None
    # Search before matching the pattern: searching is cheap, and few texts have escaped surrogates.
    if ("\\ud" in text or "\\uD" in text) and not _PAIRED.fullmatch(text):
        raise _invalid_json()
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is given twice")
    return members


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _convert(value: Any, schema: type[Schema]) -> Schema:
    try:
        return msgspec.convert(value, schema)
    except msgspec.ValidationError as error:
        raise Refusal(Code.INVALID_REQUEST, f"{error}.") from None


def _invalid_json() -> Refusal:
    return Refusal(Code.INVALID_JSON, "The body is not valid JSON.")


# The client


def client_of(request: Request) -> str:
    """Return the key of the client that sent the request, recorded by `RequestMiddleware`."""
    client: str = request.scope["state"]["client"]
    return client


# Query parameters

_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,77})\Z")

MAX_CACHED_QUERY = 512
"""Maximum length in bytes of queries whose parsed parameters are cached."""

MAX_QUERY = 8 * 1024
"""Maximum length of a query in bytes: twice the length of the longest list of hashtags.

It takes 50 ms to parse 60 KB of fields.
"""


MAX_NAMED = 3
"""Maximum number of unknown parameters that a refusal names, and of characters per name."""

NAMED_CHARACTERS = 40


def query_params(request: Request, code: Code = Code.INVALID_REQUEST) -> QueryParams:
    """Parse the query parameters, cached by query string.

    See docs/decisions/query-parameter-cache.md. Refuses with this code if the query is too
    long.
    """
    query: bytes = request.scope["query_string"]
    if len(query) <= MAX_CACHED_QUERY:
        return _cached_params(query)
    if len(query) > MAX_QUERY:
        raise Refusal(code, f"A query string may have at most {MAX_QUERY} bytes.")
    return QueryParams(query)


@lru_cache(maxsize=1024)
def _cached_params(query: bytes) -> QueryParams:
    return QueryParams(query)


def check_parameters(request: Request, known: frozenset[str] = frozenset()) -> QueryParams:
    """Return the query parameters. Refuses parameters that the endpoint does not have."""
    given = query_params(request)
    refuse_unknown(given, known)
    return given


def refuse_unknown(given: QueryParams, known: frozenset[str]) -> None:
    """Refuse parameters that an endpoint does not have, and name them."""
    unknown = [name for name in given if name not in known and given_values(given, name)]
    if unknown:
        names = ", ".join(f"'{name[:NAMED_CHARACTERS]}'" for name in unknown[:MAX_NAMED])
        rest = ", …" if len(unknown) > MAX_NAMED else ""
        raise Refusal(Code.INVALID_REQUEST, f"Unknown parameters: {names}{rest}.")


def given_values(query: QueryParams, name: str) -> list[str]:
    """Return the values of a parameter. An empty value counts as not given."""
    return [value for value in query.getlist(name) if value]


def only_value(query: QueryParams, name: str, code: Code = Code.INVALID_REQUEST) -> str | None:
    """Return the value of a parameter, if given. Refuses a parameter that is given twice."""
    values = given_values(query, name)
    if len(values) > 1:
        raise Refusal(code, f"The parameter '{name}' is given more than once.")
    return values[0] if values else None


def query_text(request: Request, name: str, code: Code) -> str:
    """Return a query parameter. Refuses with this code unless it is given exactly once."""
    values = query_params(request, code).getlist(name)
    if len(values) != 1:
        raise Refusal(code, f"The parameter '{name}' must be given once.")
    return values[0]


def query_cid(request: Request) -> Cid:
    """Return the parameter `cid` in its canonical encoding. Refuses with `invalid_cid`."""
    return canonical_cid(query_text(request, "cid", Code.INVALID_CID))


def canonical_cid(text: str) -> Cid:
    """Parse a CID into its canonical encoding. Refuses with `invalid_cid`."""
    try:
        return parse_cid(text)
    except NotACid as error:
        raise Refusal(Code.INVALID_CID, str(error)) from None


def query_address(request: Request, name: str) -> Address:
    """Return a query parameter that is an address. Refuses with `invalid_address`."""
    return canonical_address(query_text(request, name, Code.INVALID_ADDRESS))


def canonical_address(text: str) -> Address:
    """Parse an address into its canonical spelling. Refuses with `invalid_address`."""
    try:
        return parse_address(text)
    except NotAnAddress as error:
        raise Refusal(Code.INVALID_ADDRESS, str(error)) from None


def query_post_id(request: Request) -> int:
    """Return the parameter `postId`, in plain decimal below 2^256.

    Refuses with `invalid_post_id`.
    """
    return canonical_post_id(query_text(request, "postId", Code.INVALID_POST_ID))


def with_query(path: str, request: Request) -> str:
    """Return a path with the query of a request, for redirects."""
    query: str = request.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def canonical_post_id(text: str) -> int:
    """Parse a post ID in plain decimal below 2^256. Refuses with `invalid_post_id`."""
    problem = "A post id must be a decimal number below 2^256."
    return decimal_number(text, Code.INVALID_POST_ID, problem)


def decimal_number(text: str, code: Code, problem: str) -> int:
    """Parse a plain decimal number below 2^256. Refuses any other text with this code."""
    if not _DECIMAL.match(text) or (number := int(text)) >= 2**256:
        raise Refusal(code, problem)
    return number


def query_tags(request: Request) -> tuple[str, ...]:
    """Return the parameter `tags`, with at least one hashtag. Refuses with `invalid_tags`."""
    tags = parse_tags(query_text(request, "tags", Code.INVALID_TAGS))
    if not tags:
        raise Refusal(Code.INVALID_TAGS, "Give at least one hashtag.")
    return tags


def parse_tags(text: str) -> tuple[str, ...]:
    """Parse a list of hashtags, which may be empty. Refuses with `invalid_tags`."""
    try:
        return parse_hashtags(text)
    except NotTags as error:
        raise Refusal(Code.INVALID_TAGS, str(error)) from None
