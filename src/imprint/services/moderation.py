"""Moderation: the measures in force, the data that they withhold, and the operator's desk.

Lists change in the same transaction that adds a decision. All other requests check the measures
that a process holds in memory. Each process reads new decisions at most half a second after they
were made.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import quote

from imprint.domain.drafts.files import File, new_id
from imprint.domain.drafts.tags import NotTags, parse_hashtags
from imprint.domain.errors import Code, Refusal, Unavailable
from imprint.domain.formats.addresses import Address, NotAnAddress, parse_address
from imprint.domain.formats.cids import Cid, NotACid, parse_cid
from imprint.domain.moderation import (
    FOR_AUTHORS,
    MAX_CONTACT,
    MAX_REPORT_TEXT,
    MAX_REPORTS,
    MAX_STATEMENT,
    Decision,
    Ground,
    LoggedDecision,
    Measure,
    Measures,
    Report,
    ReportReason,
    Show,
    Target,
    TargetKind,
    author_refused,
    refuse_withheld,
)
from imprint.domain.posts.feeds import ALL_POSTS, author_path, tag_path
from imprint.domain.posts.indexed_posts import IndexedPost, PostFilter, PostPosition, PostScope
from imprint.domain.posts.slugs import page_path
from imprint.ports import Clock, Monotonic, monotonic
from imprint.ports.files import FileStore, RevisionStore
from imprint.ports.moderation import ModerationStore
from imprint.ports.post_index import PostIndexReader
from imprint.services.tasks.periodic_task import SingleFlight

REFRESH_SECONDS = 0.5
"""Seconds between checks for new decisions."""

_AT_ONCE = 500
"""Number of decisions read together."""

MOST_PURGED = 1_000
"""Maximum number of posts whose paths are listed, for purging them from caches."""

_SAME_PICTURE = 100
"""Maximum number of files with the same thumbnail that are checked."""

_POSTS_AT_ONCE = 50

RETRY_SECONDS = 1.0
"""Seconds after which a database that did not respond is tried again."""


@dataclass(slots=True)
class CurrentMeasures:
    """The measures in force, as known to this process. Without a store, there are no measures."""

    store: ModerationStore | None = None
    monotonic: Monotonic = monotonic
    _known: Measures = field(default_factory=Measures, init=False)
    _read_at: float | None = field(default=None, init=False)
    _reading: SingleFlight[None, None] = field(default_factory=SingleFlight, init=False)

    async def current(self) -> Measures:
        """Return the measures, at most `REFRESH_SECONDS` old. Raises `Unavailable`."""
        if self.store is None or not self._is_old():
            return self._known
        # All waiting callers share one read, so that nobody waits for several failing reads.
        await self._reading.run(None, partial(self._read, self.store))
        return self._known

    async def refresh(self) -> None:
        """Read new decisions now."""
        if self._reading.is_running(None):
            # The read may have begun before the newest decision.
            await self.current()
        self._read_at = None
        await self.current()

    def _is_old(self) -> bool:
        read_at = self._read_at
        return read_at is None or not 0 <= self.monotonic() - read_at < REFRESH_SECONDS

    async def _read(self, store: ModerationStore) -> None:
        began = self.monotonic()
        while True:
            found = await store.decisions_after(self._known.number, _AT_ONCE)
            self._known = self._known.after(found)
            if len(found) < _AT_ONCE:
                break
        self._read_at = began

    async def check_post(self, post: IndexedPost) -> Decision | None:
        """Return the measure that hides a post from lists, if any. Refuses a withheld post."""
        decision = (await self.on_posts([post])).get(post.post_id)
        refuse_withheld(decision)
        return decision

    async def check_file(self, file: File) -> Decision | None:
        """Return the measure that hides a file from lists, if any. Refuses a withheld file."""
        (decision,) = await self.on_files([file])
        refuse_withheld(decision)
        return decision

    async def on_posts(self, posts: Sequence[IndexedPost]) -> dict[int, Decision]:
        """Return the strictest measure on each of these posts that has one, keyed by post ID."""
        measures = await self.current()
        if not measures.of_targets:
            return {}
        tags = await self._tags_of(measures, [post.post_id for post in posts if post.hosted])
        found = {post.post_id: measures.on_post(post, tags.get(post.post_id, ())) for post in posts}
        return {post_id: decision for post_id, decision in found.items() if decision}

    async def withheld(self, posts: Sequence[IndexedPost]) -> frozenset[int]:
        """Return the IDs of the posts in this sequence that are withheld."""
        found = await self.on_posts(posts)
        return frozenset(post_id for post_id, decision in found.items() if _withholds(decision))

    async def on_files(self, files: Sequence[File]) -> list[Decision | None]:
        """Return the strictest measure that hides each of these files, if any."""
        measures = await self.current()
        if not measures.of_targets:
            return [None] * len(files)
        published = [file.publication for file in files]
        post_ids = [None if each is None else each.post_id for each in published]
        tags = await self._tags_of(measures, [each for each in post_ids if each is not None])
        return [
            measures.on_file(file, () if post_id is None else tags.get(post_id, ()))
            for file, post_id in zip(files, post_ids, strict=True)
        ]

    async def _tags_of(
        self, measures: Measures, post_ids: Sequence[int]
    ) -> Mapping[int, Collection[str]]:
        """Return the hashtags of posts and of their files, if a measure applies to any hashtag."""
        if self.store is None or not measures.on_tags or not post_ids:
            return {}
        return await self.store.tags_of_posts(post_ids)

    async def check_author(self, author: Address) -> Decision | None:
        """Return the measure that hides an author from lists, if any. Refuses a withheld author."""
        decision = (await self.current()).on_author(author)
        refuse_withheld(decision)
        return decision

    async def check_document(self, cid: Cid) -> None:
        """Refuse a document that a measure on the document itself withholds."""
        refuse_withheld((await self.current()).on_cid(cid))

    async def check_missing(self, kind: TargetKind, value: str) -> None:
        """Refuse a post or CID that has no stored file if its event on the chain is withheld."""
        measures = await self.current()
        if self.store is None or not measures.withholds:
            return
        target = Target(kind, value)
        found = await self.store.targets_of_event(target)
        refuse_withheld(measures.on_any([target, *found]))

    async def check_picture(self, cid: Cid) -> None:
        """Refuse a picture that is withheld, or that only withheld posts and authors use."""
        measures = await self.current()
        refuse_withheld(measures.on_cid(cid))
        if self.store is None or not measures.withholds:
            return
        files = await self.store.files_with_thumbnail(cid, _SAME_PICTURE)
        authors = await self.store.authors_with_avatar(cid, _SAME_PICTURE)
        decisions = await self.on_files(files)
        # A draft with the same picture does not make a withheld picture visible.
        shown = [
            decision
            for file, decision in zip(files, decisions, strict=True)
            if file.publication is not None
        ]
        of_authors = [measures.on_author(author) for author in authors]
        if all(map(_withholds, [*shown, *of_authors])):
            refuse_withheld(next(filter(_withholds, [*decisions, *of_authors]), None))

    async def check_writer(self, author: Address) -> None:
        """Refuse with `author_refused` if the operator refuses the writes of this author."""
        if (await self.current()).refuses(author):
            raise author_refused()


def _withholds(decision: Decision | None) -> bool:
    return decision is not None and decision.measure is Measure.WITHHELD


def parse_target(kind: TargetKind, text: str) -> Target:
    """Return the target of a measure. Refuses a text that cannot name a target."""
    try:
        if kind is TargetKind.AUTHOR:
            return Target(kind, parse_address(text))
        if kind is TargetKind.CID:
            return Target(kind, parse_cid(text))
    except (NotAnAddress, NotACid) as error:
        raise Refusal(Code.INVALID_REQUEST, str(error)) from None
    if kind is TargetKind.TAG:
        return Target(kind, _parse_tag(text))
    if not (text.isascii() and text.isdigit() and str(int(text[:80])) == text):
        raise Refusal(Code.INVALID_POST_ID, "A post id is a decimal number.")
    return Target(kind, text)


def _parse_tag(text: str) -> str:
    try:
        tags = parse_hashtags(text)
    except NotTags as error:
        raise Refusal(Code.INVALID_TAGS, str(error)) from None
    if len(tags) != 1:
        raise Refusal(Code.INVALID_TAGS, "A measure is about one hashtag.")
    return tags[0]


@dataclass(frozen=True, slots=True)
class Moderation:
    """The operator's desk: decisions and their log, and the reports by readers."""

    store: ModerationStore
    index: PostIndexReader
    files: FileStore
    revisions: RevisionStore
    measures: CurrentMeasures
    clock: Clock

    async def decide(
        self, target: Target, measure: Measure, ground: Ground, statement: str
    ) -> list[str]:
        """Take a measure, or undo the measures on a target. Returns the paths to purge from caches.

        A measure on a revision's document applies to the document of its post, because revisions
        have the measures of their posts. Refuses an unknown post, a measure that is for authors
        only, and an undo without a measure to undo.
        """
        if target.kind is TargetKind.CID:
            revision = await self.revisions.revision_with_cid(Cid(target.value))
            target = target if revision is None else Target(target.kind, revision.document)
        statement = clean_text(statement, MAX_STATEMENT, "A statement")
        if measure in FOR_AUTHORS and target.kind is not TargetKind.AUTHOR:
            raise Refusal(Code.INVALID_REQUEST, "Only an author can be refused or allowed.")
        if measure is Measure.UNDONE:
            await self.measures.refresh()
            if not (await self.measures.current()).on(target):
                raise Refusal(Code.NOT_FOUND, f"There is no measure on this {target.kind}.")
        elif target.kind is TargetKind.POST:
            await self._expect_post(int(target.value))
        decision = Decision(target, measure, ground, statement, self.clock())
        await self.store.add_decision(decision)
        await self.measures.refresh()
        return await self.purge_paths(target)

    async def log(self, newest: int) -> list[LoggedDecision]:
        """Return the newest decisions, newest first."""
        return await self.store.newest_decisions(newest)

    async def whole_log(self) -> AsyncIterator[LoggedDecision]:
        """Return every decision in the log, in order."""
        number = 0
        while found := await self.store.decisions_after(number, _AT_ONCE):
            for each in found:
                yield each
            number = found[-1].number

    async def measures_on(self, author: Address) -> list[tuple[int | None, Decision]]:
        """Return the measures on an author, and on the author's newest posts by ID."""
        measures = await self.measures.current()
        own = measures.on(Target(TargetKind.AUTHOR, author)).values()
        found: list[tuple[int | None, Decision]] = [
            (None, each) for each in own if each.measure is not Measure.ALLOWED
        ]
        if not measures.of_targets:
            return found
        posts = await self._posts_of(Target(TargetKind.AUTHOR, author))
        for post_id, decision in (await self.measures.on_posts(posts)).items():
            if decision.target.kind is not TargetKind.AUTHOR:
                found.append((post_id, decision))
        return found

    async def purge_paths(self, target: Target) -> list[str]:
        """Return the paths of all cacheable responses about a target, newest posts first."""
        paths: dict[str, None] = {}
        if target.kind is TargetKind.CID:
            paths[f"/ipfs/{target.value}"] = None
        if target.kind is TargetKind.AUTHOR:
            author = Address(target.value)
            _add_author(paths, author)
            known = await self.index.account(author)
            if known is not None and known.profile is not None and known.profile.avatar_cid:
                paths[f"/ipfs/{known.profile.avatar_cid}"] = None
        if target.kind is TargetKind.TAG:
            _add_tag(paths, target.value)
        for post in await self._posts_of(target):
            _add_post(paths, post)
        for path in ("/", f"{ALL_POSTS}.atom", f"{ALL_POSTS}.json", "/llms.txt", "/posts"):
            paths[path] = None
        return list(paths)

    async def _posts_of(self, target: Target) -> list[IndexedPost]:
        if target.kind is TargetKind.POST:
            post = await self.index.indexed_post(int(target.value))
            return [] if post is None else [post]
        if target.kind is TargetKind.CID:
            file = await self.files.file_by_cid(Cid(target.value))
            if file is None or file.publication is None:
                return []
            post = await self.index.indexed_post(file.publication.post_id)
            return [] if post is None else [post]
        scope = PostScope.CHAIN
        if target.kind is TargetKind.AUTHOR:
            which = PostFilter(author=Address(target.value), scope=scope)
        else:
            which = PostFilter(tags=(target.value,), scope=scope)
        posts: list[IndexedPost] = []
        after: PostPosition | None = None
        while len(posts) < MOST_PURGED:
            page = await self.index.list_posts(which, after, _POSTS_AT_ONCE)
            posts += page.posts
            after = page.next
            if after is None:
                break
        return posts

    async def _expect_post(self, post_id: int) -> None:
        if await self.index.indexed_post(post_id) is not None:
            return
        if await self.files.file_by_post_id(post_id) is None:
            raise Refusal(Code.NOT_FOUND, f"There is no post {post_id} here.")

    # Reports

    async def report(self, post_id: int, reason: ReportReason, text: str, contact: str) -> Report:
        """Store a report of a post. Refuses an unknown post, and texts that are too long."""
        text = clean_text(text, MAX_REPORT_TEXT, "The text of a report")
        # The contact must be one line, wherever it is copied to.
        contact = " ".join(clean_text(contact, MAX_CONTACT, "A contact").split())
        await self._expect_post(post_id)
        report = Report(new_id(), post_id, reason, text, contact, self.clock())
        await self.store.add_report(report, MAX_REPORTS)
        return report

    async def open_reports(self, limit: int) -> list[Report]:
        """Return the oldest reports that are still open."""
        return await self.store.open_reports(limit)

    async def close_reports(self, report_ids: Sequence[str]) -> None:
        """Close these reports."""
        await self.store.close_reports(report_ids, self.clock())


def clean_text(text: str, longest: int, what: str) -> str:
    """Return a text without control and bidirectional characters. Refuses an overlong text."""
    if len(text) > longest:
        raise Refusal(Code.INVALID_REQUEST, f"{what} has at most {longest} characters.")
    return "".join(char for char in text if char in "\n\t" or _is_visible(char)).strip()


_BIDIRECTIONAL = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
"""Characters that change the direction of the text after them."""


def _is_visible(char: str) -> bool:
    return char.isprintable() and char not in _BIDIRECTIONAL


def _add_post(paths: dict[str, None], post: IndexedPost) -> None:
    number = post.post_id
    for path in (
        f"/p/{number}",
        page_path(number, post.title),
        f"/posts/{number}",
        f"/posts/{number}.md",
        f"/posts/{number}/content",
        f"/posts/{number}/opening",
        f"/posts/{number}/revisions",
        f"/posts/{number}/proof.json",
        f"/p/{number}/changes",
        f"/p/{number}/first",
        f"/freeFileByPostId?postId={number}",
        f"/ipfs/{quote(post.cid, safe='')}",
    ):
        paths[path] = None
    if post.thumbnail_cid:
        paths[f"/ipfs/{quote(post.thumbnail_cid, safe='')}"] = None
        with suppress(NotACid):
            # As pages link it, which may be spelled otherwise than on the chain.
            paths[f"/ipfs/{parse_cid(post.thumbnail_cid)}"] = None
    _add_author(paths, post.author)
    for tag in post.hashtags:
        _add_tag(paths, tag)


def _add_author(paths: dict[str, None], author: Address) -> None:
    feed = author_path(author)
    for path in (f"/a/{author}", f"/authors/{author}", f"{feed}.atom", f"{feed}.json"):
        paths[path] = None


def _add_tag(paths: dict[str, None], tag: str) -> None:
    feed = quote(tag_path(tag))
    for path in (f"/t/{quote(tag)}", f"{feed}.atom", f"{feed}.json"):
        paths[path] = None


async def keep_newer_log(store: ModerationStore, log: Sequence[LoggedDecision]) -> bool:
    """Add the decisions of a newer log. Returns False and adds nothing if the log is unrelated."""
    known: list[LoggedDecision] = []
    # A repair may have left gaps.
    while found := await store.decisions_after(known[-1].number if known else 0, _AT_ONCE):
        known += found
    common = min(len(known), len(log))
    if [each.record for each in known[:common]] != [each.record for each in log[:common]]:
        return False
    for each in log[common:]:
        await store.add_decision(each.decision)
    return True


@dataclass(frozen=True, slots=True)
class ShownPosts:
    """Makes lists show the posts that a setting selects. Changing it updates all posts once."""

    store: ModerationStore
    show: Show

    async def run(self) -> None:
        """Apply the setting once, and retry while the database does not respond."""
        while True:
            try:
                return await self.store.choose_shown(self.show)
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)
