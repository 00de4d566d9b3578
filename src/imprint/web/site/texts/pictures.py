"""Images inside texts, which are taken out before a text is rendered and put back into its HTML.

An image is a `data:` URL of some megabytes. The renderer and the sanitiser see a short name
instead.
"""

import re
from base64 import b64decode
from dataclasses import dataclass, field

from imprint.domain.posts.post_text import PICTURE_URL

SCHEME = "imprint-picture"
"""The URL scheme of the names that replace images."""

SHARED_BYTES = 64 * 1024
"""Number of leading bytes of an image that are searched for its dimensions."""

REPEATED = 2
"""How many times the images of a text may be repeated in its HTML, on average."""

NO_PICTURE = "data:,"
"""The URL shown for an image that exceeds the limit."""

_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(slots=True)
class Pictures:
    """The images of one text by number. `secret` cannot be guessed, so names cannot be forged."""

    secret: str
    urls: list[str] = field(default_factory=list)
    _name: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        self._name = re.compile(rf"{SCHEME}:{self.secret}-([0-9]{{1,6}})(?![0-9])")

    def take_out(self, text: str) -> str:
        """Replace the images in a text with names."""

        def name(found: "re.Match[str]") -> str:
            self.urls.append(found[0])
            return f"{SCHEME}:{self.secret}-{len(self.urls) - 1}"

        return PICTURE_URL.sub(name, text)

    def left_out(self, text: str) -> str:
        """Replace each image name in a text with the word "picture"."""
        return self._name.sub("picture", text)

    def put_back(self, markup: str) -> str:
        """Put the images back into the HTML. A base64 URL needs no escaping.

        A text can refer to one image many times. Together, its images take at most `REPEATED` times
        their length in the text. Images beyond this limit are shown as their descriptions.
        """
        if not self.urls:
            return markup
        room = REPEATED * sum(map(len, self.urls))

        def url(found: "re.Match[str]") -> str:
            nonlocal room
            number = int(found[1])
            if number >= len(self.urls):
                return found[0]
            room -= len(self.urls[number])
            return self.urls[number] if room >= 0 else NO_PICTURE

        return self._name.sub(url, markup)

    def has(self, name: str) -> bool:
        """Whether this is exactly the name of an image in the text."""
        return self.url(name) is not None

    def url(self, name: str) -> str | None:
        """Return the `data:` URL of the image with this name."""
        found = self._name.fullmatch(name)
        if found is None or int(found[1]) >= len(self.urls):
            return None
        return self.urls[int(found[1])]

    def size(self, name: str) -> tuple[int, int] | None:
        """Return the width and height of the image with this name, if its head contains them."""
        url = self.url(name)
        if url is None:
            return None
        start = url.index(",") + 1
        encoded = url[start : start + SHARED_BYTES // 3 * 4]
        try:
            size = picture_size(b64decode(encoded[: len(encoded) // 4 * 4]))
        except ValueError:
            return None
        return size if size is not None and all(0 < side < 100_000 for side in size) else None


def picture_size(head: bytes) -> tuple[int, int] | None:
    """Return the width and height of a PNG, GIF, WebP or JPEG that begins with these bytes."""
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return _number(head[16:20]), _number(head[20:24])
    if head.startswith((b"GIF87a", b"GIF89a")) and len(head) >= 10:
        return _little(head[6:8]), _little(head[8:10])
    if head[8:12] == b"WEBP" and len(head) >= 30:
        return _webp_size(head)
    if head.startswith(b"\xff\xd8"):
        return _jpeg_size(head)
    return None


def _webp_size(head: bytes) -> tuple[int, int] | None:
    kind = head[12:16]
    if kind == b"VP8X":
        return _little(head[24:27]) + 1, _little(head[27:30]) + 1
    if kind == b"VP8L":
        bits = _little(head[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        return _little(head[26:28]) & 0x3FFF, _little(head[28:30]) & 0x3FFF
    return None


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        if head[at + 1] in _JPEG_SIZES:
            return _number(head[at + 7 : at + 9]), _number(head[at + 5 : at + 7])
        at += 2 + max(2, _number(head[at + 2 : at + 4]))
    return None


def _number(digits: bytes) -> int:
    return int.from_bytes(digits, "big")


def _little(digits: bytes) -> int:
    return int.from_bytes(digits, "little")
