"""Files are imported from the earlier service's Pinata account with unchanged bytes and cids."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web
from tests.adapters.content.pinata_fake import JWT, PinataFake
from tests.services.installation.test_backup import open_restored
from tests.services.installations import (
    files_of,
    ignore,
    import_car,
    restore,
    save,
    write_export,
)
from tests.world import DEFAULT_PRICE, Wallet, World, open_world

from imprint.adapters.content.http_retry import RetryPolicy
from imprint.adapters.content.pinata import Account, PinataEarlierFiles
from imprint.domain.drafts.files import State
from imprint.domain.errors import CannotStart, Unavailable
from imprint.domain.exports import number_of
from imprint.domain.formats.cids import LAYOUTS, Layout
from imprint.services.installation.earlier_files import EarlierImport, EarlierReport, Outcome


@pytest.fixture
async def pinata() -> AsyncIterator[PinataFake]:
    fake = PinataFake()
    await fake.start()
    yield fake
    await fake.stop()


@asynccontextmanager
async def importing(world: World, pinata: PinataFake) -> AsyncIterator[EarlierImport]:
    base = pinata.origin
    account = Account(JWT, base, f"{base}/api/v3", f"{base}/uploads/v3")
    source = PinataEarlierFiles(account, world.clock.now, RetryPolicy(attempts=1))
    stores, adapters = world.adapters.stores, world.adapters
    try:
        yield EarlierImport(
            source,
            stores.archives,
            stores.files,
            stores.leases,
            stores.garbage,
            adapters.content,
            world.clock.now,
        )
    finally:
        await source.close()


async def run(world: World, pinata: PinataFake) -> EarlierReport:
    async with importing(world, pinata) as service:
        return await service.run(ignore)


def text_of(title: str) -> str:
    return json.dumps({"title": title, "content": {"blocks": []}})


def keep(pinata: PinataFake, owner: Wallet, content: str, *tags: str, status: str = "") -> str:
    """Store a text as the earlier service did, and return its cid."""
    document = json.dumps({"content": content, "lang": "ts"}, separators=(",", ":")).encode()
    named = {"owner": owner.address, "status": status or "pending"} | {tag: tag for tag in tags}
    return str(pinata.add_file("private", document, "a_1", named)["cid"])


async def publish(world: World, author: Wallet, cid: str) -> None:
    post = (cid, "A title", cid, "", DEFAULT_PRICE, [])
    await world.deliver_a(world.create_post_with(author, post))


async def test_an_imported_file_keeps_its_cid_and_its_text_can_be_read(
    world: World, pinata
) -> None:
    alice = world.wallet(1)
    await world.create(alice, "Written here.")
    cid = keep(pinata, alice, text_of("first"), "Two Words", "ink")
    report = await run(world, pinata)
    assert report.counts[Outcome.DRAFT] == 1
    assert report.left_out == []
    response = (await world.read_draft(alice, cid)).json()
    assert response["content"] == text_of("first")
    (before, file) = [each.file for each in await files_of(world)]
    assert (file.cid, file.owner) == (cid, alice.address)
    assert number_of(file) == number_of(before) + 1
    assert file.hashtags == ("two-words", "ink")
    assert await world.adapters.stores.garbage.recount_usage() == 0
    updated = await world.update(alice, cid, "Corrected.")
    assert (await world.read_draft(alice, updated["cid"])).json()["content"] == "Corrected."


async def test_the_chain_alone_decides_which_files_are_posts(world: World, pinata) -> None:
    alice, bob = world.wallet(1), world.wallet(2)
    post = keep(pinata, alice, text_of("published"))
    claimed = keep(pinata, alice, text_of("claimed"), status="onchain")
    taken = keep(pinata, alice, text_of("taken"), status="onchain")
    await publish(world, alice, post)
    await publish(world, bob, taken)
    report = await run(world, pinata)
    assert (report.counts[Outcome.POST], report.counts[Outcome.DRAFT]) == (1, 2)
    states = {each.file.cid: each.file.state for each in await files_of(world)}
    assert states == {post: State.ONCHAIN, claimed: State.PENDING, taken: State.PENDING}
    response = await world.read_post(alice, 1)
    assert response.json()["content"] == text_of("published")


async def test_a_draft_becomes_a_post_when_its_event_arrives_later(world: World, pinata) -> None:
    alice = world.wallet(1)
    cid = keep(pinata, alice, text_of("later"))
    await run(world, pinata)
    await publish(world, alice, cid)
    assert [each.file.state for each in await files_of(world)] == [State.ONCHAIN]


async def test_files_already_in_the_catalog_in_any_state_are_skipped_and_listed(
    world: World, pinata
) -> None:
    alice, bob = world.wallet(1), world.wallet(2)
    first, second = (keep(pinata, alice, text_of(title)) for title in ("first", "second"))
    # The earlier service stored identical texts by two authors under one cid.
    keep(pinata, bob, text_of("first"))
    await run(world, pinata)
    await world.send_delete(alice, second)
    before = await files_of(world)
    report = await run(world, pinata)
    assert report.counts == {
        Outcome.DRAFT: 0,
        Outcome.POST: 0,
        Outcome.KNOWN: 3,
        Outcome.SKIPPED: 0,
    }
    assert {cid for cid, _ in report.left_out} == {first, second}
    assert await files_of(world) == before


async def test_an_interrupted_import_continues_where_it_stopped(world: World, pinata) -> None:
    alice = world.wallet(1)
    for number in range(250):
        keep(pinata, alice, text_of(f"text {number}"))
    fetched = 0

    async def fail(fake: PinataFake, request: web.Request) -> web.StreamResponse:
        nonlocal fetched
        fetched += 1
        if fetched > 3:
            return web.Response(status=500)
        return await fake.handlers["gateway"](request)

    pinata.faults["gateway"] = fail
    with pytest.raises(Unavailable):
        await run(world, pinata)
    assert len(await files_of(world)) == 3
    del pinata.faults["gateway"]
    report = await run(world, pinata)
    assert (report.counts[Outcome.DRAFT], report.counts[Outcome.KNOWN]) == (247, 3)
    assert len({each.file.name for each in await files_of(world)}) == 250


async def test_files_without_a_valid_owner_or_text_are_listed_with_the_reason(
    world: World, pinata
) -> None:
    alice = world.wallet(1)
    owned = {"owner": alice.address}
    add = pinata.add_file
    no_owner = add("private", b'{"content":"a","lang":"ts"}', "a", {})["cid"]
    bad_owner = add("private", b'{"content":"b","lang":"ts"}', "a", {"owner": "alice"})["cid"]
    not_json = add("private", b"\x89PNG\r\n\x1a\n", "a", owned)["cid"]
    not_text = add("private", b'{"content":{"a":1},"lang":"ts"}', "a", owned)["cid"]
    with_nul = add("private", b'{"content":"\\u0000","lang":"ts"}', "a", owned)["cid"]
    damaged = add("private", b'{"content":"c","lang":"ts"}', "a", owned)["cid"]
    pinata.contents["private", damaged] = b'{"content":"d","lang":"ts"}'
    missing = add("private", b'{"content":"e","lang":"ts"}', "a", owned)["cid"]
    del pinata.contents["private", missing]
    report = await run(world, pinata)
    assert {cid for cid, _ in report.left_out} == {
        no_owner, bad_owner, not_json, not_text, with_nul, damaged, missing,
    }  # fmt: skip
    assert all(reason for _, reason in report.left_out)
    assert report.counts[Outcome.SKIPPED] == 7
    assert await files_of(world) == []


async def test_a_publicly_readable_store_is_refused_before_anything_is_read(
    world: World, pinata
) -> None:
    keep(pinata, world.wallet(1), text_of("private"))
    async with importing(world, pinata) as service:
        with pytest.raises(CannotStart, match="anybody could read"):
            await replace(service, publicly_readable=True).run(ignore)
    assert pinata.called == []


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [100, 300_000, 1_200_000])
async def test_a_text_in_any_layout_keeps_its_cid_in_reads_exports_and_backups(
    world: World, pinata, tmp_path, layout: Layout, size: int
) -> None:
    alice = world.wallet(1)
    pinata.layout = layout
    content = text_of("x" * size)
    cid = keep(pinata, alice, content)
    report = await run(world, pinata)
    assert report.left_out == []
    assert (await world.read_draft(alice, cid)).json()["content"] == content
    car, _ = await write_export(world)
    await save(world, tmp_path / "saved.tar")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    async with open_world(folder) as elsewhere:
        assert await import_car(elsewhere, tmp_path, car) == {"added": 1}
        assert (await elsewhere.read_draft(alice, cid)).json()["content"] == content
    await restore(tmp_path / "saved.tar", tmp_path / "restored")
    async with open_restored(tmp_path / "restored", world) as restored:
        assert (await restored.read_draft(alice, cid)).json()["content"] == content


async def test_an_imported_file_can_be_exported_and_imported_elsewhere(
    world: World, pinata, tmp_path
) -> None:
    alice = world.wallet(1)
    cid = keep(pinata, alice, text_of("moving on"))
    await run(world, pinata)
    car, _ = await write_export(world)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    async with open_world(folder) as elsewhere:
        assert await import_car(elsewhere, tmp_path, car) == {"added": 1}
        assert (await elsewhere.read_draft(alice, cid)).json()["content"] == text_of("moving on")
