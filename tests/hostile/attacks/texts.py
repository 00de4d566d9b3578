"""Attacks with texts: a few posts that are cheap to write but expensive to display."""

import json
import random
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from coincurve import PrivateKey
from tests.hostile.attacker import Attacker
from tests.hostile.connection import request
from tests.hostile.registry import Attack
from tests.hostile.wallets import HOLDER_KEY, JSON

READERS = 16
"""Number of concurrent requests that the attacker sends."""

IMPATIENCE = 0.2
"""Seconds after which the attacker sometimes disconnects without waiting for the response."""

_CELLS = [["a"] * 32 for _ in range(1_000)]

PAGES = (
    "\r".join(["|a|b|c|d|e|f|g|h|", "|-|-|-|-|-|-|-|-|", *["|"] * 40_000]),
    "".join(f"|{'a|' * 40}\r|{'-|' * 40}\r|\r|\r\r" for _ in range(400)),
    "a\n" * 2_000_000,
    json.dumps({"blocks": [{"type": "table", "data": {"content": _CELLS}}]}),
    "[" * 300_000,
    "![](" * 300_000,
    "[a]: b\n" * 150_000,
    "*a**b_c__" * 110_000,
)
"""Texts for the renderer: tables, brackets, link definitions, emphasis, short lines."""

WORDS = (
    *("[]()" * 16_180,) * 12,
    *("\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * 21_000,) * 12,
)
"""Texts for feeds and search: empty links, and characters that each expand to eighteen."""


LIBRARY = (*("[]()" * 1_000_000,) * 2, *WORDS[::6])
"""Texts for a token holder's library: two texts of 4 MB, and some of the texts for feeds."""

SEARCHES = ("ﷺ", "a", f'"{" ".join("a" * 16)}"', "words")
"""Searches for terms that do and do not occur in the texts, including the longest phrase."""


async def _posts(attacker: Attacker) -> list[dict[str, Any]]:
    """The newest posts, which are the attacker's."""
    listed = await attacker.ask("GET", "/posts")
    assert listed is not None
    return list(listed.json()["posts"])


async def _read(
    attacker: Attacker, paths: list[str], headers: Mapping[str, str] | None = None
) -> None:
    async def read(number: int) -> None:
        while attacker.goes_on:
            connection = await attacker.connect()
            if connection is None:
                continue
            try:
                path = random.choice(paths)
                if random.random() < 0.25:
                    await attacker.send(connection, request("GET", path, headers), requests=1)
                    await attacker.pause(IMPATIENCE)
                else:
                    await attacker.ask("GET", path, headers, connection=connection)
            finally:
                connection.abort()

    await attacker.crowd(READERS, read)


async def read_expensive_pages(attacker: Attacker) -> None:
    found = (await _posts(attacker))[: len(PAGES)]
    pages = [urlsplit(each["links"]["page"]).path for each in found]
    await _read(attacker, pages + [f"/posts/{each['id']}.md" for each in found])


async def read_expensive_lists(attacker: Attacker) -> None:
    newest = (await _posts(attacker))[0]
    names = ("posts", f"authors/{newest['author']}")
    feeds = [f"/feeds/{name}.{ending}" for name in names for ending in ("atom", "json")]
    await _read(attacker, feeds + [f"/posts?q={quote(each)}" for each in SEARCHES])


async def search_expensive_library(attacker: Attacker) -> None:
    wallet = await attacker.wallet(PrivateKey(bytes.fromhex(HOLDER_KEY)))
    session = await attacker.session(wallet)
    assert session is not None, "the login was refused"
    made = await attacker.ask("POST", "/me/feeds", {**session, **JSON}, b"{}")
    assert made is not None
    feeds = ["/feeds/" + made.json()[kind].partition("/feeds/")[2] for kind in ("atom", "json")]
    searches = [f"/me/library?q={quote(each)}" for each in SEARCHES]
    await _read(attacker, feeds + searches, session)


ATTACKS = (
    Attack(
        "expensive-pages",
        "Pages and Markdown of free posts that keep a renderer busy for minutes: tables whose lines"
        " end in CR, 300 000 brackets, 2 000 000 lines, 32 000 cells.",
        "Conversions have a step limit; a text that exceeds it is shown unconverted. Each text "
        "is converted once, in a thread, two at a time; clients take turns.",
        read_expensive_pages,
        lambda tally: tally.count(200) >= 50,
        seconds=10,
        texts=PAGES,
    ),
    Attack(
        "expensive-words",
        "Feeds and searches over free posts with 16 000 empty links, or with characters that "
        "case folding expands to eighteen.",
        "A text is split into words and converted for feeds once, in a thread; snippets read only "
        "part of each text, and a limited number of characters in total.",
        read_expensive_lists,
        lambda tally: tally.count(200) >= 50,
        seconds=8,
        texts=WORDS,
    ),
    Attack(
        "expensive-libraries",
        "Searches in a library with two posts of 4 MB of empty links, and reads of its private "
        "feed.",
        "A text is split into words once, in a thread; readers take turns; a search reads at "
        "most 4 MiB.",
        search_expensive_library,
        lambda tally: tally.count(200) >= 20,
        seconds=8,
        texts=LIBRARY,
        held=True,
    ),
)
