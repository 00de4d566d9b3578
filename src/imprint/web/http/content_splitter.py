"""Content splitter: separates the content of a large JSON body from the rest without parsing it.

Unauthenticated clients must not make the service parse megabytes. The rest, which is small, is
parsed immediately and identifies the signer. The content is decoded after the signer has been
verified.
"""

import re

import msgspec

from imprint.domain.errors import Code, Refusal

MAX_TOKENS = 4096
"""Maximum number of brackets, colons and strings outside the content. A write has about 70."""

MAX_DEPTH = 500
"""Maximum nesting depth of a body. The parser of small bodies gives up at twice this depth."""

_TOKEN = re.compile(rb'["{}\[\]:]')
_INSIDE_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_CONTENT_KEY = re.compile(rb"(?:[conte]|\\u00[67][0-9a-fA-F]){7}")
_TEXT = msgspec.json.Decoder(str)


class ContentSplitter:
    """Splits a JSON object, chunk by chunk, into its member `content` and its envelope.

    The envelope is the body with an empty string in place of the content. Only brackets,
    colons and strings are recognized, with one search each. The syntax is not checked: if
    the envelope is valid JSON and the content can be decoded, then the body is valid.
    """

    def __init__(self, max_envelope: int, max_content: int) -> None:
        self.envelope = bytearray()
        self._content: bytearray | None = None
        self._max_envelope = max_envelope
        self._max_content = max_content
        self._tokens = 0
        self._depth = 0
        self._string: bytearray | None = None
        """The buffer to which the current string is written."""
        self._is_escaped = False
        """Whether the next byte of the string follows a backslash."""
        self._key = slice(0, 0)
        """The position in the envelope of the last string in the outermost object."""
        self._value: int | None = None
        """The start of the value in the envelope, if the last key is `content`."""
        self._least_size = 0

    def take(self, chunk: bytes) -> None:
        """Process the next chunk of the body.

        Refuses with `too_large` for an envelope or content that is too long,
        `invalid_request` for too many tokens, and `invalid_json` for deep nesting or a
        second `content` member.
        """
        position = 0
        while position < len(chunk):
            if self._string is None:
                position = self._read_token(chunk, position)
            else:
                position = self._read_string(self._string, chunk, position)
            if len(self.envelope) > self._max_envelope:
                detail = f"A body without its content may have at most {self._max_envelope} bytes."
                raise Refusal(Code.TOO_LARGE, detail)

    def decode_content(self) -> str:
        """Return the content, and drop it from memory.

        Refuses with `invalid_json` for invalid JSON strings, such as strings with lone surrogates.
        """
        content, self._content = self._content or bytearray(), None
        content += b'"'
        try:
            return _TEXT.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise _invalid_json() from None

    def _read_token(self, chunk: bytes, start: int) -> int:
        """Read up to and including the next token, and return the position after it."""
        found = _TOKEN.search(chunk, start)
        end = len(chunk) if found is None else found.end()
        self.envelope += memoryview(chunk)[start:end]
        if found is None:
            return end
        self._tokens += 1
        if self._tokens > MAX_TOKENS:
            raise Refusal(Code.INVALID_REQUEST, "The body has too many members.")
        match found[0]:
            case b'"':
                self._string = self.envelope if self._depth != 1 else self._begin_string()
            case b":":
                if self._depth == 1:
                    self._end_key()
            case b"{" | b"[":
                self._depth += 1
                if self._depth > MAX_DEPTH:
                    raise _invalid_json()
            case _:
                self._depth -= 1
        return end

    def _end_key(self) -> None:
        key, self._key = self.envelope[self._key], slice(0, 0)
        if _CONTENT_KEY.fullmatch(key) and _TEXT.decode(b'"%b"' % bytes(key)) == "content":
            self._value = len(self.envelope)

    def _begin_string(self) -> bytearray:
        """Choose the buffer to which a string of the outermost object is written."""
        value, self._value = self._value, None
        if value is None or self.envelope[value:-1].strip():
            self._key = slice(len(self.envelope), None)
            return self.envelope
        if self._content is not None:
            raise _invalid_json()
        self._content = bytearray(b'"')
        return self._content

    def _read_string(self, string: bytearray, chunk: bytes, start: int) -> int:
        """Read up to the end of the string or of the chunk, and return the position after it."""
        end = self._end_of_string(chunk, start)
        ends = chunk[end : end + 1] == b'"'
        # The match stops before a backslash only if that is the last byte.
        self._is_escaped = end < len(chunk) and not ends
        string += memoryview(chunk)[start : len(chunk) if self._is_escaped else end]
        if string is self._content:
            self._measure(string, end - start + self._is_escaped)
        if ends:
            if string is self.envelope and self._depth == 1:
                self._key = slice(self._key.start, len(string))
            self.envelope += b'"'
            self._string = None
        return end + 1

    def _end_of_string(self, chunk: bytes, start: int) -> int:
        """Return the position of the string's end, of the chunk's end, or of its last backslash."""
        if not self._is_escaped:
            # Most texts have few escapes, and these searches are ten times as fast as the pattern.
            quote = chunk.find(b'"', start)
            end = len(chunk) if quote < 0 else quote
            if chunk.find(b"\\", start, end) < 0:
                return end
        found = _INSIDE_STRING.match(chunk, start + self._is_escaped)
        return len(chunk) if found is None else found.end()

    def _measure(self, content: bytearray, added: int) -> None:
        """Count the bytes added to the content. An escape sequence counts as at least one byte."""
        start = len(content) - added
        escapes = content.count(b"\\", start) + 4 * content.count(b"\\u", start - 1)
        self._least_size += added - escapes
        if self._least_size > self._max_content:
            raise Refusal(
                Code.TOO_LARGE, f"The content must have at most {self._max_content} bytes."
            )


def _invalid_json() -> Refusal:
    return Refusal(Code.INVALID_JSON, "The body is not valid JSON.")
