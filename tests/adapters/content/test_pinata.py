"""The Pinata store: keyvalues, groups and CIDs, and a misbehaving Pinata."""

import asyncio
import logging
import time
from typing import Any

import pytest
from aiohttp import web
from tests.adapters.content import pinata_fake
from tests.adapters.content.pinata_fake import (
    PinataFake,
    always,
    data_response,
    refuse_as_object,
    refuse_as_sentence,
    refuse_as_text,
    times,
)
from tests.adapters.content.workbenches import PinataWorkbench

from imprint.adapters.content.http_retry import RetryPolicy
from imprint.adapters.content.pinata import Account, read_reason
from imprint.domain.drafts.files import Label, Network, State
from imprint.domain.errors import Code, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import WIDE_LAYOUT, Layout, document_cid

PRIVATE, PUBLIC = Network.PRIVATE, Network.PUBLIC
DOCUMENT = b'{"content":"Hi","name":"n","salt":"00"}'
CID = document_cid(DOCUMENT)
LARGE = b"large".ljust(1_500_000)
LARGE_CID = document_cid(LARGE)
OWNER = Address("0x" + "ab" * 20)
LABEL = Label(f"{OWNER}_7", OWNER, "group-1", State.PENDING)


def only_file(fake: PinataFake, network: str = "private") -> dict[str, Any]:
    (record,) = fake.files[network].values()
    return record


def status(code: int) -> pinata_fake.Fault:
    return always(lambda: web.Response(status=code, text="no"))


async def test_a_label_sets_the_name_the_keyvalues_and_the_group(pinata: PinataWorkbench) -> None:
    await pinata.store.put(CID, DOCUMENT, PRIVATE, LABEL)
    record = only_file(pinata.fake)
    assert record["name"] == f"{OWNER}_7"
    described = {"imprint_private": CID, "owner": OWNER, "status": "pending"}
    assert record["keyvalues"] == described
    (group,) = pinata.fake.groups["private"].values()
    assert (group["id"], group["name"]) == (record["group_id"], "imprint group-1")


async def test_a_new_label_is_merged_into_the_existing_one(pinata: PinataWorkbench) -> None:
    await pinata.store.put(CID, DOCUMENT, PRIVATE, LABEL)
    only_file(pinata.fake)["keyvalues"]["note"] = "by hand"
    await pinata.store.relabel(CID, PRIVATE, Label("new", OWNER, "group-2", State.ONCHAIN))
    record = only_file(pinata.fake)
    described = {"imprint_private": CID, "owner": OWNER, "status": "onchain", "note": "by hand"}
    assert (record["name"], record["keyvalues"]) == ("new", described)
    assert pinata.fake.groups["private"][record["group_id"]]["name"] == "imprint group-2"


async def test_labelling_a_missing_document_changes_nothing(pinata: PinataWorkbench) -> None:
    await pinata.store.relabel(CID, PRIVATE, LABEL)
    assert pinata.fake.groups["private"] == {}


async def test_files_of_one_group_share_one_pinata_group(pinata: PinataWorkbench) -> None:
    for number in range(3):
        document = f"version {number}".encode()
        await pinata.store.put(document_cid(document), document, PRIVATE, LABEL)
    await pinata.reopen()
    await pinata.store.put(CID, DOCUMENT, PRIVATE, LABEL)
    assert len(pinata.fake.groups["private"]) == 1
    assert len({each["group_id"] for each in pinata.fake.files["private"].values()}) == 1
    assert pinata.fake.called.count("list groups") == 3  # two to make it, one to find it again


async def test_a_group_that_only_matches_by_name_prefix_is_not_used(
    pinata: PinataWorkbench,
) -> None:
    await pinata.store.put(CID, DOCUMENT, PRIVATE, Label("n", OWNER, "group-12", State.PENDING))
    other = b"other"
    await pinata.store.put(document_cid(other), other, PRIVATE, LABEL)
    assert len(pinata.fake.groups["private"]) == 2


async def test_stores_that_create_a_group_concurrently_agree_on_one(
    pinata: PinataWorkbench,
) -> None:
    documents = [f"document {number}".encode() for number in range(6)]
    stores = [pinata.open() for _ in documents]
    puts = [
        store.put(document_cid(each), each, PRIVATE, LABEL)
        for store, each in zip(stores, documents, strict=True)
    ]
    await asyncio.gather(*puts)
    for store in stores:
        await store.close()
    assert len(pinata.fake.groups["private"]) == 1


@pytest.mark.parametrize("call", ["list groups", "create group"])
@pytest.mark.parametrize("fault", [status(500), status(403), pinata_fake.stay_silent])
async def test_a_document_is_stored_even_if_its_group_cannot_be_found(
    pinata: PinataWorkbench, call: str, fault: pinata_fake.Fault
) -> None:
    pinata.fake.faults[call] = fault
    store = pinata.open(policy=RetryPolicy(timeout=6, pause=0.001))
    await store.put(CID, DOCUMENT, PRIVATE, LABEL)
    await store.close()
    assert only_file(pinata.fake)["group_id"] is None
    assert await pinata.store.read(CID, PRIVATE) == DOCUMENT


async def test_a_document_is_stored_after_its_group_was_deleted(pinata: PinataWorkbench) -> None:
    await pinata.store.put(CID, DOCUMENT, PRIVATE, LABEL)
    pinata.fake.groups["private"].clear()
    other = b"other"
    await pinata.store.put(document_cid(other), other, PRIVATE, LABEL)
    assert await pinata.store.read(document_cid(other), PRIVATE) == other


async def test_a_small_document_with_a_different_cid_is_unavailable(
    pinata: PinataWorkbench,
) -> None:
    def lie() -> web.Response:
        record = pinata.fake.add_file("private", b"other", "n", {"imprint_private": CID})
        return data_response(record)

    pinata.fake.faults["upload"] = always(lie)
    with pytest.raises(Unavailable):
        await pinata.store.put(CID, DOCUMENT, PRIVATE)
    assert pinata.fake.files["private"] == {}


@pytest.mark.parametrize("layout", [WIDE_LAYOUT, Layout(100_000, 3)])
async def test_a_large_document_may_have_a_different_cid_on_pinata(
    pinata: PinataWorkbench, layout: Layout
) -> None:
    pinata.fake.layout = layout
    await pinata.store.put(LARGE_CID, LARGE, PRIVATE)
    assert only_file(pinata.fake)["cid"] == document_cid(LARGE, layout) != LARGE_CID
    await pinata.reopen()
    assert await pinata.store.read(LARGE_CID, PRIVATE) == LARGE
    await pinata.store.remove(LARGE_CID, PRIVATE)
    assert pinata.fake.contents == {}


async def test_a_large_document_with_an_unknown_cid_is_read_back_to_verify_it(
    pinata: PinataWorkbench,
) -> None:
    pinata.fake.layout = Layout(100_000, 3)
    pinata.fake.faults["gateway"] = always(lambda: web.Response(body=LARGE[:-1] + b"x"))
    with pytest.raises(Unavailable):
        await pinata.store.put(LARGE_CID, LARGE, PRIVATE)
    assert pinata.fake.files["private"] == {}


async def test_no_key_is_sent_to_the_gateway(pinata: PinataWorkbench) -> None:
    for network in Network:  # the gateway of the fake refuses a request that has one
        await pinata.store.put(CID, DOCUMENT, network)
        assert await pinata.store.read(CID, network) == DOCUMENT


@pytest.mark.parametrize(
    "link", ["http://127.0.0.1:1/files/x?X-Signature=1", "file:///etc/passwd", "", "http://[", 7]
)
async def test_a_signed_link_to_another_host_is_not_followed(
    pinata: PinataWorkbench, link: object
) -> None:
    await pinata.store.put(CID, DOCUMENT, PRIVATE)
    pinata.fake.faults["sign"] = always(lambda: data_response(link))
    with pytest.raises(Unavailable):
        await pinata.store.read(CID, PRIVATE)
    assert "gateway" not in pinata.fake.called


async def test_a_document_is_looked_up_once(pinata: PinataWorkbench) -> None:
    await pinata.store.put(CID, DOCUMENT, PRIVATE)
    await pinata.reopen()
    for _ in range(3):
        assert await pinata.store.read(CID, PRIVATE) == DOCUMENT
    assert pinata.fake.called.count("list") == 1


@pytest.mark.parametrize("missing", [403, 404, 410])
async def test_a_failed_download_raises_unavailable_while_the_file_is_listed(
    pinata: PinataWorkbench, missing: int
) -> None:
    await pinata.store.put(CID, DOCUMENT, PRIVATE)
    pinata.fake.faults["gateway"] = status(missing)
    with pytest.raises(Unavailable):
        await pinata.store.read(CID, PRIVATE)
    pinata.fake.files["private"].clear()
    assert await pinata.store.read(CID, PRIVATE) is None


async def test_a_small_document_is_readable_while_its_cid_is_pending(
    pinata: PinataWorkbench,
) -> None:
    await pinata.store.put(CID, DOCUMENT, PRIVATE)
    only_file(pinata.fake)["cid"] = "pending"
    await pinata.reopen()
    assert await pinata.store.read(CID, PRIVATE) == DOCUMENT


async def test_a_large_document_is_unavailable_while_its_cid_is_pending(
    pinata: PinataWorkbench,
) -> None:
    await pinata.store.put(LARGE_CID, LARGE, PRIVATE)
    only_file(pinata.fake)["cid"] = "pending"
    await pinata.reopen()
    with pytest.raises(Unavailable):
        await pinata.store.read(LARGE_CID, PRIVATE)


async def test_all_files_of_a_document_are_deleted(pinata: PinataWorkbench) -> None:
    for _ in range(3):
        await pinata.store.put(CID, DOCUMENT, PRIVATE)
    assert len(pinata.fake.files["private"]) == 3
    await pinata.store.remove(CID, PRIVATE)
    assert pinata.fake.files["private"] == {}


async def test_a_failed_removal_is_completed_by_the_next_one(pinata: PinataWorkbench) -> None:
    for _ in range(3):
        await pinata.store.put(CID, DOCUMENT, PRIVATE)
    pinata.fake.faults["delete"] = status(403)
    with pytest.raises(Unavailable):
        await pinata.store.remove(CID, PRIVATE)
    pinata.fake.faults.clear()
    await pinata.store.remove(CID, PRIVATE)
    assert pinata.fake.files["private"] == {}


async def test_a_removal_that_deletes_nothing_reports_the_store_as_unavailable(
    pinata: PinataWorkbench,
) -> None:
    await pinata.store.put(CID, DOCUMENT, PRIVATE)
    pinata.fake.faults["delete"] = always(lambda: data_response(None))
    with pytest.raises(Unavailable):
        await pinata.store.remove(CID, PRIVATE)


async def test_a_file_deleted_during_a_removal_is_not_an_error(pinata: PinataWorkbench) -> None:
    await pinata.store.put(CID, DOCUMENT, PRIVATE)

    async def race(fake: PinataFake, request: web.Request) -> web.StreamResponse:
        await fake.handlers["delete"](request)
        return await fake.handlers["delete"](request)

    pinata.fake.faults["delete"] = race
    await pinata.store.remove(CID, PRIVATE)
    assert pinata.fake.files["private"] == {}


@pytest.mark.parametrize("call", ["upload", "list", "sign", "gateway"])
@pytest.mark.parametrize(
    "fault",
    [
        pinata_fake.reset,
        always(lambda: refuse_as_object(401, "INVALID_CREDENTIALS")),
        always(lambda: refuse_as_sentence(400, "invalid")),
        always(lambda: refuse_as_text(500, "upstream")),
        status(301),
        status(429),
        status(502),
        always(lambda: web.Response(text="<html>")),
        always(lambda: web.Response(text="[" * 10_000)),
        always(lambda: web.json_response({"data": 7})),
        always(lambda: web.json_response({"files": []})),
    ],
)
async def test_a_faulty_response_raises_unavailable(
    pinata: PinataWorkbench, call: str, fault: pinata_fake.Fault
) -> None:
    if call != "upload":
        await pinata.store.put(CID, DOCUMENT, PRIVATE)
        await pinata.reopen()
    pinata.fake.faults[call] = fault
    store = pinata.store
    pending = store.put(CID, DOCUMENT, PRIVATE) if call == "upload" else store.read(CID, PRIVATE)
    with pytest.raises(Unavailable) as refused:
        await pending
    assert refused.value.code is Code.STORAGE_UNAVAILABLE


@pytest.mark.parametrize("call", ["upload", "list", "sign", "gateway"])
@pytest.mark.parametrize("fault", [pinata_fake.reset, status(429), status(500), status(503)])
async def test_a_temporary_fault_is_retried(
    pinata: PinataWorkbench, call: str, fault: pinata_fake.Fault
) -> None:
    pinata.fake.faults[call] = times(2, call, fault)
    await pinata.store.put(CID, DOCUMENT, PRIVATE)
    await pinata.reopen()
    assert await pinata.store.read(CID, PRIVATE) == DOCUMENT


async def test_an_unresponsive_service_is_unavailable_after_the_timeout(
    pinata: PinataWorkbench,
) -> None:
    pinata.fake.faults["upload"] = pinata_fake.stay_silent
    store = pinata.open(policy=RetryPolicy(timeout=0.2))
    began = time.monotonic()
    with pytest.raises(Unavailable):
        await store.put(CID, DOCUMENT, PRIVATE)
    assert time.monotonic() - began < 20
    await store.close()


async def test_a_wrong_key_fails_the_probe_and_is_not_logged(
    pinata: PinataWorkbench, caplog: pytest.LogCaptureFixture
) -> None:
    pinata.fake.jwt = "another-key"
    with pytest.raises(Unavailable):
        await pinata.store.probe()
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "INVALID_CREDENTIALS: details" in record.getMessage()
    assert pinata_fake.JWT not in record.getMessage()


async def test_a_document_is_found_among_a_very_large_number_of_files(
    pinata: PinataWorkbench,
) -> None:
    for number in range(250):
        pinata.fake.add_file("private", f"{number}".encode(), "n", {"imprint_private": CID})
    await pinata.store.put(CID, DOCUMENT, PRIVATE)
    await pinata.store.remove(CID, PRIVATE)
    assert pinata.fake.files["private"] == {}


def test_an_account_does_not_expose_its_key() -> None:
    assert "the-key" not in repr(Account("the-key", "https://gateway.example"))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"error": {"reason": "NO_SCOPES_FOUND", "details": "no"}}', "NO_SCOPES_FOUND: no"),
        (b'{"error": {"reason": "API_KEY_REVOKED"}}', "API_KEY_REVOKED"),
        (b'{"error": "unauthorized"}', "unauthorized"),
        (b"upstream\n\x00failed", "upstream failed"),
        (b'"quoted"', "quoted"),
        (b"{}", ""),
        (b"", ""),
        (b"\xff" * 10, "\N{REPLACEMENT CHARACTER}" * 10),
        (b"x" * 5000, "x" * 160),
    ],
)
def test_the_reason_for_an_error_is_read_from_every_error_format(body: bytes, reason: str) -> None:
    assert read_reason(body) == reason
