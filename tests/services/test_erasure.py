"""Erasure: everything stored about a person is gone, and other people's data is not affected."""

import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.profiles import portrait, save_profile
from tests.revisions import published_post, revise
from tests.services.installation.test_backup import open_restored
from tests.services.installations import restore, save
from tests.web.api.test_search import texts_of
from tests.web.site.publication import publish
from tests.world import Wallet, World, picture, problem

from imprint.bootstrap.background import build_collector
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Refusal
from imprint.domain.formats.cids import Cid
from imprint.domain.moderation import ERASED, Target, TargetKind
from imprint.ports.moderation import PersonalRecords
from imprint.services.erasure import Erased, Erasure
from imprint.services.moderation import CurrentMeasures, parse_target

pytestmark = pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)

WORDS = "The canary in the text"


def erasure_of(world: World) -> Erasure:
    adapters = world.adapters
    stores = adapters.stores
    return Erasure(
        stores.erasure,
        stores.moderation,
        CurrentMeasures(stores.moderation, adapters.monotonic),
        stores.leases,
        build_collector(world.settings, adapters),
        world.clock,
        follow_seconds=0,
    )


async def erase(world: World, target: Target) -> Erased:
    erased = await erasure_of(world).erase(target)
    world.clock.advance(1)
    return erased


def address_of(wallet: Wallet) -> Target:
    return parse_target(TargetKind.AUTHOR, wallet.address)


def cid_of(cid: str) -> Target:
    return parse_target(TargetKind.CID, cid)


@dataclass
class Person:
    """An author with a draft of two versions, a free post, a profile and a private feed."""

    wallet: Wallet
    draft: str
    replaced: str
    post_id: str
    post: str
    thumbnail: str
    avatar: str
    shared: str

    @property
    def texts(self) -> list[str]:
        return [self.draft, self.replaced, self.post]


async def settle(world: World, number: int, image: bytes | None = None) -> Person:
    """Create a person's data. If an image is given, it becomes the thumbnail of the draft."""
    wallet = world.wallet(number)
    old = await world.create(wallet, f"A first draft of {number}.")
    draft = await world.update(wallet, old["cid"], f"A draft of {number}.")
    shared = ""
    if image is not None:
        prepared = await world.send_publish(wallet, draft["cid"], "ink", image)
        shared = prepared.json()["thumbnailCid"]
    post_id = await publish(world, number, "ink", content=f"{WORDS} of {number}.")
    post = (await world.client.get(f"/posts/{post_id}")).json()
    profile = await save_profile(world, wallet, portrait(), name=f"Author {number}")
    session = await world.login(wallet)
    assert (await world.client.post("/me/feeds", headers=session)).status_code == 201
    return Person(
        wallet,
        draft["cid"],
        old["cid"],
        post_id,
        post["cid"],
        post["thumbnailCid"],
        profile["avatarCid"],
        shared,
    )


async def stored(world: World, cids: list[str], network: Network) -> list[str]:
    content = world.adapters.content
    return [cid for cid in cids if await content.read(Cid(cid), network) is not None]


async def statuses(world: World, person: Person) -> dict[str, int]:
    """Return the status of each public request for a person's data, by URL."""
    number, wallet = person.post_id, person.wallet
    addresses = (
        f"/posts/{number}",
        f"/posts/{number}.md",
        f"/posts/{number}/content",
        f"/p/{number}",
        f"/freeFileByPostId?postId={number}",
        f"/filesMetaData?cid={person.post}",
        f"/a/{wallet.address}",
        f"/authors/{wallet.address}",
        f"/feeds/authors/{wallet.address}.atom",
        f"/ipfs/{person.avatar}",
        f"/ipfs/{person.thumbnail}",
    )
    responses = [await world.client.get(each, follow_redirects=True) for each in addresses]
    return {each: found.status_code for each, found in zip(addresses, responses, strict=True)}


async def rows(world: World, text: str) -> list[Any]:
    return await world.adapters.stores.database.fetch(tuple, text, {})


async def test_erasing_an_author_does_not_affect_others(world: World) -> None:
    shared = picture()
    alice, bob = await settle(world, 1, shared), await settle(world, 2, shared)
    common = alice.shared
    assert bob.shared == common
    assert set((await statuses(world, alice)).values()) == {200}
    erased = await erase(world, address_of(alice.wallet))
    assert (erased.files, erased.left) == (3, 0)
    assert set((await statuses(world, alice)).values()) == {410}
    response = await world.client.get(f"/posts/{alice.post_id}")
    assert response.json()["statement"] == ERASED
    assert await stored(world, alice.texts, Network.PRIVATE) == []
    assert await stored(world, [alice.thumbnail, alice.avatar], Network.PUBLIC) == []
    assert problem(await world.read_draft(alice.wallet, alice.draft)) == (404, "not_found")
    records = await world.adapters.stores.erasure.records_of(alice.wallet.address)
    assert records == PersonalRecords()
    # The other author keeps everything, including the picture that both used.
    assert await stored(world, [common, bob.thumbnail, bob.avatar], Network.PUBLIC) == [
        common,
        bob.thumbnail,
        bob.avatar,
    ]
    assert await stored(world, bob.texts, Network.PRIVATE) == bob.texts
    assert set((await statuses(world, bob)).values()) == {200}
    assert (await world.client.get(f"/ipfs/{common}")).status_code == 200
    assert await world.adapters.stores.garbage.recount_usage() == 0


async def test_a_reader_cannot_find_erased_words(world: World) -> None:
    alice = await settle(world, 1)
    assert await texts_of(world).read_pending() == 1
    assert len(await rows(world, "SELECT body FROM post_texts")) == 1
    assert len(await rows(world, "SELECT words FROM text_facts")) == 1
    await erase(world, address_of(alice.wallet))
    assert await rows(world, "SELECT body FROM post_texts") == []
    assert await rows(world, "SELECT words FROM text_facts") == []
    assert await rows(world, "SELECT body FROM post_search WHERE body <> ''") == []
    found = await world.client.get("/posts", params={"q": "canary"})
    assert found.json()["posts"] == []


async def test_a_second_erasure_changes_nothing(world: World) -> None:
    alice = await settle(world, 1)
    target = address_of(alice.wallet)
    await erase(world, target)
    log = await world.adapters.stores.moderation.decisions_after(0, 100)
    assert await erase(world, target) == Erased(0, 0, 0)
    assert await world.adapters.stores.moderation.decisions_after(0, 100) == log


class Killed(Exception):
    """Raised to end a run between two steps."""


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        (TargetKind.AUTHOR, "erase_file"),
        (TargetKind.AUTHOR, "erase_account"),
        (TargetKind.AUTHOR, "take_lease"),
        (TargetKind.CID, "erase_file"),
        (TargetKind.CID, "take_lease"),
    ],
)
async def test_the_next_run_completes_a_killed_erasure(
    world: World, kind: TargetKind, step: str
) -> None:
    alice = await settle(world, 1)
    target = address_of(alice.wallet) if kind is TargetKind.AUTHOR else cid_of(alice.draft)
    expected = alice.texts if kind is TargetKind.AUTHOR else alice.texts[:2]
    erasure = erasure_of(world)
    store: Any = KilledStore(erasure.store, step)
    leases: Any = KilledStore(erasure.leases, step)
    broken = replace(erasure, store=store, leases=leases)
    with pytest.raises(Killed):
        await broken.erase(target)
    world.clock.advance(1)
    if kind is TargetKind.AUTHOR:
        seen = await statuses(world, alice)
        assert set(seen.values()) == {410}
    assert await stored(world, expected, Network.PRIVATE) == expected
    await erase(world, target)
    assert await stored(world, expected, Network.PRIVATE) == []
    assert await world.adapters.stores.garbage.recount_usage() == 0


@dataclass
class KilledStore:
    """A store whose method `step` ends the run (`erase_file` only from its second call on)."""

    store: Any
    step: str
    passes: int = 0

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method: Callable[..., Awaitable[Any]] = getattr(self.store, name)
        if name != self.step:
            return method

        async def end(*values: Any) -> Any:
            self.passes += 1
            if name == "erase_file" and self.passes == 1:
                return await method(*values)
            raise Killed

        return end


async def test_a_post_is_erased_by_its_cid(world: World) -> None:
    alice = await settle(world, 1)
    await erase(world, cid_of(alice.post))
    seen = await statuses(world, alice)
    gone = {address for address, status in seen.items() if status == 410}
    assert {address for address, status in seen.items() if status == 200} == seen.keys() - gone
    assert gone == {
        f"/posts/{alice.post_id}",
        f"/posts/{alice.post_id}.md",
        f"/posts/{alice.post_id}/content",
        f"/p/{alice.post_id}",
        f"/freeFileByPostId?postId={alice.post_id}",
        f"/filesMetaData?cid={alice.post}",
        f"/ipfs/{alice.thumbnail}",
    }
    assert await stored(world, alice.texts, Network.PRIVATE) == alice.texts[:2]


async def test_an_earlier_version_can_be_erased_alone(world: World) -> None:
    alice = await settle(world, 1)
    await erase(world, cid_of(alice.replaced))
    assert await stored(world, alice.texts, Network.PRIVATE) == [alice.draft, alice.post]
    assert (await world.read_draft(alice.wallet, alice.draft)).status_code == 200


async def test_a_picture_is_erased_by_its_cid(world: World) -> None:
    shared = picture()
    alice, bob = await settle(world, 1, shared), await settle(world, 2, shared)
    common = alice.shared
    for cid in (common, alice.avatar, bob.thumbnail):
        await erase(world, cid_of(cid))
        assert (await world.client.get(f"/ipfs/{cid}")).status_code == 410
        assert await stored(world, [cid], Network.PUBLIC) == []
    file = await world.adapters.stores.files.file_by_cid(Cid(alice.draft))
    assert file is not None
    assert file.thumbnail_cid is None
    author = (await world.client.get(f"/authors/{alice.wallet.address}")).json()
    assert author["profile"]["name"] == "Author 1"
    assert author["profile"]["avatarCid"] is None
    assert await stored(world, alice.texts + bob.texts, Network.PRIVATE) == alice.texts + bob.texts
    assert await world.adapters.stores.garbage.recount_usage() == 0


async def test_the_chain_does_not_restore_an_erased_post(world: World) -> None:
    alice = await settle(world, 1)
    await erase(world, address_of(alice.wallet))
    await world.index()
    block = world.chain.head
    assert (await world.deliver_b(block)).json()["events"][0]["status"] == "unknown_file"
    assert set((await statuses(world, alice)).values()) == {410}
    assert await stored(world, alice.texts, Network.PRIVATE) == []


async def test_erasing_a_target_without_stored_data_is_refused(world: World) -> None:
    erasure = erasure_of(world)
    for target in (
        address_of(world.stranger()),
        cid_of("bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"),
    ):
        with pytest.raises(Refusal, match="is stored here"):
            await erasure.find(target)
    assert await world.adapters.stores.moderation.decisions_after(0, 1) == []


async def test_after_erasing_a_revision_the_previous_version_is_shown(world: World) -> None:
    author = world.wallet(1)
    post = post_id, cid = await published_post(world, author, "A first lantern.")
    texts = ("A second lantern.", "A third lantern.")
    second, third = [(await revise(world, author, post, text))["cid"] for text in texts]
    await texts_of(world).read_pending()
    assert (await erase(world, cid_of(third))).files == 1
    await texts_of(world).read_pending()
    shown = (await world.client.get(f"/posts/{post_id}/content")).json()
    assert (shown["content"], shown["revision"]) == (texts[0], 1)
    assert await stored(world, [cid, second, third], Network.PRIVATE) == [cid, second]
    assert await rows(world, "SELECT body FROM post_texts") == [(texts[0],)]
    assert await world.adapters.stores.garbage.recount_usage() == 0


async def test_the_number_of_an_erased_revision_is_not_reused(world: World, tmp_path: Path) -> None:
    author = world.wallet(1)
    post = await published_post(world, author)
    revisions = [await revise(world, author, post, text) for text in ("One.", "Two.", "Three.")]
    for revision in revisions[1:]:
        await erase(world, cid_of(revision["cid"]))
    await save(world, tmp_path / "saved")
    assert (await revise(world, author, post, "Four."))["number"] == 4
    await restore(tmp_path / "saved", tmp_path / "restored")
    shutil.copy(world.settings.storage.data_dir / "chain.jsonl", tmp_path / "restored")
    async with open_restored(tmp_path / "restored", world) as restored:
        await restored.index()
        assert (await revise(restored, author, post, "Again."))["number"] == 4


@pytest.mark.parametrize("kind", [TargetKind.AUTHOR, TargetKind.CID])
async def test_revisions_are_erased_with_their_post(world: World, kind: TargetKind) -> None:
    author, other = world.wallet(1), world.wallet(2)
    post = post_id, cid = await published_post(world, author)
    kept_post = await published_post(world, other)
    kept = (await revise(world, other, kept_post, "Kept."))["cid"]
    cids = [cid] + [(await revise(world, author, post, text))["cid"] for text in ("One.", "Two.")]
    target = address_of(author) if kind is TargetKind.AUTHOR else cid_of(cid)
    assert (await erase(world, target)).files == 3
    assert await stored(world, cids, Network.PRIVATE) == []
    assert await rows(world, "SELECT cid FROM revisions") == [(kept,)]
    assert problem(await world.client.get(f"/posts/{post_id}/revisions")) == (410, "removed")
    assert (await world.client.get(f"/posts/{kept_post[0]}/content")).json()["content"] == "Kept."
    assert await world.adapters.stores.garbage.recount_usage() == 0
