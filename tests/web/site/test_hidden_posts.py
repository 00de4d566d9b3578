"""No replica and no restored backup serves posts that the operator has hidden or erased."""

import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from tests.indexed import read_texts
from tests.profiles import portrait, save_profile
from tests.revisions import revise
from tests.services.installation.test_backup import open_restored
from tests.services.installations import ignore, save, say_nothing
from tests.services.test_erasure import erase
from tests.web.site.publication import publish
from tests.web.site.test_crawl import Crawl, assert_every_route_was_reached, seeds
from tests.world import ORIGIN, World, open_world

from imprint.bootstrap import build_service, open_adapters
from imprint.bootstrap.archives import open_backup, open_restore
from imprint.domain.moderation import Decision, Ground, LoggedDecision, Measure, Target, TargetKind
from imprint.services.moderation import parse_target

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXTS = ("The canary in the title", "The canary in the description", "The canary in the text")
SLUG = "the-canary-in-the-title"
REMOVED, CORRECTED, NOTE = OF_REVISIONS = ("Canaryremoved", "Canarycorrected", "Canarynote")
REST = "\n\n<!--more-->\n\nEverything above this is the opening."
OF_AUTHOR = ("Canary of a name", "The canary in the biography")

CRAWLERS = ("stranger", "browser", "holder", "author")

FEW = ("browser", "holder")
"""Two crawlers that together find everything."""

each_kind = pytest.mark.parametrize(
    ("records", "kind"),
    # PostgreSQL is tested only with a measure on a tag, which uses the most statements: which
    # responses a measure changes does not depend on the database. test_measures.py tries every
    # kind with both databases.
    [
        ("sqlite", TargetKind.POST),
        ("sqlite", TargetKind.AUTHOR),
        ("sqlite", TargetKind.CID),
        ("postgresql", TargetKind.TAG),
    ],
    indirect=["records"],
    scope="module",
)


@dataclass(frozen=True)
class Scene:
    """A free and a paid post by an author with a profile, and the data that measures can hide."""

    free: str
    paid: str
    author: str
    cids: tuple[str, str]
    pictures: tuple[str, str]
    avatar: str
    feeds: tuple[str, ...]
    bytes_of: dict[str, bytes] = field(repr=False)

    def canaries(self, kind: TargetKind) -> list[bytes]:
        """The texts and pictures that a measure on this kind of target hides."""
        texts = [*TEXTS, *OF_REVISIONS, SLUG]
        pictures = list(self.pictures)
        if kind is TargetKind.AUTHOR:
            texts += OF_AUTHOR
            pictures.append(self.avatar)
        return [each.encode() for each in texts] + [self.bytes_of[each] for each in pictures]

    def targets(self, kind: TargetKind) -> list[Target]:
        """The targets of this kind that cover both posts."""
        values = {
            TargetKind.POST: (self.free, self.paid),
            TargetKind.CID: self.cids,
            TargetKind.AUTHOR: (self.author,),
            TargetKind.TAG: ("ink", "pen"),
        }
        return [parse_target(kind, value) for value in values[kind]]

    @property
    def addresses(self) -> list[str]:
        """Additional addresses at which a crawl starts."""
        found = [*self.feeds]
        for picture in (*self.pictures, self.avatar):
            found += [f"/ipfs/{picture}{query}" for query in ("", "?format=raw", "?img-width=160")]
        for post_id in (self.free, self.paid):
            paths = (SLUG, "text", "document", "changes", "first")
            found += [f"/p/{post_id}/{path}" for path in paths]
            found += [f"/posts/{post_id}/content?revision={number}" for number in range(2)]
        found += ["/posts?hosted=any", "/posts?sort=sales", "/me/library?q=canary", "/me/sales"]
        return found


async def compose(world: World) -> Scene:
    """Publish both posts and one by another author, and let a reader buy the paid post."""
    author, holder = world.wallet(1), world.wallet(2)
    avatar = portrait()
    name, bio = OF_AUTHOR
    profile = await save_profile(world, author, avatar, name=name, bio=bio)
    title, about, words = TEXTS
    given: dict[str, Any] = {
        "title": title,
        "about": about,
        "content": f"{words}. {REMOVED}. <b>x</b>{REST}",
    }
    free = await publish(world, 1, "ink", price=0, **given)
    # Only the service knows the hashtag of this post. That of the first is also on the chain.
    paid = await publish(world, 1, "pen", price=7, on_chain=("blue",), **given)
    await publish(world, 3, "paper", title="Another", content="Something else.")
    world.buy(holder, int(paid), 7)
    await world.index()
    posts = [(await world.client.get(f"/posts/{each}")).json() for each in (free, paid)]
    for post in posts:
        corrected = f"{words}. {CORRECTED}. <b>x</b>{REST}"
        await revise(world, author, (post["id"], post["cid"]), corrected, note=NOTE)
    await read_texts(world)
    pictures = [*(post["thumbnailCid"] for post in posts), profile["avatarCid"]]
    stored = {each: (await world.client.get(f"/ipfs/{each}")).content for each in pictures}
    feeds = []
    for wallet in (author, holder):
        session = await world.login(wallet)
        feed = (await world.client.post("/me/feeds", headers=session)).json()
        feeds += [feed["json"].removeprefix(ORIGIN), feed["atom"].removeprefix(ORIGIN)]
    first, second = posts
    return Scene(
        free,
        paid,
        author.address,
        (first["cid"], second["cid"]),
        (pictures[0], pictures[1]),
        pictures[2],
        tuple(feeds),
        stored,
    )


Found = dict[str, Crawl]
"""The crawls, by the name of the crawler."""

Told = dict[str, set[str]]
"""Addresses, by the name of the crawler."""


async def start_crawl(world: World, name: str) -> Crawl:
    """Return a crawl by this crawler that has not visited any address."""
    if name == "browser":
        return Crawl(world, {"Accept": "text/html,application/xhtml+xml"})
    wallets = {"author": world.wallet(1), "holder": world.wallet(2)}
    return Crawl(world, await world.login(wallets[name]) if name in wallets else {})


async def crawl(world: World, scene: Scene, crawlers: tuple[str, ...]) -> Found:
    """Follow every link as each of these crawlers."""
    starts = [*seeds(world, world.wallet(1), last=4), *scene.addresses]
    found = {}
    for name in crawlers:
        found[name] = await start_crawl(world, name)
        await found[name].run(starts)
    return found


async def visit(world: World, addresses: Told) -> Found:
    """Visit only these addresses, without following links."""
    found = {}
    for name, visited in addresses.items():
        found[name] = each = await start_crawl(world, name)
        for address in visited:
            each.seen[address] = await world.client.get(address, headers=each.headers)
    return found


def told(found: Found, canaries: list[bytes]) -> Told:
    """Return the addresses whose responses contain a canary, by crawler."""
    said: Told = {}
    for name, each in found.items():
        for address, response in each.seen.items():
            given = response.content + str(response.headers).encode()
            if any(canary in given for canary in canaries):
                said.setdefault(name, set()).add(address)
    return said


async def decide(world: World, measure: Measure, targets: list[Target]) -> None:
    """Take measures like another process would. All processes apply them a second later."""
    for target in targets:
        decision = Decision(target, measure, Ground.POLICY, "Not here.", world.clock())
        await world.adapters.stores.moderation.add_decision(decision)
    world.clock.advance(1)


async def assert_nothing_is_given_by_parts(found: Found, canaries: list[bytes]) -> None:
    """Check that HEAD, a range and a known entity tag reveal nothing of earlier responses."""
    for name, addresses in told(found, canaries).items():
        was = found[name]
        client = was.world.client
        for address in addresses:
            before = was.seen[address]
            head = await client.head(address, headers=was.headers)
            assert (head.status_code, head.content) != (200, before.content), address
            given = str(head.headers).encode()
            assert not any(each in given for each in canaries), address
            tag = before.headers.get("etag", '"none"')
            assert head.headers.get("etag") != tag, address
            for header in ({"Range": "bytes=0-"}, {"If-None-Match": tag}):
                part = await client.get(address, headers=was.headers | header)
                assert part.status_code not in (206, 304), address
                assert not any(each in part.content for each in canaries), address


@asynccontextmanager
async def replica_of(world: World) -> AsyncIterator[World]:
    """A second process with the same database and content store."""
    adapters = open_adapters(world.settings, world.clock, world.clock.monotonic)
    try:
        app = build_service(world.settings, adapters)
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            yield replace(world, adapters=adapters, app=app, client=client)
    finally:
        await adapters.close()


@dataclass(frozen=True)
class Stage:
    """A world with a replica and a backup, and everything that is served without measures."""

    world: World
    replica: World
    saved: Path
    scene: Scene
    shown: Found
    telling: Told
    """The addresses whose responses contain anything about the posts or their author."""

    @asynccontextmanager
    async def measured(self, measure: Measure, kind: TargetKind) -> AsyncIterator[None]:
        """Take a measure on both posts, and undo it at the end."""
        targets = self.scene.targets(kind)
        await decide(self.world, measure, targets)
        try:
            yield
        finally:
            await decide(self.world, Measure.UNDONE, targets)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory, records: None) -> AsyncIterator[Stage]:
    folder = tmp_path_factory.mktemp("stage")
    async with open_world(folder / "world") as world, replica_of(world) as replica:
        scene = await compose(world)
        saved = folder / "saved.tar"
        await save(world, saved)
        shown = await crawl(world, scene, FEW)
        names = [each.encode() for each in scene.cids]
        telling = told(shown, scene.canaries(TargetKind.AUTHOR) + names)
        yield Stage(world, replica, saved, scene, shown, telling)


@each_kind
async def test_a_withheld_post_is_served_at_no_address(stage: Stage, kind: TargetKind) -> None:
    world, scene = stage.world, stage.scene
    canaries = scene.canaries(kind)
    # Fill all caches before the measure.
    before = await visit(world, stage.telling)
    assert told(before, canaries) == told(stage.shown, canaries)
    for canary in canaries:
        assert told(before, [canary]), canary
    async with stage.measured(Measure.WITHHELD, kind):
        assert told(await visit(world, stage.telling), canaries) == {}
        if kind in (TargetKind.POST, TargetKind.AUTHOR):
            await assert_nothing_is_given_by_parts(before, canaries)
        for picture in scene.pictures:
            resized = await world.client.get(f"/ipfs/{picture}?img-width=160")
            assert resized.status_code == 410


@pytest.mark.parametrize("records", ["sqlite"], indirect=True)
async def test_no_crawler_finds_a_withheld_post(stage: Stage) -> None:
    world, scene = stage.world, stage.scene
    canaries = scene.canaries(TargetKind.POST)
    before = stage.shown | await crawl(world, scene, ("stranger", "author"))
    assert told(before, canaries).keys() == {*CRAWLERS}
    assert_every_route_was_reached(world, before["holder"])
    async with stage.measured(Measure.WITHHELD, TargetKind.POST):
        assert told(await crawl(world, scene, CRAWLERS), canaries) == {}


@each_kind
async def test_an_unlisted_post_is_served_only_at_its_own_addresses(
    stage: Stage, kind: TargetKind
) -> None:
    world, scene = stage.world, stage.scene
    async with stage.measured(Measure.UNLISTED, kind):
        if kind is TargetKind.POST:
            after = await crawl(world, scene, FEW)
        else:
            after = await visit(world, stage.telling)
    own = [f"/p/{each}" for each in (scene.free, scene.paid)]
    own += [f"/posts/{each}" for each in (scene.free, scene.paid)]
    own += [f"/ipfs/{each}" for each in (*scene.pictures, *scene.cids, scene.avatar)]
    own += [f"/a/{scene.author}", f"/authors/{scene.author}"]
    own += [f"/filesMetaData?cid={each}" for each in scene.cids]
    own += [f"/freeFileByPostId?postId={scene.free}", f"/fileByPostId?user={scene.author}"]
    for_readers = (*scene.feeds, "/me/library", "/me/sales")
    canaries = [each.encode() for each in (*TEXTS, *OF_REVISIONS, *scene.cids)]
    for name, addresses in told(after, canaries).items():
        listed = {each for each in addresses if not each.startswith((*own, *for_readers))}
        assert listed == set(), name
    # Buyers keep reading.
    paid = after["holder"].seen[f"/posts/{scene.paid}/content"]
    assert TEXTS[2] in paid.text
    assert TEXTS[0] in after["holder"].seen["/me/library"].text
    assert TEXTS[2] in after["browser"].seen[scene.feeds[2]].text


@pytest.mark.parametrize(
    ("records", "kind"),
    [("sqlite", TargetKind.CID), ("postgresql", TargetKind.AUTHOR)],
    indirect=["records"],
    scope="module",
)
async def test_no_replica_serves_an_erased_post_a_second_later(
    tmp_path: Path, records: None, kind: TargetKind
) -> None:
    async with open_world(tmp_path) as world, replica_of(world) as replica:
        scene = await compose(world)
        canaries = scene.canaries(kind)
        (addresses,) = told(await crawl(world, scene, ("holder",)), canaries).values()
        telling = dict.fromkeys(FEW, addresses)
        before = await visit(world, telling)
        assert told(before, canaries).keys() == {*FEW}
        assert told(await visit(replica, telling), canaries) == told(before, canaries)
        for target in scene.targets(kind):
            await erase(world, target)
        for each in (world, replica):
            assert told(await visit(each, telling), canaries) == {}
        if kind is TargetKind.AUTHOR:
            await assert_nothing_is_given_by_parts(before, canaries)


@each_kind
async def test_every_replica_withholds_and_restores_posts_within_a_second(
    stage: Stage, kind: TargetKind
) -> None:
    canaries = stage.scene.canaries(kind)
    addresses = {"holder": stage.telling["holder"]}
    before = await visit(stage.replica, addresses)
    assert told(before, canaries)
    async with stage.measured(Measure.WITHHELD, kind):
        assert told(await visit(stage.replica, addresses), canaries) == {}
    assert told(await visit(stage.replica, addresses), canaries) == told(before, canaries)


@asynccontextmanager
async def restored(
    stage: Stage, folder: Path, log: Sequence[LoggedDecision] = ()
) -> AsyncIterator[World]:
    """Restore the backup with a copy of the chain, and with this log of decisions."""
    with open_restore(folder, say_nothing) as (service, store):
        try:
            await service.run(open_backup(stage.saved), ignore, log)
        finally:
            await store.close()
    shutil.copy(stage.world.settings.storage.data_dir / "chain.jsonl", folder)
    async with open_restored(folder, stage.world) as opened:
        yield opened


@each_kind
async def test_posts_withheld_after_a_backup_stay_hidden_when_it_is_restored(
    stage: Stage, tmp_path: Path, kind: TargetKind
) -> None:
    canaries = stage.scene.canaries(kind)
    async with stage.measured(Measure.WITHHELD, kind):
        log = await stage.world.adapters.stores.moderation.decisions_after(0, 1000)
        async with restored(stage, tmp_path / "restored", log) as world:
            assert told(await visit(world, stage.telling), canaries) == {}


@pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)
async def test_a_backup_restored_without_the_newer_log_serves_withheld_posts(
    stage: Stage, tmp_path: Path
) -> None:
    canaries = stage.scene.canaries(TargetKind.AUTHOR)
    async with (
        stage.measured(Measure.WITHHELD, TargetKind.AUTHOR),
        restored(stage, tmp_path / "restored") as world,
    ):
        assert told(await visit(world, stage.telling), canaries)
