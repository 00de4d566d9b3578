"""The preview of a site: the operator's settings with sample posts, without a chain."""

import struct
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

from starlette.types import ASGIApp

from imprint.bootstrap import build_service, open_adapters
from imprint.bootstrap.adapters import Adapters
from imprint.domain.drafts.documents import SALT_LENGTH, write_document
from imprint.domain.drafts.files import File, Network, Publication, State, file_name, new_id
from imprint.domain.exports import ExportedFile
from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.formats.cids import Cid, document_cid
from imprint.domain.posts.market_events import (
    MarketEvent,
    Origin,
    PostPublished,
    PostPurchased,
    TokensMoved,
    position_of,
)
from imprint.domain.posts.posts import (
    BlockRef,
    LogPosition,
    PostCreated,
    PostEntry,
    PostFacts,
    Purchase,
)
from imprint.domain.profiles import Profile, ProfileTexts
from imprint.ports.post_index import IndexSource, IndexStep
from imprint.settings import Settings

PREVIEW: Mapping[str, str] = MappingProxyType(
    {
        "IMPRINT_HOST": "127.0.0.1",
        "IMPRINT_DATABASE_URL": "",
        "IMPRINT_CONTENT_STORE": "embedded",
        "IMPRINT_ENCRYPTION": "off",
        "IMPRINT_MIN_FREE_DISK_BYTES": "0",
        "IMPRINT_CHAIN_RPC_URL": "http://127.0.0.1:1",
        "IMPRINT_CHAIN_QUORUM": "1",
        "IMPRINT_CHAIN_FOLLOW_SECONDS": "0",
        "IMPRINT_JANITOR_SECONDS": "0",
        "IMPRINT_SCRUB_SECONDS": "0",
        "IMPRINT_METRICS_PORT": "0",
        "IMPRINT_WEBSUB_HUB": "",
        "IMPRINT_SITE": "on",
    }
)
"""Settings of every preview, which uses its own folder and contacts no other machine."""

FIRST_POST = datetime(2026, 1, 5, 7, 30, tzinfo=UTC)
"""When the oldest sample was published. The other samples follow at intervals of two weeks."""

_AUTHORS = (Address("0x" + "a1" * 20), Address("0x" + "d4" * 20))
_PROFILES = (
    ProfileTexts("Ada Lindqvist", "Essays and letters from a house by the harbour.", ()),
    ProfileTexts("Dan Okafor", "Engineer by day, baker by night.", ()),
)
_READERS = tuple(Address("0x" + f"{number:02x}" * 20) for number in range(0xB0, 0xB7))
_FINNEY = 10**15


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample post. `author` is the author's index, and `buyers` is the number of buyers."""

    title: str
    description: str
    hashtags: tuple[str, ...]
    colours: tuple[int, int]
    author: int = 0
    price: int = 0
    buyers: int = 0


SAMPLES = (
    Sample("A short note", "Some posts need no picture.", ("notes",), (0, 0), 1),
    Sample(
        "Reading a balance sheet like a novel",
        "Where the plot is, and which line to follow first.",
        ("money", "reading"),
        (0x26413C, 0xD9A25F),
        1,
        4 * _FINNEY,
        2,
    ),
    Sample(
        "Rye bread for people who are out all day",
        "Two short visits to the kitchen, and one long sleep.",
        ("recipes", "bread"),
        (0x5B3A29, 0xE8C07D),
        1,
    ),
    Sample(
        "What a map leaves out",
        "The grammar of an honest lie.",
        ("maps", "essay"),
        (0x3D2C5E, 0xE58F65),
        0,
        10 * _FINNEY,
        7,
    ),
    Sample(
        "A title that is longer than titles usually are, so that you can see where it breaks",
        "And a description that goes on for a while as well, because some authors write long ones,"
        " and cards have to cope with them.",
        ("essay",),
        (0x7A2E3B, 0xF0C987),
        0,
        2 * _FINNEY,
    ),
    Sample(
        "Forty minutes with a heron",
        "Field notes from the weir below the mill.",
        ("nature", "notes"),
        (0x1F3A4D, 0xA9C5B4),
    ),
)
"""The sample posts, oldest first."""

TEXT = """This is a sample post. It shows how the texts of your authors will look: *emphasis*,
**strong words**, `code`, and [links](/about).

## A heading inside the text

A longer paragraph, to judge the measure and the spacing. Lines should be comfortable to read on a
phone and on a wide screen, in light and in dark mode, and the accent of your publication should
stand out where something can be clicked, and nowhere else.

> A quotation is set apart from the text around it.

- a list
- of a few
- things

| column | figure |
|---|---|
| one | 1 |
| two | 2 |

```
code has its own box
```
"""


@asynccontextmanager
async def open_preview(settings: Settings) -> AsyncIterator[ASGIApp]:
    """The web application of a preview. `settings` include those of `PREVIEW`."""
    adapters = open_adapters(settings)
    try:
        await adapters.claim.verify()
        samples = SampleMarketplace()
        await _fill(settings, adapters, samples)
        yield build_service(settings, replace(adapters, marketplace=samples))
    finally:
        await adapters.close()


def preview_settings(folder: Path, port: int) -> dict[str, str]:
    """The settings of a preview that uses this folder and listens on this port."""
    return {
        **PREVIEW,
        "IMPRINT_DATA_DIR": str(folder),
        "IMPRINT_PORT": str(port),
        "IMPRINT_PUBLIC_URL": f"http://127.0.0.1:{port}",
    }


class SampleMarketplace:
    """`MarketplaceReader` of the sample posts, whose tokens nobody holds."""

    def __init__(self) -> None:
        self._entries: dict[int, PostEntry] = {}

    def add(self, post_id: int, entry: PostEntry) -> None:
        """Publish a sample post."""
        self._entries[post_id] = entry

    async def post_facts(self, post_id: int, reader: Address | None) -> PostFacts:
        return PostFacts(self._entries.get(post_id, PostEntry(ZERO_ADDRESS, None, 0)), 0)

    async def entry_of_cid(self, cid: Cid) -> PostEntry | None:
        return next((each for each in self._entries.values() if each.cid == cid), None)

    async def find_purchase(self, tx_hash: str, post_id: int, buyer: Address) -> Purchase | None:
        return None

    async def existed_at(self, number: int) -> bool:
        return True

    async def probe(self) -> None:
        return None

    async def code(self) -> bytes:
        return b""

    async def close(self) -> None:
        return None


async def _fill(settings: Settings, adapters: Adapters, market: SampleMarketplace) -> None:
    """Store the sample posts, and index them."""
    events: list[MarketEvent] = []
    for number, post_id in enumerate(_post_ids(settings)):
        sample = SAMPLES[number]
        author = settings.publication.identity.front.author or _AUTHORS[sample.author]
        origin = _origin(number)
        file, thumbnail_size = await _store(adapters, sample, author, post_id, origin)
        spelled = file.cid.encode()
        place = LogPosition(settings.chain.id, origin.block.block_hash, number, 0, origin.tx_hash)
        created = PostCreated(place, post_id, author, file.cid, file.cid, file.thumbnail_cid)
        fence = await adapters.stores.garbage.fence()
        await adapters.stores.archives.import_file(
            ExportedFile(file, created), thumbnail_size, fence
        )
        events.append(
            PostPublished(
                origin,
                post_id,
                author,
                spelled,
                file.cid,
                (file.thumbnail_cid or "").encode(),
                sample.title.encode(),
                sample.price,
                sample.description.encode(),
                sample.hashtags,
            )
        )
        events += _purchases(sample, post_id, number)
        market.add(post_id, PostEntry(author, file.cid, sample.price))
    await _introduce(settings, adapters)
    writer, chain = adapters.stores.index_writer, settings.chain
    await writer.restart_index(IndexSource(chain.id, chain.marketplace, 0))
    state = await writer.index_state()
    last = events[-1].origin.block
    if state is not None:
        step = IndexStep(last, last.number, events, complete=True, final_hash=last.block_hash)
        await writer.advance_index(state, step)


async def _introduce(settings: Settings, adapters: Adapters) -> None:
    """Give each author of the sample posts a profile."""
    alone = settings.publication.identity.front.author
    for author, texts in zip(_AUTHORS if alone is None else (alone,), _PROFILES, strict=False):
        profile = Profile(author, texts, None, FIRST_POST)
        fence = await adapters.stores.garbage.fence()
        await adapters.stores.archives.import_profile(profile, 0, fence)


def _post_ids(settings: Settings) -> list[int]:
    """An id for each sample. The newest samples get the ids of featured posts in the settings."""
    featured = settings.publication.featured[: len(SAMPLES)]
    others = (each for each in range(1, 2 * len(SAMPLES) + 1) if each not in featured)
    return [next(others) for _ in range(len(SAMPLES) - len(featured))] + [*reversed(featured)]


def _origin(number: int, log: int = 0) -> Origin:
    block = BlockRef(number, f"0x{number + 1:064x}")
    at = FIRST_POST + timedelta(days=14 * number, minutes=37 * number)
    return Origin(position_of(number, log), block, f"0x{(number + 1) * 1000 + log:064x}", at)


def _purchases(sample: Sample, post_id: int, number: int) -> Iterator[MarketEvent]:
    for at, reader in enumerate(_READERS[: sample.buyers]):
        yield TokensMoved(_origin(number, 2 * at + 1), post_id, ZERO_ADDRESS, reader, 1)
        yield PostPurchased(_origin(number, 2 * at + 2), post_id, reader, sample.price)


async def _store(
    adapters: Adapters, sample: Sample, author: Address, post_id: int, origin: Origin
) -> tuple[File, int]:
    """Store the documents of a sample, and return its file and the size of its picture."""
    name = file_name(author, post_id)
    document = write_document(TEXT, name, post_id.to_bytes(SALT_LENGTH, "big"))
    cid, thumbnail, size = document_cid(document), None, 0
    await adapters.content.put(cid, document, Network.PRIVATE)
    if any(sample.colours):
        picture = draw_picture(*sample.colours)
        thumbnail, size = document_cid(picture), len(picture)
        await adapters.content.put(thumbnail, picture, Network.PUBLIC)
    published = Publication(post_id, origin.at, origin.tx_hash)
    return (
        File(
            new_id(),
            new_id(),
            author,
            name,
            cid,
            len(document),
            origin.at,
            State.ONCHAIN,
            0,
            sample.hashtags,
            thumbnail,
            published,
        ),
        size,
    )


def draw_picture(ground: int, stripe: int, width: int = 1200, height: int = 800) -> bytes:
    """A PNG with a landscape of two colours."""

    def row(y: int) -> bytes:
        share = y / height
        bands = int(share * 9) % 3
        colour = stripe if bands == 1 else ground
        channels = (colour >> 16 & 255, colour >> 8 & 255, colour & 255)
        lit = bytes(min(255, int(each * (1.15 - share / 2))) for each in channels)
        return b"\0" + lit * width

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(row(y) for y in range(height)), 6)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )
