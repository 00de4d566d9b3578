"""No replica and no restored backup serves posts that the operator has hidden or erased."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.profiles import portrait, save_profile
from tests.revisions import revise
from tests.services.installation.test_backup import open_restored
from tests.services.installations import ignore, save, say_nothing
from tests.services.test_erasure import erase
from tests.web.site.publication import publish
from tests.web.site.test_crawl import Crawl, assert_every_route_was_reached, seeds
from tests.world import ORIGIN, World

from imprint.bootstrap import build_service, open_adapters
from imprint.bootstrap.archives import open_backup, open_restore
from imprint.domain.moderation import Decision, Ground, Measure, Target, TargetKind
from imprint.services.moderation import parse_target

pytestmark = pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)

TEXTS = ("The canary in the title", "The canary in the description", "The canary in the text")
SLUG = "the-canary-in-the-title"
REMOVED, CORRECTED, NOTE = OF_REVISIONS = ("Canaryremoved", "Canarycorrected", "Canarynote")
OF_AUTHOR = ("Canary of a name", "The canary in the biography")

CRAWLERS = ("stranger", "browser", "holder", "author")

FEW = ("browser", "holder")
"""Two crawlers that together find everything. Tests that are fast enough use all four."""


@dataclass(frozen=True)
class Scene:
    """A free and a paid post by an author with a profile, and the data that measures hide."""

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
    """Publish both posts and another author's, and let a reader buy the paid one."""
    author, holder = world.wallet(1), world.wallet(2)
    avatar = portrait()
    name, bio = OF_AUTHOR
    profile = await save_profile(world, author, avatar, name=name, bio=bio)
    title, about, words = TEXTS
    given: dict[str, Any] = {
        "title": title,
        "about": about,
        "content": f"{words}. {REMOVED}. <b>x</b>",
    }
    free = await publish(world, 1, "ink", price=0, **given)
    # Its hashtag is known to the service only, and the one of the first also to the chain.
    paid = await publish(world, 1, "pen", price=7, on_chain=("blue",), **given)
    await publish(world, 3, "paper", title="Another", content="Something else.")
    world.buy(holder, int(paid), 7)
    await world.index()
    posts = [(await world.client.get(f"/posts/{each}")).json() for each in (free, paid)]
    for post in posts:
        corrected = f"{words}. {CORRECTED}. <b>x</b>"
        await revise(world, author, (post["id"], post["cid"]), corrected, note=NOTE)
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


async def crawl(world: World, scene: Scene, crawlers: tuple[str, ...] = FEW) -> Found:
    """Follow every link as each of these crawlers."""
    author, holder = world.wallet(1), world.wallet(2)
    headers: dict[str, dict[str, str]] = {
        "stranger": {},
        "browser": {"Accept": "text/html,application/xhtml+xml"},
        "holder": await world.login(holder),
        "author": await world.login(author),
    }
    found = {}
    for name in crawlers:
        found[name] = Crawl(world, headers[name])
        await found[name].run([*seeds(world, author), *scene.addresses])
    return found


def told(found: Found, canaries: list[bytes]) -> dict[str, set[str]]:
    """Return the addresses whose responses contain a canary, by crawler."""
    said: dict[str, set[str]] = {}
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


KINDS = (TargetKind.POST, TargetKind.AUTHOR, TargetKind.CID, TargetKind.TAG)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_withheld_post_is_served_at_no_address(world: World, kind: TargetKind) -> None:
    scene = await compose(world)
    # Everything is in caches before the measure.
    crawlers = CRAWLERS if kind is TargetKind.POST else FEW
    before = await crawl(world, scene, crawlers)
    canaries = scene.canaries(kind)
    assert set(told(before, canaries)) == set(crawlers)
    for canary in canaries:
        assert told(before, [canary]), canary
    assert_every_route_was_reached(world, before["holder"])
    await decide(world, Measure.WITHHELD, scene.targets(kind))
    after = await crawl(world, scene, crawlers)
    assert told(after, canaries) == {}
    await assert_nothing_is_given_by_parts(before, canaries)
    for picture in scene.pictures:
        assert after["holder"].seen[f"/ipfs/{picture}?img-width=160"].status_code == 410


@pytest.mark.parametrize("kind", KINDS)
async def test_an_unlisted_post_is_served_only_at_its_own_addresses(
    world: World, kind: TargetKind
) -> None:
    scene = await compose(world)
    await crawl(world, scene)
    await decide(world, Measure.UNLISTED, scene.targets(kind))
    after = await crawl(world, scene)
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


@pytest.mark.parametrize("kind", [TargetKind.AUTHOR, TargetKind.CID])
async def test_an_erased_post_is_served_at_no_address(world: World, kind: TargetKind) -> None:
    scene = await compose(world)
    before = await crawl(world, scene)
    for target in scene.targets(kind):
        await erase(world, target)
    after = await crawl(world, scene)
    canaries = scene.canaries(kind)
    assert told(after, canaries) == {}
    await assert_nothing_is_given_by_parts(before, canaries)


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


@pytest.mark.parametrize("kind", KINDS)
async def test_every_replica_withholds_and_restores_posts_within_a_second(
    world: World, kind: TargetKind
) -> None:
    scene = await compose(world)
    canaries = scene.canaries(kind)
    async with replica_of(world) as other:
        before = await crawl(other, scene, ("holder",))
        assert told(before, canaries)
        await decide(world, Measure.WITHHELD, scene.targets(kind))
        assert told(await crawl(other, scene, ("holder",)), canaries) == {}
        await assert_nothing_is_given_by_parts(before, canaries)
        await decide(world, Measure.UNDONE, scene.targets(kind))
        shown = told(await crawl(other, scene, ("holder",)), canaries)
        assert shown == told(before, canaries)


async def test_every_replica_erases_posts_within_a_second(world: World) -> None:
    scene = await compose(world)
    canaries = scene.canaries(TargetKind.AUTHOR)
    async with replica_of(world) as other:
        assert told(await crawl(other, scene, ("holder",)), canaries)
        for target in scene.targets(TargetKind.AUTHOR):
            await erase(world, target)
        assert told(await crawl(other, scene), canaries) == {}


async def restore_beside(world: World, saved: Path, folder: Path, *, newer_log: bool) -> None:
    """Restore a backup with a copy of the chain, and optionally with later decisions."""
    stores = world.adapters.stores
    log = await stores.moderation.decisions_after(0, 100) if newer_log else []
    with open_restore(folder, say_nothing) as (service, store):
        try:
            await service.run(open_backup(saved), ignore, log)
        finally:
            await store.close()
    shutil.copy(world.settings.storage.data_dir / "chain.jsonl", folder)


@pytest.mark.parametrize("kind", KINDS)
async def test_posts_withheld_after_a_backup_stay_hidden_when_it_is_restored(
    world: World, tmp_path: Path, kind: TargetKind
) -> None:
    scene = await compose(world)
    saved = tmp_path / "saved.tar"
    await save(world, saved)
    await decide(world, Measure.WITHHELD, scene.targets(kind))
    canaries = scene.canaries(kind)
    for name, newer_log in (("old", False), ("new", True)):
        folder = tmp_path / name
        await restore_beside(world, saved, folder, newer_log=newer_log)
        async with open_restored(folder, world) as restored:
            found = told(await crawl(restored, scene, ("holder",)), canaries)
        assert bool(found) is not newer_log, found
