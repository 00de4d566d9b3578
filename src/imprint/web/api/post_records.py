"""Records of posts, authors, libraries, sales and statistics, built from the index."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from io import StringIO

import msgspec

from imprint.domain.formats.coins import format_coin
from imprint.domain.formats.instants import format_instant
from imprint.domain.moderation import Decision, TargetKind
from imprint.domain.posts.indexed_posts import (
    AccountSummary,
    HeldPost,
    IndexedPost,
    PricedPost,
    RecordedPost,
    Sale,
    Sales,
)
from imprint.domain.posts.marketplace import POST_CREATED
from imprint.domain.posts.posts import BlockRef
from imprint.domain.posts.revisions import Revision, RevisionSummary
from imprint.domain.posts.slugs import page_path
from imprint.domain.profiles import Profile
from imprint.interface import posts as records
from imprint.interface.codec import encode_once
from imprint.interface.values import Wei
from imprint.services.posts.posts import (
    Derived,
    Library,
    ListedPosts,
    OwnPosts,
    SalesPage,
    Stats,
)

_EPOCH_DAY = date(1970, 1, 1).toordinal()

_KEPT = 2_048
"""Number of cached post records, of about a kilobyte each."""

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that a spreadsheet interprets as the start of a formula."""


@dataclass(frozen=True, slots=True)
class PostRecords:
    """Builds records of posts, with links below the public URL of the service."""

    public_url: str
    _records: Derived[records.Post] = field(default_factory=lambda: Derived(lambda _: 1, _KEPT))
    _encoded: Derived[records.Post] = field(default_factory=lambda: Derived(lambda _: 1, _KEPT))

    def of(self, post: IndexedPost) -> records.Post:
        """Return the record of a post, cached because the catalog reuses its objects for a
        while."""
        return self._records.of(post, None, lambda: post_record(post, self.public_url))

    def priced(self, priced: PricedPost) -> records.Post:
        """Return a post with its latest prices."""
        history = tuple(records.PricePoint(Wei(each.price), each.since) for each in priced.prices)
        return msgspec.structs.replace(self.of(priced.post), price_history=history)

    def listed(self, listed: ListedPosts) -> records.PostsResponse:
        """Return a page of posts."""
        posts = tuple([self._listed(post, listed.snippets) for post in listed.posts])
        return records.PostsResponse(posts, listed.next_page_token)

    def own(self, own: OwnPosts) -> records.OwnPostsResponse:
        """Return a page of an author's own posts."""
        posts = tuple(
            records.OwnPost(
                **msgspec.structs.asdict(self.of(each.post)),
                measure=_measure_on(each.post.post_id, each.decision),
            )
            for each in own.posts
        )
        return records.OwnPostsResponse(posts, own.next_page_token)

    def library(self, library: Library) -> records.LibraryResponse:
        """Return a page of a library."""
        held = tuple([self.held(each, library.snippets) for each in library.held])
        return records.LibraryResponse(held, library.next_page_token)

    def held(self, held: HeldPost, snippets: Mapping[int, str] | None = None) -> records.HeldPost:
        """Return a post with the reader's holding."""
        paid = None if held.paid is None else Wei(held.paid)
        record = records.Held(Wei(held.balance), held.arrived_at, paid)
        found = self._found(held.post, snippets)
        return records.HeldPost(**msgspec.structs.asdict(found), held=record)

    def _found(self, post: IndexedPost, snippets: Mapping[int, str] | None) -> records.Post:
        """Return a post, with its snippet if it was found by a search."""
        if snippets is None:
            return self.of(post)
        return msgspec.structs.replace(self.of(post), snippet=snippets[post.place])

    def _listed(self, post: IndexedPost, snippets: Mapping[int, str] | None) -> records.Post:
        """Return a post for a list, encoded once for all lists."""
        if snippets is None:
            return self._encoded.of(
                post, None, lambda: encode_once(post_record(post, self.public_url))
            )
        return self._found(post, snippets)


def post_record(post: IndexedPost, public_url: str) -> records.Post:
    """Return the JSON form of a post. `public_url` has no trailing slash."""
    address = f"{public_url}/posts/{post.post_id}"
    page = public_url + page_path(post.post_id, post.title)
    return records.Post(
        str(post.post_id),
        post.author,
        post.cid,
        post.thumbnail_cid,
        post.title,
        post.description,
        Wei(post.price),
        Wei(post.first_price),
        post.free,
        post.hashtags,
        post.hosted,
        post.created_at,
        _block(post.block),
        post.tx_hash,
        _sales(post.sales),
        post.holders,
        records.PostLinks(address, f"{address}/content", page),
        None if post.byline is None else records.Byline(post.byline.name, post.byline.avatar_cid),
        post.words,
        post.has_opening,
        _summary(post.revision),
    )


def _summary(revision: RevisionSummary | None) -> records.RevisionSummary | None:
    if revision is None:
        return None
    return records.RevisionSummary(revision.number, revision.note, revision.created_at)


def proof_response(recorded: RecordedPost) -> records.PostProof:
    """Return the proof of a post."""
    post = recorded.post
    topics = (
        POST_CREATED.hex(),
        f"{post.post_id:064x}",
        post.author.removeprefix("0x").zfill(64),
    )
    return records.PostProof(
        records.PROOF_TYPE,
        str(post.post_id),
        post.author,
        post.cid,
        post.created_at,
        recorded.chain_id,
        records.ProofLog(
            recorded.contract, tuple(f"0x{topic}" for topic in topics), recorded.log_index
        ),
        post.tx_hash,
        _block(post.block),
    )


def revision_response(revision: Revision) -> records.RevisionResponse:
    """Return the record of a new revision."""
    record = records.RevisionRecord(
        revision.number, revision.cid, revision.note, revision.created_at
    )
    return records.RevisionResponse(record)


def revisions_response(revisions: Sequence[Revision]) -> records.RevisionsResponse:
    """Return the revisions of a post."""
    listed = (
        records.ListedRevision(each.number, each.cid, each.note, each.created_at, each.words)
        for each in revisions
    )
    return records.RevisionsResponse(tuple(listed))


def author_response(account: AccountSummary) -> records.Author:
    """Return the record of an author."""
    return records.Author(
        account.address,
        account.posts,
        _sales(account.sales),
        account.readers,
        account.first_post_at,
        account.last_post_at,
        None if account.profile is None else profile_record(account.profile),
    )


def profile_record(profile: Profile) -> records.Profile:
    """Return the record of a profile."""
    texts = profile.texts
    return records.Profile(
        profile.address,
        texts.name,
        texts.bio,
        texts.links,
        profile.avatar_cid,
        profile.updated_at,
    )


def measure_record(post_id: int | None, decision: Decision) -> records.MeasureRecord:
    """Return the record of a measure on a post, or on its author if there is no post ID."""
    return records.MeasureRecord(
        None if post_id is None else str(post_id),
        decision.measure.value,
        decision.ground.value,
        decision.statement,
        decision.at,
    )


def _measure_on(post_id: int, decision: Decision | None) -> records.MeasureRecord | None:
    if decision is None:
        return None
    is_on_author = decision.target.kind is TargetKind.AUTHOR
    return measure_record(None if is_on_author else post_id, decision)


def sales_response(page: SalesPage) -> records.SalesResponse:
    """Return a page of sales."""
    sales = tuple(
        records.Sale(
            str(sale.post_id),
            sale.buyer,
            Wei(sale.price),
            sale.at,
            _block(sale.block),
            sale.tx_hash,
            sale.title,
            sale.receiver,
        )
        for sale in page.sales
    )
    return records.SalesResponse(sales, page.next_page_token)


CSV_COLUMNS = (
    *("postId", "buyer", "price", "at", "blockNumber", "blockHash", "transaction"),
    *("title", "amount", "coin", "receiver"),
)
"""The header line of a CSV table of sales. `price` is in wei, `amount` in whole coins."""


def sales_table(sales: Sequence[Sale], coin: str) -> bytes:
    """Format sales as comma-separated values (RFC 4180), with a header line.

    A cell that looks like a formula gets an apostrophe, so that a spreadsheet does not
    evaluate it.
    """
    text = StringIO()
    table = csv.writer(text, lineterminator="\r\n")
    table.writerow(CSV_COLUMNS)
    for sale in sales:
        cells = (
            str(sale.post_id),
            sale.buyer,
            str(sale.price),
            format_instant(sale.at),
            str(sale.block.number),
            sale.block.block_hash,
            sale.tx_hash,
            sale.title or "",
            format_coin(sale.price),
            coin,
            sale.receiver or "",
        )
        table.writerow([f"'{cell}" if cell.startswith(FORMULA) else cell for cell in cells])
    return text.getvalue().encode()


def stats_response(stats: Stats) -> records.Stats:
    """Return the totals of the marketplace and of each recent day."""
    totals = stats.totals
    days = tuple(
        records.Day(
            date.fromordinal(_EPOCH_DAY + day.day).isoformat(),
            day.posts,
            day.sales.count,
            Wei(day.sales.volume),
        )
        for day in stats.days
    )
    return records.Stats(
        totals.posts,
        totals.authors,
        totals.readers,
        totals.sales.count,
        Wei(totals.sales.volume),
        days,
    )


def _block(block: BlockRef) -> records.Block:
    return records.Block(block.number, block.block_hash)


def _sales(sales: Sales) -> records.SalesTotal:
    return records.SalesTotal(sales.count, Wei(sales.volume))
