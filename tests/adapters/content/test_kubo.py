"""What is particular to documents on a Kubo node, and to nodes that misbehave."""

import logging
import time
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web
from tests.adapters.content import kubo_fake
from tests.adapters.content.kubo_fake import KuboFake, always, break_off, complain, lines, times

from imprint.adapters.content.http_retry import PACE, Pace
from imprint.adapters.content.kubo import KuboStore, write_mark
from imprint.domain.addresses import Address
from imprint.domain.car import write_car
from imprint.domain.cids import blocks, document_cid, read_links
from imprint.domain.errors import Code, Unavailable
from imprint.domain.files import Label, Network, State

PRIVATE, PUBLIC = Network.PRIVATE, Network.PUBLIC
DOCUMENT = b'{"content":"Hi","name":"n","salt":"00"}'
CID = document_cid(DOCUMENT)
LARGE = b"first piece".ljust(262_144) + b"second piece"
OWNER = Address("0x" + "ab" * 20)
LABEL = Label(f"{OWNER}_7", OWNER, "group-1", State.PENDING)

Kubo = Any  # the workbench of benches.py


def status(code: int) -> kubo_fake.Fault:
    return always(lambda: web.Response(status=code, text="no"))


async def test_everything_that_decides_a_cid_is_said_aloud(kubo: Kubo) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE)
    (form,) = kubo.fake.forms
    assert form | {"cid-version": "1", "raw-leaves": "true", "chunker": "size-262144"} == form
    assert form | {"max-file-links": "174", "hash": "sha2-256", "trickle": "false"} == form


async def test_only_public_documents_are_announced(kubo: Kubo) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE)
    await kubo.store.put(CID, DOCUMENT, PUBLIC)
    private, public = kubo.fake.forms
    assert (private["fast-provide-root"], private["offline"]) == ("false", "true")
    assert public["fast-provide-root"] == "true"
    assert "offline" not in public


async def test_a_node_that_finds_another_cid_is_not_believed(kubo: Kubo) -> None:
    other = document_cid(b"other")
    kubo.fake.faults["add"] = always(lambda: lines({"Name": "d", "Hash": other, "Size": "5"}))
    with pytest.raises(Unavailable):
        await kubo.store.put(CID, DOCUMENT, PRIVATE)
    assert kubo.fake.pins == {}


async def test_a_document_is_not_pinned_before_the_node_gives_it_back(kubo: Kubo) -> None:
    kubo.fake.faults["cat"] = always(lambda: complain("disk on fire"))
    with pytest.raises(Unavailable):
        await kubo.store.put(CID, DOCUMENT, PRIVATE)
    assert kubo.fake.pins == {}


async def test_a_pin_that_the_node_does_not_confirm_is_none(kubo: Kubo) -> None:
    kubo.fake.faults["pin/add"] = always(lambda: web.json_response({"Pins": []}))
    with pytest.raises(Unavailable):
        await kubo.store.put(CID, DOCUMENT, PRIVATE)


async def test_a_piece_that_vanishes_before_it_is_pinned_is_stored_again(kubo: Kubo) -> None:
    cid = document_cid(LARGE)
    leaf = list(blocks(LARGE))[1][0]

    async def collect_garbage(fake: KuboFake, request: web.Request) -> web.StreamResponse:
        fake.blocks.pop(leaf)
        return await fake.answer(request)

    kubo.fake.faults["pin/add"] = times(1, collect_garbage)
    await kubo.store.put(cid, LARGE, PRIVATE)
    assert await kubo.store.read(cid, PRIVATE) == LARGE


async def test_a_store_gives_up_on_a_node_that_keeps_losing_blocks(kubo: Kubo) -> None:
    kubo.fake.faults["pin/add"] = always(lambda: complain("pin: ipld: could not find x"))
    with pytest.raises(Unavailable):
        await kubo.store.put(CID, DOCUMENT, PRIVATE)
    assert kubo.fake.asked.count("add") == 3


@pytest.mark.parametrize("trailer", [True, False])
@pytest.mark.parametrize("length", [True, False])
async def test_a_stream_that_breaks_off_is_no_document_and_no_tampering(
    kubo: Kubo, caplog: pytest.LogCaptureFixture, trailer: bool, length: bool
) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE)
    kubo.fake.faults["cat"] = break_off(7, trailer, length)
    with pytest.raises(Unavailable) as refused:
        await kubo.store.read(CID, PRIVATE)
    assert refused.value.code is Code.STORAGE_UNAVAILABLE
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize("command", ["pin/ls", "cat"])
@pytest.mark.parametrize(
    "fault",
    [
        kubo_fake.reset,
        status(400),
        status(401),
        status(403),
        status(404),
        status(405),
        status(500),
        status(502),
        always(lambda: complain("something broke")),
        always(lambda: web.Response(status=500, text='{"Message": 7}')),
        always(lambda: web.Response(text="<html>")),
        always(lambda: web.Response(text="[" * 10_000)),
        always(lambda: web.Response(status=301, headers={"Location": "http://127.0.0.1:1/"})),
    ],
)
async def test_whatever_a_node_answers_is_a_document_or_unavailable(
    kubo: Kubo, command: str, fault: kubo_fake.Fault
) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE)
    kubo.fake.faults[command] = fault
    with pytest.raises(Unavailable) as refused:
        await kubo.store.read(CID, PRIVATE)
    assert refused.value.code is Code.STORAGE_UNAVAILABLE


@pytest.mark.parametrize("command", ["add", "cat", "block/put", "pin/add"])
@pytest.mark.parametrize("fault", [kubo_fake.reset, status(500), status(503)])
async def test_nothing_is_visible_of_a_document_whose_storing_failed(
    kubo: Kubo, command: str, fault: kubo_fake.Fault
) -> None:
    kubo.fake.faults[command] = fault
    with pytest.raises(Unavailable):
        await kubo.store.put(CID, DOCUMENT, PRIVATE)
    kubo.fake.faults.clear()
    assert await kubo.store.read(CID, PRIVATE) is None


@pytest.mark.parametrize("fault", [kubo_fake.reset, status(502), status(503), status(504)])
@pytest.mark.parametrize("command", ["add", "cat", "pin/add", "pin/ls", "block/put"])
async def test_a_passing_fault_is_not_noticed(
    kubo: Kubo, command: str, fault: kubo_fake.Fault
) -> None:
    kubo.fake.faults[command] = times(2, fault)
    await kubo.store.put(CID, DOCUMENT, PRIVATE)
    assert await kubo.store.read(CID, PRIVATE) == DOCUMENT


async def test_a_silent_node_is_not_waited_for_longer_than_was_said(kubo: Kubo) -> None:
    kubo.fake.faults["pin/ls"] = kubo_fake.stay_silent
    store = KuboStore(kubo.fake.address, pace=Pace(patience=0.2))
    began = time.monotonic()
    with pytest.raises(Unavailable):
        await store.read(CID, PRIVATE)
    assert 0.2 <= time.monotonic() - began < 2
    await store.close()


def test_a_reader_waits_less_than_five_seconds() -> None:
    assert PACE.patience < 5


async def test_missing_blocks_raise_an_alarm(kubo: Kubo, caplog: pytest.LogCaptureFixture) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE)
    del kubo.fake.blocks[CID]
    with pytest.raises(Unavailable):
        await kubo.store.read(CID, PRIVATE)
    assert caplog.records[0].levelno == logging.CRITICAL


async def test_a_document_that_is_destroyed_while_it_is_read_is_none(kubo: Kubo) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE)

    async def destroy(fake: KuboFake, request: web.Request) -> web.StreamResponse:
        fake.pins.clear()
        fake.blocks.clear()
        return await fake.answer(request)

    kubo.fake.faults["cat"] = destroy
    assert await kubo.store.read(CID, PRIVATE) is None


@pytest.mark.parametrize("document", [DOCUMENT, LARGE], ids=["small", "large"])
async def test_removing_deletes_every_block(kubo: Kubo, document: bytes) -> None:
    cid = document_cid(document)
    await kubo.store.put(cid, document, PRIVATE)
    await kubo.store.remove(cid, PRIVATE)
    assert (kubo.fake.blocks, kubo.fake.pins) == ({}, {})


@pytest.mark.parametrize("document", [DOCUMENT, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("command", ["pin/rm", "block/rm", "block/stat", "pin/ls"])
async def test_a_removal_that_fails_is_finished_by_the_next_one(
    kubo: Kubo, command: str, document: bytes
) -> None:
    cid = document_cid(document)
    await kubo.store.put(cid, document, PRIVATE)
    for healthy in range(4):
        kubo.fake.faults[command] = after(healthy, status(500))
        with suppress(Unavailable):
            await kubo.store.remove(cid, PRIVATE)
    kubo.fake.faults.clear()
    await kubo.store.remove(cid, PRIVATE)
    assert (kubo.fake.blocks, kubo.fake.pins) == ({}, {})


def after(count: int, fault: kubo_fake.Fault) -> kubo_fake.Fault:
    left = [count]

    async def later(fake: KuboFake, request: web.Request) -> web.StreamResponse:
        left[0] -= 1
        return await (fake.answer(request) if left[0] >= 0 else fault(fake, request))

    return later


async def test_removing_a_public_document_keeps_the_blocks_of_the_private_one(kubo: Kubo) -> None:
    for network in Network:
        await kubo.store.put(document_cid(LARGE), LARGE, network)
    await kubo.store.remove(document_cid(LARGE), PUBLIC)
    assert await kubo.store.read(document_cid(LARGE), PRIVATE) == LARGE


async def test_repairing_a_document_keeps_it_in_both_networks(kubo: Kubo) -> None:
    for network in Network:
        await kubo.store.put(CID, DOCUMENT, network)
    kubo.tamper(CID, PRIVATE, b"garbage")
    await kubo.store.put(CID, DOCUMENT, PUBLIC)
    assert await kubo.store.read(CID, PRIVATE) == DOCUMENT
    assert await kubo.store.read(CID, PUBLIC) == DOCUMENT


async def test_a_label_is_the_name_of_the_pin(kubo: Kubo) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE, LABEL)
    mark, _ = write_mark(CID, PRIVATE)
    assert kubo.fake.pins[mark] == ("direct", f"imprint private pending {OWNER}_7 group-1")
    await kubo.store.relabel(CID, PRIVATE, Label(LABEL.name, OWNER, "g", State.ONCHAIN))
    assert kubo.fake.pins[mark] == ("direct", f"imprint private onchain {OWNER}_7 g")


async def test_a_label_for_a_document_that_is_not_there_is_no_error(kubo: Kubo) -> None:
    await kubo.store.relabel(CID, PRIVATE, LABEL)
    assert kubo.fake.pins == {}


async def test_an_export_has_every_block(kubo: Kubo) -> None:
    cid = document_cid(LARGE)
    await kubo.store.put(cid, LARGE, PUBLIC)
    car = await kubo.store.export_car(cid, PUBLIC)
    assert car == b"".join(write_car(cid, blocks(LARGE)))
    assert await kubo.store.export_car(cid, PRIVATE) is None


async def test_an_export_that_is_not_whole_is_unavailable(kubo: Kubo) -> None:
    cid = document_cid(LARGE)
    await kubo.store.put(cid, LARGE, PUBLIC)
    car = await kubo.store.export_car(cid, PUBLIC)
    last = len(car) - len(b"second piece") - 36 - 1
    for broken in (car[:last], car[:-1], car[:10], b"", car[:-1] + b"x", car + b"\x01"):
        kubo.fake.faults["dag/export"] = always(lambda broken=broken: web.Response(body=broken))
        with pytest.raises(Unavailable):
            await kubo.store.export_car(cid, PUBLIC)


async def test_the_node_is_told_who_asks() -> None:
    fake = KuboFake(authorization="Bearer something-long")
    await fake.start()
    allowed, stranger = KuboStore(fake.address, "Bearer something-long"), KuboStore(fake.address)
    await allowed.put(CID, DOCUMENT, PRIVATE)
    await allowed.probe()
    with pytest.raises(Unavailable):
        await stranger.probe()
    for store in (allowed, stranger):
        await store.close()
    await fake.stop()


async def test_neither_addresses_nor_secrets_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    store = KuboStore("http://127.0.0.1:1", "Bearer something-long", Pace(pause=0.001))
    with pytest.raises(Unavailable):
        await store.probe()
    await store.close()
    (record,) = caplog.records
    assert "127.0.0.1" not in record.getMessage()
    assert "something-long" not in record.getMessage()


def test_a_mark_differs_by_document_and_network() -> None:
    marks = {
        write_mark(cid, network)[0] for cid in (CID, document_cid(b"x")) for network in Network
    }
    assert len(marks) == 4


def test_a_mark_links_to_its_document() -> None:
    assert read_links(write_mark(CID, PRIVATE)[1]) == [CID]
