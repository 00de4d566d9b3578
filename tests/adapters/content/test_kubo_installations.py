"""Installations that share a Kubo node: every interleaving of storing and removing."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count

import pytest
from aiohttp import web
from tests.adapters.content.kubo_fake import PARAMETERS, KuboFake, error_response
from tests.adapters.content.workbenches import (
    FIRST,
    OLDEST,
    SECOND,
    KuboFakeWorkbench,
    mark,
)

from imprint.adapters.content.kubo import KuboStore, write_marker, write_pin_node
from imprint.domain.drafts.files import Label, Network, State
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import document_cid
from imprint.domain.installation import UNNAMED

PRIVATE, PUBLIC = Network.PRIVATE, Network.PUBLIC
SMALL = b"a picture"
LARGE = b"first piece".ljust(262_144) + b"second piece"
DOCUMENTS = pytest.mark.parametrize("document", [SMALL, LARGE], ids=["small", "large"])
OWNER = Address("0x" + "ab" * 20)
LABEL = Label(f"{OWNER}_7", OWNER, "group-1", State.PENDING)


async def open_two(kubo: KuboFakeWorkbench) -> tuple[KuboStore, KuboStore]:
    first, second = kubo.open(FIRST), kubo.open(SECOND)
    await mark(first, FIRST)
    await mark(second, SECOND)
    return first, second


def break_in(fake: KuboFake, call: int, action: Callable[[], Awaitable[None]]) -> list[bool]:
    """Run `action` before the command with the given number.

    The returned list is non-empty once the action has run.
    """
    done: list[bool] = []
    numbers = count()

    async def fault(fake: KuboFake, request: web.Request) -> web.StreamResponse:
        if next(numbers) == call:
            fake.faults.clear()
            done.append(True)
            await action()
        return await fake.respond(request)

    fake.faults |= dict.fromkeys(PARAMETERS, fault)
    return done


def collect_garbage(fake: KuboFake) -> None:
    """Delete unpinned blocks, as a node may do at any time."""
    kept = {
        cid
        for root, (mode, _) in fake.pins.items()
        for cid in (fake.below(root) if mode == "recursive" else [root])
    }
    for cid in fake.blocks.keys() - kept:
        del fake.blocks[cid]


@DOCUMENTS
async def test_a_document_can_be_stored_at_any_step_of_another_installations_removal(
    kubo: KuboFakeWorkbench, document: bytes
) -> None:
    first, second = await open_two(kubo)
    cid = document_cid(document)
    for call in count():
        await first.put(cid, document, PUBLIC)
        done = break_in(kubo.fake, call, lambda: second.put(cid, document, PUBLIC))
        await first.remove(cid, PUBLIC)
        kubo.fake.faults.clear()
        if not done:
            break
        collect_garbage(kubo.fake)
        assert await second.read(cid, PUBLIC) == document, call
        assert await first.read(cid, PUBLIC) is None, call
        await second.remove(cid, PUBLIC)
    assert call > 8
    await first.close()
    await second.close()


@DOCUMENTS
async def test_a_removal_by_another_installation_at_any_step_of_a_put_loses_nothing(
    kubo: KuboFakeWorkbench, document: bytes
) -> None:
    first, second = await open_two(kubo)
    cid = document_cid(document)
    for call in count():
        await first.put(cid, document, PUBLIC)
        done = break_in(kubo.fake, call, lambda: first.remove(cid, PUBLIC))
        await second.put(cid, document, PUBLIC)
        kubo.fake.faults.clear()
        if not done:
            break
        collect_garbage(kubo.fake)
        assert await second.read(cid, PUBLIC) == document, call
        await second.remove(cid, PUBLIC)
    assert call > 4
    await first.close()
    await second.close()


@DOCUMENTS
async def test_a_removal_interrupted_at_any_step_keeps_other_installations_documents(
    kubo: KuboFakeWorkbench, document: bytes
) -> None:
    first, second = await open_two(kubo)
    cid = document_cid(document)

    async def fail(fake: KuboFake, request: web.Request) -> web.StreamResponse:
        return error_response("no more")

    async def store_and_fail() -> None:
        await second.put(cid, document, PUBLIC)
        kubo.fake.faults |= dict.fromkeys(PARAMETERS, fail)

    for call in count():
        await first.put(cid, document, PUBLIC)
        done = break_in(kubo.fake, call, store_and_fail)
        with suppress(Unavailable):
            await first.remove(cid, PUBLIC)
        kubo.fake.faults.clear()
        if not done:
            break
        await first.remove(cid, PUBLIC)
        collect_garbage(kubo.fake)
        assert await second.read(cid, PUBLIC) == document, call
        await second.remove(cid, PUBLIC)
    assert call > 8
    await first.close()
    await second.close()


async def test_nothing_is_left_after_both_installations_remove_a_document(
    kubo: KuboFakeWorkbench,
) -> None:
    first, second = await open_two(kubo)
    for document in (SMALL, LARGE):
        cid = document_cid(document)
        for store in (first, second):
            await store.put(cid, document, PUBLIC)
        for store in (first, second):
            await store.remove(cid, PUBLIC)
    markers = {write_marker(each.id)[0] for each in (FIRST, SECOND)}
    assert kubo.fake.pins.keys() == kubo.fake.blocks.keys() == markers
    await first.close()
    await second.close()


async def test_a_pin_name_contains_the_label_the_installation_and_the_fence(
    kubo: KuboFakeWorkbench,
) -> None:
    first, second = await open_two(kubo)
    cid = document_cid(SMALL)
    await first.put(cid, SMALL, PRIVATE, LABEL, fence=7)
    pin_cid, _ = write_pin_node(cid, PRIVATE, FIRST.id)
    label = f"{OWNER}_7 group-1 installation={FIRST.id} fence=7"
    assert kubo.fake.pins[pin_cid] == ("direct", f"imprint private pending {label}")
    await first.relabel(cid, PRIVATE, Label(LABEL.name, OWNER, "group-1", State.ONCHAIN))
    assert kubo.fake.pins[pin_cid] == ("direct", f"imprint private onchain {label}")
    await second.relabel(cid, PRIVATE, LABEL)
    assert kubo.fake.pins[pin_cid] == ("direct", f"imprint private onchain {label}")
    await first.close()
    await second.close()


async def test_relabelling_adds_the_installation_id_to_a_document_without_one(
    kubo: KuboFakeWorkbench,
) -> None:
    before, oldest = kubo.open(UNNAMED), kubo.open(OLDEST)
    await mark(oldest, OLDEST)
    cid = document_cid(SMALL)
    await before.put(cid, SMALL, PRIVATE)
    await oldest.relabel(cid, PRIVATE, LABEL)
    assert write_pin_node(cid, PRIVATE, OLDEST.id)[0] in kubo.fake.pins
    await oldest.remove(cid, PRIVATE)
    assert list(kubo.fake.pins) == [write_marker(OLDEST.id)[0]]
    await before.close()
    await oldest.close()


async def test_a_pin_with_an_invalid_marker_name_is_ignored(kubo: KuboFakeWorkbench) -> None:
    first, second = await open_two(kubo)
    root = kubo.fake.keep(b"\x0a\x02\x08\x01")
    kubo.fake.pins[root] = ("recursive", "imprint installation ../../what")
    await first.put(document_cid(SMALL), SMALL, PUBLIC)
    await first.remove(document_cid(SMALL), PUBLIC)
    assert document_cid(SMALL) not in kubo.fake.blocks
    await first.close()
    await second.close()


async def test_damaged_blocks_shared_by_two_installations_are_not_unpinned(
    kubo: KuboFakeWorkbench,
) -> None:
    first, second = await open_two(kubo)
    cid = document_cid(LARGE)
    for store in (first, second):
        await store.put(cid, LARGE, PUBLIC)
    pins = dict(kubo.fake.pins)
    kubo.tamper(cid, PUBLIC, b"x" + LARGE[1:])
    with pytest.raises(Unavailable):
        await first.put(cid, LARGE, PUBLIC)
    assert kubo.fake.pins == pins
    await first.close()
    await second.close()


async def test_a_damaged_block_shared_by_two_installations_is_repaired_for_both(
    kubo: KuboFakeWorkbench,
) -> None:
    first, second = await open_two(kubo)
    cid = document_cid(SMALL)
    for store in (first, second):
        await store.put(cid, SMALL, PUBLIC, fence=3)
    kubo.tamper(cid, PUBLIC, b"garbage")
    await first.put(cid, SMALL, PUBLIC)
    for store in (first, second):
        assert await store.read(cid, PUBLIC) == SMALL
        await store.remove(cid, PUBLIC, fence=3)
        assert await store.read(cid, PUBLIC) == SMALL
    await first.close()
    await second.close()
