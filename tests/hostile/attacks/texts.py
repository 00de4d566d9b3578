"""Attacks with texts: a few free posts that are cheap to write and expensive to show."""

import json
import random

from tests.hostile.attacker import Attacker
from tests.hostile.registry import Attack

READERS = 16
"""Concurrent requests of the attacker."""

IMPATIENCE = 0.2
"""Seconds after which it sometimes disconnects without the response."""

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
"""Texts for feeds and search: links without a word, and characters that fold into eighteen."""


async def _posts(attacker: Attacker) -> list[str]:
    """The ids of the newest posts, which are those of the attacker."""
    listed = await attacker.ask("GET", "/posts")
    assert listed is not None
    return [post["id"] for post in listed.json()["posts"]]


async def _read(attacker: Attacker, paths: list[str]) -> None:
    async def read(number: int) -> None:
        while attacker.goes_on:
            connection = await attacker.connect()
            if connection is None:
                continue
            try:
                path = random.choice(paths)
                if random.random() < 0.25:
                    head = f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
                    await attacker.send(connection, head, requests=1)
                    await attacker.pause(IMPATIENCE)
                else:
                    await attacker.ask("GET", path, connection=connection)
            finally:
                connection.abort()

    await attacker.crowd(READERS, read)


async def read_expensive_pages(attacker: Attacker) -> None:
    found = (await _posts(attacker))[: len(PAGES)]
    await _read(
        attacker, [f"/p/{each}" for each in found] + [f"/posts/{each}.md" for each in found]
    )


async def read_expensive_lists(attacker: Attacker) -> None:
    searches = ["%EF%B7%BA", "a", "%22a%20b%22", "words"]
    feeds = ["/feeds/posts.atom", "/feeds/posts.json"]
    await _read(attacker, feeds + [f"/posts?q={each}" for each in searches])


ATTACKS = (
    Attack(
        "expensive-pages",
        "Pages and Markdown of free posts that keep a renderer busy for minutes: tables whose lines"
        " end in CR, 300 000 brackets, 2 000 000 lines, 32 000 cells.",
        "Every step of a conversion counts; what takes too many is shown as it was written. Each is"
        " made once, in a thread, two at a time; clients take turns.",
        read_expensive_pages,
        lambda tally: tally.count(200) >= 50,
        seconds=10,
        texts=PAGES,
    ),
    Attack(
        "expensive-words",
        "Feeds and searches over free posts of 16 000 empty links, or of characters that fold into"
        " eighteen.",
        "The words of a text are made once, in a thread; snippets look at a part of a text, and at"
        " so many characters of all texts.",
        read_expensive_lists,
        lambda tally: tally.count(200) >= 50,
        seconds=8,
        texts=WORDS,
    ),
)
