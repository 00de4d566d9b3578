"""The Kubo store: pins, labels, exports, and misbehaving nodes."""

import logging
import time
from contextlib import suppress

import pytest
from aiohttp import web
from tests.adapters.content import kubo_fake
from tests.adapters.content.kubo_fake import (
    KuboFake,
    always,
    error_response,
    interrupt,
    lines,
    times,
)
from tests.adapters.content.workbenches import KuboFakeWorkbench

from imprint.adapters.content.http_retry import DEFAULT_POLICY, RetryPolicy
from imprint.adapters.content.kubo import KuboStore, write_pin_node
from imprint.domain.drafts.files import Label, Network, State
from imprint.domain.errors import Code, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.car import write_car
from imprint.domain.formats.cids import blocks, document_cid, read_links

PRIVATE, PUBLIC = Network.PRIVATE, Network.PUBLIC
DOCUMENT = b'{"content":"Hi","name":"n","salt":"00"}'
CID = document_cid(DOCUMENT)
LARGE = b"first piece".ljust(262_144) + b"second piece"
OWNER = Address("0x" + "ab" * 20)
LABEL = Label(f"{OWNER}_7", OWNER, "group-1", State.PENDING)


def status(code: int) -> kubo_fake.Fault:
    return always(lambda: web.Response(status=code, text="no"))


async def test_an_add_command_sets_every_option_that_affects_the_cid(
    kubo: KuboFakeWorkbench,
) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE)
    (form,) = kubo.fake.forms
    assert form | {"cid-version": "1", "raw-leaves": "true", "chunker": "size-262144"} == form
    assert form | {"max-file-links": "174", "hash": "sha2-256", "trickle": "false"} == form


async def test_only_public_documents_are_announced(kubo: KuboFakeWorkbench) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE)
    await kubo.store.put(CID, DOCUMENT, PUBLIC)
    private, public = kubo.fake.forms
    assert (private["fast-provide-root"], private["offline"]) == ("false", "true")
    assert public["fast-provide-root"] == "true"
    assert "offline" not in public


async def test_a_node_that_computes_a_different_cid_is_unavailable(kubo: KuboFakeWorkbench) -> None:
    other = document_cid(b"other")
    kubo.fake.faults["add"] = always(lambda: lines({"Name": "d", "Hash": other, "Size": "5"}))
    with pytest.raises(Unavailable):
        await kubo.store.put(CID, DOCUMENT, PRIVATE)
    assert kubo.fake.pins == {}


async def test_a_document_that_cannot_be_read_back_is_not_pinned(kubo: KuboFakeWorkbench) -> None:
    kubo.fake.faults["cat"] = always(lambda: error_response("disk on fire"))
    with pytest.raises(Unavailable):
        await kubo.store.put(CID, DOCUMENT, PRIVATE)
    assert kubo.fake.pins == {}


async def test_a_put_raises_unavailable_if_the_node_does_not_confirm_the_pin(
    kubo: KuboFakeWorkbench,
) -> None:
    kubo.fake.faults["pin/add"] = always(lambda: web.json_response({"Pins": []}))
    with pytest.raises(Unavailable):
        await kubo.store.put(CID, DOCUMENT, PRIVATE)


async def test_a_block_that_vanishes_before_it_is_pinned_is_stored_again(
    kubo: KuboFakeWorkbench,
) -> None:
    cid = document_cid(LARGE)
    leaf = list(blocks(LARGE))[1][0]

    async def collect_garbage(fake: KuboFake, request: web.Request) -> web.StreamResponse:
        fake.blocks.pop(leaf)
        return await fake.respond(request)

    kubo.fake.faults["pin/add"] = times(1, collect_garbage)
    await kubo.store.put(cid, LARGE, PRIVATE)
    assert await kubo.store.read(cid, PRIVATE) == LARGE


async def test_a_store_gives_up_on_a_node_that_keeps_losing_blocks(kubo: KuboFakeWorkbench) -> None:
    kubo.fake.faults["pin/add"] = always(lambda: error_response("pin: ipld: could not find x"))
    with pytest.raises(Unavailable):
        await kubo.store.put(CID, DOCUMENT, PRIVATE)
    assert kubo.fake.called.count("add") == 3


@pytest.mark.parametrize("trailer", [True, False])
@pytest.mark.parametrize("length", [True, False])
async def test_an_interrupted_stream_is_not_treated_as_tampering(
    kubo: KuboFakeWorkbench, caplog: pytest.LogCaptureFixture, trailer: bool, length: bool
) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE)
    kubo.fake.faults["cat"] = interrupt(7, trailer, length)
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
        always(lambda: error_response("something broke")),
        always(lambda: web.Response(status=500, text='{"Message": 7}')),
        always(lambda: web.Response(text="<html>")),
        always(lambda: web.Response(text="[" * 10_000)),
        always(lambda: web.Response(status=301, headers={"Location": "http://127.0.0.1:1/"})),
    ],
)
async def test_a_faulty_response_to_a_read_raises_unavailable(
    kubo: KuboFakeWorkbench, command: str, fault: kubo_fake.Fault
) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE)
    kubo.fake.faults[command] = fault
    with pytest.raises(Unavailable) as refused:
        await kubo.store.read(CID, PRIVATE)
    assert refused.value.code is Code.STORAGE_UNAVAILABLE


@pytest.mark.parametrize("command", ["add", "cat", "block/put", "pin/add"])
@pytest.mark.parametrize("fault", [kubo_fake.reset, status(500), status(503)])
async def test_a_document_whose_put_failed_is_not_visible(
    kubo: KuboFakeWorkbench, command: str, fault: kubo_fake.Fault
) -> None:
    kubo.fake.faults[command] = fault
    with pytest.raises(Unavailable):
        await kubo.store.put(CID, DOCUMENT, PRIVATE)
    kubo.fake.faults.clear()
    assert await kubo.store.read(CID, PRIVATE) is None


@pytest.mark.parametrize("fault", [kubo_fake.reset, status(502), status(503), status(504)])
@pytest.mark.parametrize("command", ["add", "cat", "pin/add", "pin/ls", "block/put"])
async def test_a_temporary_fault_is_retried(
    kubo: KuboFakeWorkbench, command: str, fault: kubo_fake.Fault
) -> None:
    kubo.fake.faults[command] = times(2, fault)
    await kubo.store.put(CID, DOCUMENT, PRIVATE)
    assert await kubo.store.read(CID, PRIVATE) == DOCUMENT


async def test_an_unresponsive_node_is_unavailable_after_the_timeout(
    kubo: KuboFakeWorkbench,
) -> None:
    kubo.fake.faults["pin/ls"] = kubo_fake.stay_silent
    store = KuboStore(kubo.fake.address, policy=RetryPolicy(timeout=0.2))
    began = time.monotonic()
    with pytest.raises(Unavailable):
        await store.read(CID, PRIVATE)
    assert 0.2 <= time.monotonic() - began < 20
    await store.close()


def test_the_default_timeout_is_below_five_seconds() -> None:
    assert DEFAULT_POLICY.timeout < 5


async def test_missing_blocks_are_logged_as_critical(
    kubo: KuboFakeWorkbench, caplog: pytest.LogCaptureFixture
) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE)
    del kubo.fake.blocks[CID]
    with pytest.raises(Unavailable):
        await kubo.store.read(CID, PRIVATE)
    assert caplog.records[0].levelno == logging.CRITICAL


async def test_reading_a_document_that_is_removed_during_the_read_returns_none(
    kubo: KuboFakeWorkbench,
) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE)

    async def destroy(fake: KuboFake, request: web.Request) -> web.StreamResponse:
        fake.pins.clear()
        fake.blocks.clear()
        return await fake.respond(request)

    kubo.fake.faults["cat"] = destroy
    assert await kubo.store.read(CID, PRIVATE) is None


@pytest.mark.parametrize("document", [DOCUMENT, LARGE], ids=["small", "large"])
async def test_removing_a_document_deletes_every_block(
    kubo: KuboFakeWorkbench, document: bytes
) -> None:
    cid = document_cid(document)
    await kubo.store.put(cid, document, PRIVATE)
    await kubo.store.remove(cid, PRIVATE)
    assert (kubo.fake.blocks, kubo.fake.pins) == ({}, {})


@pytest.mark.parametrize("document", [DOCUMENT, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("command", ["pin/rm", "block/rm", "block/stat", "pin/ls"])
async def test_a_failed_removal_is_completed_by_the_next_one(
    kubo: KuboFakeWorkbench, command: str, document: bytes
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
        return await (fake.respond(request) if left[0] >= 0 else fault(fake, request))

    return later


async def test_removing_a_public_document_keeps_the_blocks_of_the_private_one(
    kubo: KuboFakeWorkbench,
) -> None:
    for network in Network:
        await kubo.store.put(document_cid(LARGE), LARGE, network)
    await kubo.store.remove(document_cid(LARGE), PUBLIC)
    assert await kubo.store.read(document_cid(LARGE), PRIVATE) == LARGE


async def test_a_repaired_document_stays_in_both_networks(kubo: KuboFakeWorkbench) -> None:
    for network in Network:
        await kubo.store.put(CID, DOCUMENT, network)
    kubo.tamper(CID, PRIVATE, b"garbage")
    await kubo.store.put(CID, DOCUMENT, PUBLIC)
    assert await kubo.store.read(CID, PRIVATE) == DOCUMENT
    assert await kubo.store.read(CID, PUBLIC) == DOCUMENT


async def test_a_label_becomes_the_name_of_the_pin(kubo: KuboFakeWorkbench) -> None:
    await kubo.store.put(CID, DOCUMENT, PRIVATE, LABEL)
    pin_cid, _ = write_pin_node(CID, PRIVATE)
    assert kubo.fake.pins[pin_cid] == ("direct", f"imprint private pending {OWNER}_7 group-1")
    await kubo.store.relabel(CID, PRIVATE, Label(LABEL.name, OWNER, "g", State.ONCHAIN))
    assert kubo.fake.pins[pin_cid] == ("direct", f"imprint private onchain {OWNER}_7 g")


async def test_labelling_a_missing_document_is_not_an_error(kubo: KuboFakeWorkbench) -> None:
    await kubo.store.relabel(CID, PRIVATE, LABEL)
    assert kubo.fake.pins == {}


async def test_an_export_contains_every_block(kubo: KuboFakeWorkbench) -> None:
    cid = document_cid(LARGE)
    await kubo.store.put(cid, LARGE, PUBLIC)
    car = await kubo.store.export_car(cid, PUBLIC)
    assert car == b"".join(write_car(cid, blocks(LARGE)))
    assert await kubo.store.export_car(cid, PRIVATE) is None


async def test_an_incomplete_export_raises_unavailable(kubo: KuboFakeWorkbench) -> None:
    cid = document_cid(LARGE)
    await kubo.store.put(cid, LARGE, PUBLIC)
    car = await kubo.store.export_car(cid, PUBLIC)
    assert car is not None
    last = len(car) - len(b"second piece") - 36 - 1
    for broken in (car[:last], car[:-1], car[:10], b"", car[:-1] + b"x", car + b"\x01"):
        kubo.fake.faults["dag/export"] = always(lambda broken=broken: web.Response(body=broken))
        with pytest.raises(Unavailable):
            await kubo.store.export_car(cid, PUBLIC)


async def test_requests_include_the_authorization_header() -> None:
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
    store = KuboStore("http://127.0.0.1:1", "Bearer something-long", RetryPolicy(pause=0.001))
    with pytest.raises(Unavailable):
        await store.probe()
    await store.close()
    (record,) = caplog.records
    assert "127.0.0.1" not in record.getMessage()
    assert "something-long" not in record.getMessage()


def test_a_pin_node_differs_by_document_and_network() -> None:
    cids = (CID, document_cid(b"x"))
    pin_cids = {write_pin_node(cid, network)[0] for cid in cids for network in Network}
    assert len(pin_cids) == 4


def test_a_pin_node_links_to_its_document() -> None:
    assert read_links(write_pin_node(CID, PRIVATE)[1]) == [CID]
