"""Feeds are valid, and the parsers of feed readers find the same content as on the pages."""

import json
from pathlib import Path
from typing import Any

import atoma
import fastfeedparser
import feedparser
import jsonschema_rs
import pytest
from lxml import etree
from tests.indexed import fill_index
from tests.profiles import send_profile
from tests.web.api.test_feeds import HOSTILE, publish
from tests.world import ORIGIN, World

pytestmark = pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)

VECTORS = Path(__file__).parents[2] / "vectors" / "feeds"
ATOM = etree.RelaxNG(etree.parse(VECTORS / "atom.rng"))
JSON_FEED = jsonschema_rs.validator_for(
    json.loads((VECTORS / "json-feed.json").read_text("utf-8")), validate_formats=True
)

CID = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)
RICH = f"""# A rich text

First *words*, [a tag](/t/ink) and [a part](#s-part).

## Part

- one
- two

```
a < b && c > d ]]>
```

| left | right |
|------|-------|
| 1    | 2     |

![a dot]({PICTURE})
"""

HOSTILE_TEXTS = [
    "]]></content></entry></feed>",
    "<script>alert(1)</script> [x](javascript:alert(1)) ![y](data:text/html,<script>)",
    "\x01\x08\x0b\x1b\ufffe a \u202eb\u2066c",
    '<a href="//evil.example">x</a> [y](//evil.example) [z](../../etc) ![w](w.png)',
    "&lt;img src=x onerror=alert(1)&gt; &#60;script&#62; &amp;lt;b&amp;gt;",
    '{"blocks": [{"type": "raw", "data": {"html": "]]><script>alert(1)</script>"}}]}',
]


async def fetch_all(world: World) -> list[tuple[bytes, bytes]]:
    """The public and the private feed of the author, each as Atom and as JSON."""
    session = await world.login(world.wallet(1))
    private = (await world.client.post("/me/feeds", headers=session)).json()
    feeds = []
    for atom, jsons in (
        ("/feeds/posts.atom", "/feeds/posts.json"),
        (private["atom"], private["json"]),
    ):
        fetched = [await world.client.get(path) for path in (atom, jsons)]
        assert [response.status_code for response in fetched] == [200, 200]
        feeds.append((fetched[0].content, fetched[1].content))
    return feeds


def expect_valid(atom: bytes, jsons: bytes) -> None:
    """Check a feed by the grammar of Atom, the schema of JSON Feed, and a strict parser."""
    ATOM.assertValid(etree.fromstring(atom))
    JSON_FEED.validate(json.loads(jsons))
    parsed = feedparser.parse(atom)
    assert (parsed.bozo, parsed.version) == (0, "atom10"), parsed.get("bozo_exception")


def contents_of(atom: bytes, jsons: bytes) -> list[list[str | None]]:
    """Return the texts of a feed's entries, as read by each of four parsers."""
    unchanged = feedparser.parse(atom, sanitize_html=False, resolve_relative_uris=False)
    return [
        [_content(entry) for entry in unchanged.entries],
        [_content(entry) for entry in fastfeedparser.parse(atom).entries],
        [
            None if entry.content is None else entry.content.value
            for entry in atoma.parse_atom_bytes(atom).entries
        ],
        [item.content_html for item in atoma.parse_json_feed_bytes(jsons).items],
    ]


def _content(entry: Any) -> str | None:
    found = [each["value"] for each in entry.get("content", []) if "html" in each["type"]]
    return str(found[0]) if found else None


async def test_feed_readers_find_the_html_of_the_page_once_with_absolute_urls(
    world: World,
) -> None:
    post_id = await publish(world, RICH, 0, "A rich text")
    page = f"{ORIGIN}/p/{post_id}/a-rich-text"
    rel = 'rel="nofollow noopener ugc"'
    expected = (
        f'<p>First <em>words</em>, <a href="{ORIGIN}/t/ink" {rel}>a tag</a> and '
        f'<a href="{page}#s-part" {rel}>a part</a>.</p>\n<h2>Part</h2>\n'
        "<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n"
        "<pre><code>a &lt; b &amp;&amp; c &gt; d ]]&gt;\n</code></pre>\n\n"
        "<table>\n<thead>\n<tr>\n<th>left</th>\n<th>right</th>\n</tr>\n</thead>\n"
        "<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n\n"
        f'<p><img src="{PICTURE}" alt="a dot" width="1" height="1"></p>'
    )
    for atom, jsons in await fetch_all(world):
        expect_valid(atom, jsons)
        assert contents_of(atom, jsons) == [[expected]] * 4
        (entry,) = atoma.parse_atom_bytes(atom).entries
        assert (entry.title.value, entry.links[0].href) == ("A rich text", page)


async def test_hostile_texts_and_titles_leave_every_feed_valid_and_harmless(world: World) -> None:
    for number, text in enumerate(HOSTILE_TEXTS):
        await publish(world, text, 0, HOSTILE[number], HOSTILE[-number])
    for atom, jsons in await fetch_all(world):
        expect_valid(atom, jsons)
        by_parser = contents_of(atom, jsons)
        assert by_parser[0] == by_parser[1] == by_parser[2] == by_parser[3]
        assert len(by_parser[0]) == len(HOSTILE_TEXTS)
        for shown in by_parser[0]:
            root = etree.HTML(f"<div>{shown}</div>")
            found = {each.tag for each in root.iter()}
            assert found <= {"html", "body", "div", "p", "a", "img", "pre", "code"}, found
            for address in root.xpath("//@href | //@src"):
                assert address.startswith("http://imprint.test/"), address


async def test_feeds_without_texts_are_valid(world: World) -> None:
    await world.post(world.wallet(1), "Words for sale.", 10**16)
    author = world.wallet(2)
    world.create_post_with(author, (CID, "a", "not a cid", "b", 0, ["ink"]))
    await fill_index(world)
    for atom, jsons in await fetch_all(world):
        expect_valid(atom, jsons)
    empty = [await world.client.get(f"/feeds/tags/unused.{each}") for each in ("atom", "json")]
    expect_valid(empty[0].content, empty[1].content)


async def test_a_feed_with_a_profile_and_a_picture_is_valid(world: World) -> None:
    assert (await send_profile(world, world.wallet(1), name="Ada & Co")).status_code == 200
    file = await world.create(world.wallet(1), "Words.")
    post = (file["cid"], "a", CID, "b", 0, ["ink"])
    await world.deliver_a(world.create_post_with(world.wallet(1), post))
    await fill_index(world)
    (atom, jsons), _ = await fetch_all(world)
    expect_valid(atom, jsons)
    (item,) = json.loads(jsons)["items"]
    (entry,) = feedparser.parse(atom).entries
    assert (item["authors"][0]["name"], entry.author) == ("Ada & Co", "Ada & Co")
    assert item["image"] == entry.media_thumbnail[0]["url"] == f"{ORIGIN}/ipfs/{CID}"
