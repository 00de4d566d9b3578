"""A static copy of a world's site: how it is written, and how its links are checked."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from tests.indexed import read_texts
from tests.world import MovableClock, World, open_world

from imprint.bootstrap.preview import SampleMarketplace, draw_picture
from imprint.bootstrap.static_site import SiteFormat, write_site
from imprint.domain.drafts.documents import SALT_LENGTH, write_document
from imprint.domain.drafts.files import File, Network, Publication, State, file_name
from imprint.domain.exports import ExportedFile
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import document_cid
from imprint.domain.posts.market_events import MarketEvent, Origin, PostPublished, position_of
from imprint.domain.posts.posts import BlockRef, LogPosition, PostCreated, PostEntry
from imprint.ports.post_index import IndexSource, IndexStep

BASE = "https://copy.example"

SECRET = "The canary of a paid post sings at midnight."
"""A phrase in the text of every paid post of `many_posts`."""

FIRST = datetime(2025, 3, 1, tzinfo=UTC)
"""Publication time of the oldest post of `many_posts`. The others follow, one per hour."""

_ABSOLUTE = re.compile(r"https?://[^\s\"'<>\\)&]+")
_IS_TEXT = {".atom", ".json", ".md", ".txt", ".xml"}


async def export(
    world: World, output: Path, base: str = BASE, site_format: SiteFormat = SiteFormat.HTML
) -> int:
    """Export the site of a world, and return the number of posts."""
    return await write_site(
        world.settings,
        world.adapters,
        base,
        output,
        site_format,
        progress=lambda *_: None,
        report=lambda _: None,
    )


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder, by path."""
    return {
        str(each.relative_to(folder)): each.read_bytes()
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }


class _Links(HTMLParser):
    """Collects the links and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("href", "src", "action", "srcset", "poster"):
                self.links.append(value or "")
            elif name == "id":
                self.anchors.add(value or "")


def _read(page: Path) -> _Links:
    parsed = _Links()
    parsed.feed(page.read_text())
    return parsed


def _target(folder: Path, base: str, address: str) -> Path | None:
    """The file that a file server under `base` serves at an address; None for other sites."""
    address = urldefrag(address)[0]
    if not f"{address}/".startswith(f"{base}/"):
        return None
    path = unquote(urlsplit(address.removeprefix(base)).path)
    return folder / (f"{path}index.html" if path.endswith("/") else path).lstrip("/")


def _has_anchor(page: Path, anchor: str) -> bool:
    return not anchor or anchor in _read(page).anchors


def broken_links(folder: Path, base: str = BASE) -> Iterator[tuple[str, str]]:
    """Yield every broken link of a copy, and the file that contains it."""
    for file in folder.rglob("*"):
        name = str(file.relative_to(folder))
        if file.suffix == ".html":
            own = f"{base}/{name.removesuffix('index.html')}"
            for link in _read(file).links:
                target = _target(folder, base, urljoin(own, link))
                if target is None:
                    yield from () if urlsplit(link).scheme else ((name, link),)
                elif not target.is_file() or not _has_anchor(target, urldefrag(link)[1]):
                    yield name, link
        if file.suffix in _IS_TEXT or file.suffix == ".html":
            for address in _ABSOLUTE.findall(file.read_text()):
                found = _target(folder, base, address)
                # A link that is shared by mail leaves out the slash, which file servers add.
                if found is not None and not (found.is_file() or (found / "index.html").is_file()):
                    yield name, address


def elements_in(folder: Path) -> set[str]:
    """Return the names of all HTML elements on all pages."""
    return {tag for page in folder.rglob("*.html") for tag in _read(page).tags}


def _origin(number: int) -> Origin:
    block = BlockRef(number, f"0x{number + 1:064x}")
    at = FIRST + timedelta(hours=number)
    return Origin(position_of(number, 0), block, f"0x{number + 1:064x}", at)


@asynccontextmanager
async def many_posts(folder: Path, count: int) -> AsyncIterator[World]:
    """A world with posts by twenty authors and 31 hashtags. Every third post is paid."""
    # The clock is in the year of the posts, which the service omits from dates, but a copy must
    # not.
    clock = MovableClock(FIRST + timedelta(days=90))
    async with open_world(folder, clock=clock, adapter=True) as world:
        adapters = replace(world.adapters, marketplace=SampleMarketplace())
        yield await _fill(replace(world, adapters=adapters), count)


async def _fill(world: World, count: int) -> World:
    adapters, events = world.adapters, list[MarketEvent]()
    market, chain = adapters.marketplace, world.settings.chain
    assert isinstance(market, SampleMarketplace)
    for number in range(count):
        post_id, origin = number + 1, _origin(number)
        author = Address(f"0x{number % 20 + 1:040x}")
        price = 10**15 if number % 3 == 0 else 0
        linked = f"[another](/p/{number // 2 + 1}#text) and [all](/t/tag{number % 30})"
        rest = SECRET if price else "The rest."
        text = f"The text of {number}, see {linked}.\n\n<!--more-->\n\n{rest}"
        name, salt = file_name(author, post_id), post_id.to_bytes(SALT_LENGTH, "big")
        document = write_document(text, name, salt)
        picture = draw_picture(number % 7, number % 11, 24, 16)
        cid, thumbnail = document_cid(document), document_cid(picture)
        await adapters.content.put(cid, document, Network.PRIVATE)
        await adapters.content.put(thumbnail, picture, Network.PUBLIC)
        tags = (f"tag{number % 30}", "all")
        file = File(
            *(f"file-{number:08}", f"group-{number:08}", author, name, cid, len(document)),
            *(origin.at, State.ONCHAIN, 0, tags, thumbnail),
            Publication(post_id, origin.at, origin.tx_hash),
        )
        place = LogPosition(chain.id, origin.block.block_hash, number, 0, origin.tx_hash)
        created = PostCreated(place, post_id, author, cid, cid, thumbnail)
        fence = await adapters.stores.garbage.fence()
        await adapters.stores.archives.import_file(ExportedFile(file, created), len(picture), fence)
        title, about = f"Title {number} & <more>".encode(), f"About {number}.".encode()
        spelled = cid.encode(), cid, thumbnail.encode()
        events.append(PostPublished(origin, post_id, author, *spelled, title, price, about, tags))
        market.add(post_id, PostEntry(author, cid, price))
    writer, last = adapters.stores.index_writer, events[-1].origin.block
    await writer.restart_index(IndexSource(chain.id, chain.marketplace, 0))
    state = await writer.index_state()
    assert state is not None
    step = IndexStep(last, last.number, events, complete=True, final_hash=last.block_hash)
    await writer.advance_index(state, step)
    await read_texts(world)
    return world
