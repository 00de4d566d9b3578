"""Search on every database finds the same posts as a search in memory."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.stores.conftest import World
from tests.hypothesis_settings import SHARED_FIXTURE

from imprint.adapters.database.sqlite import database as sqlite_database
from imprint.adapters.database.transaction import Transaction
from imprint.adapters.stores.files import END
from imprint.adapters.stores.posts import search_index
from imprint.adapters.stores.posts.post_words import BUCKET
from imprint.adapters.stores.posts.search_index import SqlSearchIndex, find_in_sqlite, walk_posts
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.moderation import Decision, Ground, Measure, Show, Target, TargetKind
from imprint.domain.posts.indexed_posts import PostScope
from imprint.domain.posts.market_events import (
    MarketEvent,
    Origin,
    PostPublished,
    PriceChanged,
    position_of,
)
from imprint.domain.posts.openings import TextFacts
from imprint.domain.posts.posts import BlockRef
from imprint.domain.posts.search import PostTexts, SearchQuery, matches, parse_query, score
from imprint.ports.post_index import AppliedLog, IndexSource, IndexStep, Matches, SearchIndex

SOURCE = IndexSource(31337, Address("0x" + "11" * 20), 0)
AUTHOR = Address("0x" + "a1" * 20)
AT = datetime(2026, 3, 1, tzinfo=UTC)
CHAIN = PostScope.CHAIN


DOCUMENT = Cid("document")
"""A placeholder CID for every stored text, as the indexed posts have no valid CIDs."""


class Market:
    """An index filled block by block."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.writer = world.stores.index_writer
        self.search: SearchIndex = world.stores.search
        self.number = 0
        self.posts = 0
        self.texts: dict[int, PostTexts] = {}

    async def begin(self) -> None:
        await self.writer.restart_index(SOURCE)

    def origin(self, log: int = 0) -> Origin:
        block = BlockRef(self.number, f"0x{self.number:064x}")
        return Origin(position_of(self.number, log), block, "0x" + "22" * 32, AT)

    async def add(
        self,
        title: str,
        description: str = "",
        tags: Sequence[str] = (),
        price: int = 0,
        cid: str | None = None,
    ) -> int:
        """Publish a post in a new block and return its position."""
        self.number += 1
        self.posts += 1
        event = PostPublished(
            self.origin(),
            self.posts,
            AUTHOR,
            b"spelled",
            cid,
            b"",
            title.encode("utf-8", "replace"),
            price,
            description.encode("utf-8", "replace"),
            tuple(tags),
        )
        await self.apply([event])
        self.texts[event.origin.place] = PostTexts(title, tuple(tags), description)
        return event.origin.place

    async def set_price(self, place: int, price: int) -> None:
        post_id = list(self.texts).index(place) + 1
        self.number += 1
        await self.apply([PriceChanged(self.origin(), post_id, price)])

    async def apply(self, events: Sequence[MarketEvent], undo_from: int | None = None) -> None:
        state = await self.writer.index_state()
        assert state is not None
        block = BlockRef(self.number, f"0x{self.number:064x}")
        logs = [AppliedLog(each.origin.place, each.origin.block.block_hash) for each in events]
        step = IndexStep(block, state.final, events, logs, undo_from, complete=True)
        await self.writer.advance_index(state, step)

    async def host(self, place: int) -> None:
        """Store the document of the post in this installation."""
        draft = await self.world.draft()
        await self.world.see(self.world.event(draft, post_id=int(self.post_id(place))))

    async def unhost(self, place: int) -> None:
        await self.world.stores.database.transact((), _unbind_file, self.post_id(place))

    def post_id(self, place: int) -> str:
        return str(list(self.texts).index(place) + 1)

    async def store(self, place: int, body: str) -> None:
        await self.read(place, body)
        self.texts[place] = replace(self.texts[place], body=body)

    async def read(self, place: int, body: str, opening: str | None = None) -> None:
        """Store the text of a pending post, as the text reader does."""
        (pending,) = await self.search.pending_texts(place - 1, 1)
        facts = TextFacts(len(body.split()), body, opening)
        await self.search.store_text(pending, DOCUMENT, facts, is_free=pending.free)

    async def find(
        self,
        text: str,
        before: int | None = None,
        limit: int = 100,
        scope: PostScope = CHAIN,
    ) -> list[int]:
        query = parse_query(text)
        found = (await self.search.find_posts(query, before, limit, scope)).found
        for match in found:
            if (texts := self.texts.get(match.place)) is not None:
                assert match.score == score(query, *texts.folded()[:3])
        return [match.place for match in found]

    async def walk(
        self, text: str, before: int | None = None, scope: PostScope = CHAIN
    ) -> list[int]:
        """Return the posts found by scanning all rows, one part at a time."""
        query, found = parse_query(text), []
        at: int | None = END if before is None else before
        while at is not None and query.terms:
            matches = await self.world.stores.database.read(walk_posts, query, at, 2, scope)
            assert matches.is_cut
            assert matches.following is None or matches.following < at
            found += [match.place for match in matches.found]
            at = matches.following
        return found

    def expected(self, text: str) -> list[int]:
        """Return the expected posts according to a search in memory, newest first."""
        query = parse_query(text)
        return sorted((p for p, texts in self.texts.items() if matches(query, texts)), reverse=True)


_UNBIND = "UPDATE files SET state = 'pending', post_id = NULL, published_at = NULL, tx_hash = NULL"


async def _unbind_file(tx: Transaction, post_id: str) -> None:
    await tx.execute(
        f"{_UNBIND} WHERE post_id = :post_id",
        post_id=post_id,
    )


@pytest.fixture
async def market(world: World) -> Market:
    made = Market(world)
    await made.begin()
    return made


@pytest.mark.parametrize(
    ("title", "query"),
    [
        ("Crème Brûlée", "creme brulee"),
        ("Creme", "CRÈME"),
        ("Ethereum explained", "ether"),
        ("Internationalization", "internationaliz"),
        ("The quick brown fox", '"quick brown"'),
        ("東京タワーの夜", "京タ"),
        ("שלום עולם", "עולם"),
        ("مرحبا بالعالم", "مرحبا"),
        ("Straße", "strasse"),
        ("Łódź", "lodz"),
        ("ＦＵＬＬ width", "full"),
        ("a-b c_d", "a b c d"),
        ("\U0001e900\U0001e901", "\U0001e922\U0001e923"),
        ("한국어 검색", "한국"),
    ],
)
async def test_a_post_is_found_by_its_title(market: Market, title: str, query: str) -> None:
    await market.add("something else entirely")
    place = await market.add(title)
    assert await market.find(query) == [place] == market.expected(query)


@pytest.mark.parametrize(
    ("title", "query"),
    [
        ("The quick brown fox", '"brown quick"'),
        ("The quick brown fox", '"quick bro"'),
        ("Ethereum", "thereum"),
        ("internationality", "internationaliz"),
        ("東京", "京東"),
        ("apple", "a"),
        ("title", "title missing"),
        ("anything", "!!!"),
        ("anything", '""'),
    ],
)
async def test_a_post_with_a_different_title_is_not_found(
    market: Market, title: str, query: str
) -> None:
    await market.add(title)
    assert await market.find(query) == [] == market.expected(query)


async def test_posts_are_found_by_hashtag_and_description(market: Market) -> None:
    place = await market.add("title", "about sailing", ["märchen", "law"])
    for query in ("marchen", "sail", "title law sailing"):
        assert await market.find(query) == [place]
    assert await market.find('"title about"') == []


async def test_matches_are_paged_newest_first(market: Market) -> None:
    places = [await market.add(f"word number {number}") for number in range(7)]
    assert await market.find("word", limit=3) == places[:3:-1]
    assert await market.find("word", before=places[4], limit=100) == places[3::-1]


async def test_a_free_post_is_found_by_its_text_until_it_has_a_price(market: Market) -> None:
    place = await market.add("title")
    await market.host(place)
    await market.store(place, "A secret garden, <b>internationalization</b>")
    assert await market.find('"secret garden"') == [place]
    assert await market.find("internationaliz") == [place]
    assert await market.search.public_texts([place, 5]) == {
        place: "A secret garden, <b>internationalization</b>"
    }
    await market.set_price(place, 5)
    assert await market.find("garden") == []
    assert await market.search.public_texts([place]) == {}
    assert await market.find("title") == [place]
    # The post is free again, but its text is not found until it has been stored again.
    await market.set_price(place, 0)
    assert await market.find("garden") == []
    assert [each.place for each in await market.search.pending_texts(0, 10)] == [place]
    await market.store(place, "A garden")
    assert await market.find("garden") == [place]


async def test_the_text_of_a_paid_post_is_not_stored(market: Market) -> None:
    place = await market.add("title", price=7)
    await market.host(place)
    await market.read(place, "garden")
    assert await market.find("garden") == []
    assert await market.search.public_texts([place]) == {}
    assert await market.search.pending_texts(0, 10) == []


async def test_a_paid_post_is_found_by_its_opening(market: Market) -> None:
    place = await market.add("title", price=7)
    await market.host(place)
    await market.read(place, "A gate and a garden", "A gate")
    assert await market.find("gate") == [place]
    assert await market.find("garden") == []
    assert await market.search.public_texts([place]) == {place: "A gate"}
    # When the price changes, the search never finds more than everybody may read.
    await market.set_price(place, 0)
    assert await market.search.public_texts([place]) == {place: "A gate"}
    await market.read(place, "A gate and a garden", "A gate")
    assert await market.find("garden") == [place]
    await market.set_price(place, 7)
    assert await market.find("garden") == await market.find("gate") == []
    assert await market.search.public_texts([place]) == {}
    await market.read(place, "A gate and a garden", "A gate")
    assert await market.find("gate") == [place]
    assert await market.find("garden") == []


@pytest.mark.parametrize("price", [0, 7])
async def test_a_text_read_before_the_price_changed_is_read_again(
    market: Market, price: int
) -> None:
    place = await market.add("title", price=7 - price)
    await market.host(place)
    (pending,) = await market.search.pending_texts(0, 1)
    await market.set_price(place, price)
    facts = TextFacts(5, "A gate and a garden", "A gate")
    await market.search.store_text(pending, DOCUMENT, facts, is_free=pending.free)
    assert await market.find("gate") == []
    assert [each.free for each in await market.search.pending_texts(0, 9)] == [price == 0]


async def test_the_text_of_a_post_without_a_document_is_not_stored(market: Market) -> None:
    place = await market.add("title")
    await market.read(place, "garden")
    assert await market.find("garden") == []


async def test_the_text_of_a_post_that_lost_its_file_is_not_shown(market: Market) -> None:
    place = await market.add("title")
    await market.host(place)
    await market.store(place, "garden")
    await market.unhost(place)
    assert await market.search.public_texts([place]) == {}


async def test_a_reorg_removes_posts_with_their_words(market: Market) -> None:
    kept = await market.add("garden one")
    lost = await market.add("garden two")
    await market.host(lost)
    await market.store(lost, "flowers")
    market.number += 1
    await market.apply([], undo_from=2)
    assert await market.find("garden") == [kept]
    assert await market.find("flowers") == []
    assert [each.place for each in await market.search.pending_texts(0, 10)] == [kept]


async def test_restarting_the_index_removes_everything(market: Market) -> None:
    await market.add("garden")
    await market.begin()
    assert await market.find("garden") == []


async def test_pending_texts_lists_free_posts_without_a_stored_text(market: Market) -> None:
    first = await market.add("one")
    second = await market.add("two")
    await market.add("paid", price=1)
    await market.host(second)
    found = await market.search.pending_texts(0, 10)
    assert [(p.place, p.post_id, p.free, p.hosted, p.created_at) for p in found] == [
        (first, 1, True, False, AT),
        (second, 2, True, True, AT),
    ]
    assert [each.place for each in await market.search.pending_texts(first, 10)] == [second]
    await market.search.skip_text(first)
    await market.store(second, "text")
    assert await market.search.pending_texts(0, 10) == []


async def test_a_skipped_text_is_pending_again_once_its_file_is_published(
    market: Market,
) -> None:
    draft = await market.world.draft()
    place = await market.add("title")
    await market.search.skip_text(place)
    event = market.world.event(draft, post_id=1)
    await market.world.see(event)
    (pending,) = await market.search.pending_texts(0, 10)
    assert (pending.place, pending.hosted) == (place, True)


async def test_frequent_and_rare_words_are_found_among_many_posts(market: Market) -> None:
    """Publish more posts than PostgreSQL scans before it uses its index."""
    events = [
        PostPublished(
            replace(market.origin(), place=position_of(0, log)),
            1_000 + log,
            AUTHOR,
            b"",
            None,
            b"",
            b"common rare" if log == 5 else b"common",
            1,
            b"",
            (),
        )
        for log in range(2_500)
    ]
    await market.apply(events)
    assert await market.find("common", limit=3) == [2_499, 2_498, 2_497]
    assert await market.find("rare") == [5]
    assert await market.find("common rare") == [5]
    assert await market.find("common", before=5, limit=3) == [4, 3, 2]


SHARES = {"frequent": 0.9, "half": 0.5, "tenth": 0.1, "tenths": 0.1, "rare": 0.01, "single": 0.001}
"""The share of posts that contain each word."""

BUCKETS, IN_BUCKET = 4, 400


async def skip_bucket(tx: Transaction) -> None:
    """Put the next posts into a new bucket of the index, as if many posts had been added."""
    await tx.execute(f"UPDATE market_totals SET posts = posts + {BUCKET}")


@pytest.mark.parametrize("before", [None, position_of(3, 100), position_of(1, 0)])
async def test_posts_in_many_buckets_are_found_newest_first(
    market: Market, before: int | None
) -> None:
    random = Random(12)
    for _ in range(BUCKETS):
        market.number += 1
        events = []
        for log in range(IN_BUCKET):
            market.posts += 1
            words = [word for word, share in SHARES.items() if random.random() < share]
            random.shuffle(words)
            origin = replace(market.origin(), place=position_of(market.number, log))
            title, description = words[::2], words[1::2]
            market.texts[origin.place] = PostTexts(" ".join(title), (), " ".join(description))
            named = (" ".join(title).encode(), 1, " ".join(description).encode(), ())
            events.append(PostPublished(origin, market.posts, AUTHOR, b"", None, b"", *named))
        await market.apply(events)
        await market.world.stores.database.transact((), skip_bucket)
    queries = [*SHARES, "ten", "t", "none", '"half frequent"', '"rare tenth"', "freq rare"]
    queries += ["tenth tenths", "half tenth", "rare tenths", "tenth half frequent", "none half"]
    for query in queries:
        expected = [place for place in market.expected(query) if before is None or place < before]
        for limit in (3, 100, 2_000):
            found = await market.find(query, before, limit)
            assert found == expected[:limit], (query, limit)
        assert await market.walk(query, before) == expected, query


async def test_a_scan_stops_after_a_limited_number_of_characters(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [await market.add(f"word number {number}") for number in range(7)]
    monkeypatch.setattr(search_index, "WALKED", 3 * 256)
    database = market.world.stores.database
    query = parse_query('"number 1"')
    first = await database.read(walk_posts, query, END, 100, CHAIN)
    assert (list(first.found), first.following) == ([], places[4])
    assert await market.walk('"number 1"') == [places[1]]


async def test_only_posts_within_the_scope_are_found(market: Market) -> None:
    moderation = market.world.stores.moderation
    await moderation.choose_shown(Show.HOSTED)
    places = [await market.add(f"word number {number}") for number in range(40)]
    hosted = places[::13]
    for place in hosted:
        await market.host(place)
    unlisted, expected = places[39], hosted[:-1]
    post = Target(TargetKind.POST, market.post_id(unlisted))
    decision = Decision(post, Measure.UNLISTED, Ground.POLICY, "", AT)
    await moderation.add_decision(decision)
    for scope, shown in (
        (PostScope.SHOWN, expected),
        (PostScope.LISTED, places[:39]),
        (PostScope.CHAIN, places),
    ):
        assert await market.find("word numb", scope=scope) == shown[::-1]
        assert await market.find("word", limit=2, scope=scope) == shown[:-3:-1]
        assert await market.walk("word", scope=scope) == shown[::-1]
        # Few posts are within the scope, so the search must continue past the others.
        found, before = [], None
        while True:
            matches = await market.search.find_posts(parse_query("word"), before, 1, scope)
            found += [match.place for match in matches.found]
            if (before := matches.following) is None:
                break
        assert found == shown[::-1]


LETTERS = st.sampled_from("aAbBéÉ東京한ßŁ0١\"'*:()&|!<>\\-^ \x00\u0301\u200f\U0001e922")
TEXTS = st.text(LETTERS, max_size=12)


@settings(SHARED_FIXTURE, max_examples=60)
@given(
    posts=st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=4),
    queries=st.lists(TEXTS | st.sampled_from(["a NEAR b", "title:a", "AND", "a* OR", "'a':*"])),
)
async def test_any_query_finds_the_same_posts_as_an_in_memory_search(
    market: Market, posts: list[tuple[str, str, str]], queries: list[str]
) -> None:
    await market.begin()
    market.texts.clear()
    market.posts = 0
    for title, description, body in posts:
        place = await market.add(title, description)
        await market.host(place)
        await market.store(place, body.replace("\0", " "))
    for query in queries:
        assert await market.find(query) == market.expected(query)
        assert await market.walk(query) == market.expected(query)
    await market.world.stores.database.transact((), _unbind_all)


async def _unbind_all(tx: Transaction) -> None:
    await tx.execute(f"{_UNBIND} WHERE state = 'onchain'")


def test_each_database_has_its_own_search_implementation(world: World) -> None:
    search = world.stores.search
    assert isinstance(search, SqlSearchIndex)
    is_sqlite = world.stores.database.name == "SQLite"
    assert (search.find is find_in_sqlite) == is_sqlite


async def test_a_search_that_takes_too_long_falls_back_to_scanning_rows(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [await market.add(f"word number {number}") for number in range(3)]
    search = replace(market.world.stores.search, find=_find_for_ever)
    monkeypatch.setattr(sqlite_database, "_LONGEST_SEARCH", 0.01)
    found = await search.find_posts(parse_query("word"), None, 2)
    assert [match.place for match in found.found] == places[:0:-1]
    assert (found.following, found.is_cut) == (places[1], True)


ENDLESS = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i % 10 + 1 FROM n) SELECT count(*) FROM n"""


async def _find_for_ever(
    tx: Transaction, query: SearchQuery, before: int, limit: int, scope: PostScope
) -> Matches:
    await tx.fetchall(ENDLESS)
    raise AssertionError
