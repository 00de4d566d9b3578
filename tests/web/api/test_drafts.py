"""Drafts over HTTP: only their owner's signature can create, update and delete them."""

import asyncio
import copy
import re
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from eth_account.messages import encode_typed_data
from tests.documents import list_documents
from tests.world import World, open_world, problem, respell

from imprint.auth.signatures import CURVE_ORDER

pytestmark = pytest.mark.asyncio(loop_scope="module")

RECORD = {"id", "name", "cid", "size", "created_at", "group_id", "keyvalues"}
ACTIONS = {
    "create": "/create/group",
    "update": "/update/file",
    "publish": "/publish/file",
    "delete": "/delete/file",
}


async def test_a_create_returns_the_record_of_a_pending_draft(town: World) -> None:
    alice = town.stranger()
    response = await town.send_create(alice, "A beginning.")
    assert response.status_code == 200
    assert response.json().keys() == {"updatedUpload"}
    file = response.json()["updatedUpload"]
    assert file.keys() == RECORD
    assert file["keyvalues"] == {"owner": alice.address, "status": "pending"}
    assert re.fullmatch(rf"{alice.address}_[0-9]+", file["name"])
    assert UUID(file["id"]) != UUID(file["group_id"])
    assert datetime.fromisoformat(file["created_at"]) == town.clock.now()
    assert file["cid"].startswith("b")


async def test_the_size_is_the_size_of_the_stored_document(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice, "héllo")
    document = f'{{"content":"héllo","name":"{file["name"]}","salt":"{"0" * 32}"}}'
    assert file["size"] == len(document.encode())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "plain",
        "<script>alert(1)</script>",
        "two\nlines\r\n\tand \x1b[31mcontrols\x7f",
        "naïve 漢字 😀  \ufeff",
        '"quoted" \\ back',
    ],
)
async def test_content_is_returned_exactly_as_it_was_sent(town: World, content: str) -> None:
    alice = town.stranger()
    file = await town.create(alice, content)
    read = await town.read_draft(alice, file["cid"])
    assert read.json()["content"] == content
    assert read.headers["content-type"] == "application/json"


async def test_creating_the_same_content_twice_gives_two_cids(town: World) -> None:
    alice, bob = town.stranger(), town.stranger()
    cids = [(await town.create(wallet, "Same."))["cid"] for wallet in (alice, alice, bob)]
    assert len(set(cids)) == 3


async def test_deleting_one_of_two_identical_drafts_keeps_the_other(town: World) -> None:
    alice, bob = town.stranger(), town.stranger()
    hers, his = await town.create(alice, "Same."), await town.create(bob, "Same.")
    assert (await town.send_delete(alice, hers["cid"])).status_code == 200
    assert (await town.read_draft(bob, his["cid"])).json()["content"] == "Same."


async def test_each_create_starts_a_new_group_with_a_higher_number(town: World) -> None:
    alice = town.stranger()
    files = [await town.create(alice) for _ in range(4)]
    assert len({file["group_id"] for file in files}) == 4
    numbers = [int(file["name"].partition("_")[2]) for file in files]
    assert numbers == sorted(set(numbers))


async def test_an_update_creates_a_new_version_in_the_same_group(town: World) -> None:
    alice = town.stranger()
    old = await town.create(alice, "First.")
    town.clock.advance(1)
    response = await town.send_update(alice, old["cid"], "Second.")
    assert response.json().keys() == {"upload"}
    new = response.json()["upload"]
    assert new.keys() == RECORD
    assert new["group_id"] == old["group_id"]
    assert new["keyvalues"] == old["keyvalues"]
    for changed in ("id", "name", "cid", "created_at"):
        assert new[changed] != old[changed]
    assert (await town.read_draft(alice, new["cid"])).json()["content"] == "Second."


async def test_the_old_version_is_inaccessible_immediately(town: World) -> None:
    alice = town.stranger()
    old = await town.create(alice)
    await town.update(alice, old["cid"], "Newer.")
    assert problem(await town.read_draft(alice, old["cid"])) == (404, "not_found")
    metadata = await town.client.get("/filesMetaData", params={"cid": old["cid"]})
    assert problem(metadata) == (404, "not_found")


async def test_a_delete_returns_the_id_and_the_state(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    response = await town.send_delete(alice, file["cid"])
    assert response.json() == {"deletedFile": {"id": file["id"], "status": "deleted"}}
    assert problem(await town.read_draft(alice, file["cid"])) == (404, "not_found")


@pytest.mark.parametrize("action", ["update", "publish", "delete"])
async def test_a_write_to_a_deleted_draft_is_not_found(town: World, action: str) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    await town.send_delete(alice, file["cid"])
    assert problem(await _write(town, action, alice, file["cid"])) == (404, "not_found")


@pytest.mark.parametrize("action", ["update", "publish", "delete"])
async def test_only_the_owner_may_write(town: World, action: str) -> None:
    alice, eve = town.stranger(), town.stranger()
    file = await town.create(alice, "Mine.")
    assert problem(await _write(town, action, eve, file["cid"])) == (403, "not_owner")
    assert (await town.read_draft(alice, file["cid"])).json()["content"] == "Mine."


@pytest.mark.parametrize(
    ("action", "code"),
    [("update", "not_pending"), ("publish", "not_pending"), ("delete", "already_onchain")],
)
async def test_a_post_cannot_be_changed(town: World, action: str, code: str) -> None:
    alice = town.wallet(1)
    post_id, file = await town.post(alice, "For ever.")
    assert problem(await _write(town, action, alice, file["cid"])) == (409, code)
    assert (await town.read_post(alice, post_id)).json()["content"] == "For ever."


async def _write(world: World, action: str, wallet: Any, cid: str, nonce: str | None = None) -> Any:
    if action == "create":
        return await world.send_create(wallet, nonce=nonce)
    if action == "update":
        return await world.send_update(wallet, cid, nonce=nonce)
    if action == "publish":
        return await world.send_publish(wallet, cid, nonce=nonce)
    return await world.send_delete(wallet, cid, nonce=nonce)


@pytest.mark.parametrize("action", ["update", "publish", "delete"])
async def test_every_spelling_of_a_cid_refers_to_the_same_file(town: World, action: str) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    for spelling in (respell(file["cid"]), respell(file["cid"]).upper(), file["cid"].upper()):
        assert (await town.metadata(spelling))["id"] == file["id"]
    response = await _write(town, action, alice, respell(file["cid"]))
    assert response.status_code == 200


HOSTILE_CIDS = [
    "",
    "x",
    "../../etc/passwd",
    "%2e%2e%2f",
    "http://127.0.0.1:1/",
    "bafy\0",
    "b" + "a" * 10_000,
    "Qm" + "1" * 44,
    "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e ",
    "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5f",
    "漢字",
]


@pytest.mark.parametrize("action", ["update", "publish", "delete"])
@pytest.mark.parametrize("cid", HOSTILE_CIDS, ids=range(len(HOSTILE_CIDS)))
async def test_an_invalid_cid_is_refused(town: World, action: str, cid: str) -> None:
    asked = town.node.asked
    response = await _write(town, action, town.stranger(), cid)
    assert problem(response) == (400, "invalid_cid")
    assert town.node.asked == asked


@pytest.mark.parametrize("action", ["update", "publish", "delete"])
async def test_the_cid_parameter_is_required_exactly_once(town: World, action: str) -> None:
    alice = town.stranger()
    cid = (await town.create(alice))["cid"]
    path = ACTIONS[action]
    for query in ("", f"?cid={cid}&cid={cid}"):
        if action == "publish":
            body: dict[str, Any] = {"files": {"file": ("cover.png", b"", "image/png")}}
        else:
            body = {"json": alice.sign(action) | {"content": ""}}
        response = await town.client.post(path + query, **body)
        assert problem(response) == (400, "invalid_cid")


@pytest.mark.parametrize("signed", ACTIONS)
@pytest.mark.parametrize("sent", ["create", "update", "delete"])
async def test_a_signature_is_valid_only_for_its_own_action(
    town: World, signed: str, sent: str
) -> None:
    alice = town.stranger()
    cid = (await town.create(alice))["cid"]
    body = alice.sign(signed) | {"content": "Moved."}
    response = await town.client.post(ACTIONS[sent], params={"cid": cid}, json=body)
    if signed == sent:
        assert response.status_code == 200
    else:
        assert problem(response) == (400, "invalid_typed_data")


async def test_typed_data_relabelled_for_another_action_does_not_verify(town: World) -> None:
    alice = town.stranger()
    cid = (await town.create(alice))["cid"]
    body = alice.sign("create") | {"content": ""}
    members = body["salt"]["types"].pop("CreateFile")
    body["salt"]["types"]["DeleteFile"] = members
    body["salt"]["primaryType"] = "DeleteFile"
    body["salt"]["message"]["action"] = "delete"
    response = await town.client.post("/delete/file", params={"cid": cid}, json=body)
    assert problem(response) == (401, "signature_invalid")


def _set(*path: Any, value: Any) -> Any:
    def change(envelope: dict[str, Any]) -> None:
        inner: Any = envelope
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


def _drop(*path: Any) -> Any:
    def change(envelope: dict[str, Any]) -> None:
        inner: Any = envelope
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]

    return change


WRONG_ENVELOPES = {
    "another name": _set("domain", "name", value="Other"),
    "another version": _set("domain", "version", value="2"),
    "another chain": _set("domain", "chainId", value=1),
    "chain id true": _set("domain", "chainId", value=True),
    "chain id as a float": _set("domain", "chainId", value=31337.0),
    "no chain": _drop("domain", "chainId"),
    "a contract in the domain": _set("domain", "verifyingContract", value="0x" + "00" * 20),
    "a salt in the domain": _set("domain", "salt", value="0x" + "00" * 32),
    "another primary type": _set("primaryType", value="Mail"),
    "another type": _set("types", value={"Mail": []}),
    "one more type": _set("types", "Mail", value=[]),
    "thousands of types": _set("types", value={f"T{n}": [] for n in range(1000)}),
    "a type within itself": _set(
        "types", "CreateFile", value=[{"name": "self", "type": "CreateFile"}]
    ),
    "members in another order": lambda e: e["types"]["CreateFile"].reverse(),
    "one more member": lambda e: e["types"]["CreateFile"].append({"name": "cid", "type": "string"}),
    "a member of another type": _set("types", "CreateFile", 2, "type", value="uint256"),
    "a strange EIP712Domain": _set("types", "EIP712Domain", value=[]),
    "another action": _set("message", "action", value="delete"),
    "no action": _drop("message", "action"),
    "one more word": _set("message", "content", value="x"),
    "an empty nonce": _set("message", "nonce", value=""),
    "a nonce of 201 characters": _set("message", "nonce", value="n" * 201),
    "a nonce that is a number": _set("message", "nonce", value=7),
    "a nonce with NUL": _set("message", "nonce", value="a\0b"),
    "no message": _drop("message"),
    "no domain": _drop("domain"),
    "a list for a domain": _set("domain", value=[]),
    "a list for the message": _set("message", value=[]),
} | {
    f"timestamp {value!r:.24}": _set("message", "timestamp", value=value)
    for value in ("", "abc", "NaN", "1e9", "+1", "-1", "1_7", " 1", "1.0", "١٢٣", "９", "9" * 5000)
}


@pytest.mark.parametrize("change", WRONG_ENVELOPES.values(), ids=WRONG_ENVELOPES.keys())
async def test_typed_data_that_deviates_from_the_form_is_refused(town: World, change: Any) -> None:
    body = town.stranger().sign("create") | {"content": ""}
    body["salt"] = copy.deepcopy(body["salt"])
    change(body["salt"])
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (400, "invalid_typed_data")


@pytest.mark.parametrize(
    "change",
    [
        _drop("primaryType"),
        _set("domain", "chainId", value="31337"),
        _set("domain", "chainId", value="0x7a69"),
        _set(
            "types",
            "EIP712Domain",
            value=[
                {"name": "name", "type": "string"},
                {"name": "version", "type": "string"},
                {"name": "chainId", "type": "uint256"},
            ],
        ),
    ],
    ids=["no primary type", "chain id in decimals", "chain id in hex", "the usual EIP712Domain"],
)
async def test_optional_members_of_the_typed_data_may_vary(town: World, change: Any) -> None:
    body = town.stranger().sign("create") | {"content": ""}
    change(body["salt"])
    assert (await town.client.post("/create/group", json=body)).status_code == 200


@pytest.mark.parametrize(
    ("domain", "code"),
    [
        ({"name": "Other", "version": "1", "chainId": 31337}, (400, "invalid_typed_data")),
        ({"name": "Imprint", "version": "1", "chainId": 1}, (400, "invalid_typed_data")),
    ],
)
async def test_a_signature_for_another_domain_is_refused(
    town: World, domain: dict, code: tuple[int, str]
) -> None:
    alice = town.stranger()
    envelope = alice.envelope("create")
    elsewhere = alice.sign_envelope(envelope | {"domain": domain})
    response = await town.client.post("/create/group", json=elsewhere | {"content": ""})
    assert problem(response) == code
    relabelled = elsewhere | {"salt": envelope, "content": ""}
    response = await town.client.post("/create/group", json=relabelled)
    assert problem(response) == (401, "signature_invalid")


@pytest.mark.parametrize(
    ("age", "accepted"), [(-61, False), (-59, True), (0, True), (59, True), (61, False)]
)
async def test_the_timestamp_of_a_write_must_be_within_60_seconds_of_now(
    town: World, age: int, accepted: bool
) -> None:
    alice = town.stranger()
    envelope = alice.envelope("create", timestamp=str(town.clock.seconds - age))
    body = alice.sign_envelope(envelope) | {"content": ""}
    response = await town.client.post("/create/group", json=body)
    if accepted:
        assert response.status_code == 200
    else:
        assert problem(response) == (401, "signature_stale")


def _signatures(signature: str) -> dict[str, str]:
    raw = bytes.fromhex(signature[2:])
    r, s, v = raw[:32], int.from_bytes(raw[32:64]), raw[64]
    twin = r + (CURVE_ORDER - s).to_bytes(32) + bytes([55 - v])
    return {
        "no prefix": signature[2:],
        "0X": "0X" + signature[2:],
        "high s": "0x" + twin.hex(),
        "v = 37": f"{signature[:-2]}25",
        "v = 255": f"{signature[:-2]}ff",
        "two bytes less": signature[:-4],
        "one byte more": signature + "00",
        "not hex": "0x" + "zz" * 65,
        "zeros": "0x" + "00" * 65,
        "empty": "",
        "prefix alone": "0x",
        "a line more": signature + "\n",
        "another signature": "0x" + "11" * 64 + "1b",
    }


@pytest.mark.parametrize("kind", _signatures("0x" + "11" * 64 + "1b"))
async def test_a_malformed_signature_is_refused(town: World, kind: str) -> None:
    body = town.stranger().sign("create") | {"content": ""}
    body["signature"] = _signatures(body["signature"])[kind]
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (401, "signature_invalid")


@pytest.mark.parametrize("form", ["v of 0 or 1", "64 bytes"])
async def test_signatures_with_v_0_or_1_and_compact_signatures_are_accepted(
    town: World, form: str
) -> None:
    body = town.stranger().sign("create") | {"content": ""}
    raw = bytearray.fromhex(body["signature"][2:])
    parity = raw[64] - 27
    if form == "64 bytes":
        raw = raw[:64]
        raw[32] |= parity << 7
    else:
        raw[64] = parity
    body["signature"] = "0x" + raw.hex()
    assert (await town.client.post("/create/group", json=body)).status_code == 200


async def test_a_signature_cannot_be_replayed_in_another_encoding(town: World) -> None:
    body = town.stranger().sign("create") | {"content": ""}
    assert (await town.client.post("/create/group", json=body)).status_code == 200
    body["signature"] = body["signature"][:-2] + (
        "00" if body["signature"].endswith("1b") else "01"
    )
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (409, "nonce_used")


async def test_the_claimed_address_must_be_the_signer(town: World) -> None:
    alice, eve = town.stranger(), town.stranger()
    body = eve.sign("create") | {"content": "", "address": alice.account.address}
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (401, "signature_invalid")


@pytest.mark.parametrize("address", ["0x" + "0" * 40, "0x" + "0" * 39 + "1"])
async def test_a_signature_for_the_zero_address_or_a_precompile_is_refused(
    town: World, address: str
) -> None:
    body = town.stranger().sign("create") | {"content": "", "address": address}
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (401, "signature_invalid")


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a[2:],
        lambda a: "0X" + a[2:],
        lambda a: a.swapcase().replace("0X", "0x"),
        lambda a: a + "0",
        lambda a: a + "\n",
        lambda a: "",
    ],
    ids=["no prefix", "0X", "a wrong checksum", "too long", "a line more", "empty"],
)
async def test_a_malformed_address_is_refused(town: World, change: Any) -> None:
    # Not a random wallet: one address in 2 000 has letters of one case only, and so no checksum.
    alice = town.wallet(1)
    body = alice.sign("create") | {"content": ""}
    body["address"] = change(alice.account.address)
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (400, "invalid_address")


@pytest.mark.parametrize("case", [str.lower, lambda a: "0x" + a[2:].upper()])
async def test_a_single_case_address_is_accepted_and_stored_in_lower_case(
    town: World, case: Any
) -> None:
    alice = town.stranger()
    body = alice.sign("create") | {"content": "", "address": case(alice.account.address)}
    response = await town.client.post("/create/group", json=body)
    assert response.json()["updatedUpload"]["keyvalues"]["owner"] == alice.address


@pytest.mark.parametrize("member", ["salt", "address", "signature", "content"])
@pytest.mark.parametrize("value", [None, 7, ["x"], "missing"])
async def test_every_member_of_a_create_request_is_required_with_its_type(
    town: World, member: str, value: Any
) -> None:
    body = town.stranger().sign("create") | {"content": ""}
    if value == "missing":
        del body[member]
    else:
        body[member] = value
    response = await town.client.post("/create/group", json=body)
    typed_data_of_another_kind = member == "salt" and value != "missing"
    code = "invalid_typed_data" if typed_data_of_another_kind else "invalid_request"
    assert problem(response) == (400, code)


async def test_content_is_limited_to_4_mib(town: World) -> None:
    alice = town.stranger()
    largest = "é" * (2 * 1024 * 1024)
    file = await town.create(alice, largest)
    assert (await town.read_draft(alice, file["cid"])).json()["content"] == largest
    assert problem(await town.send_create(alice, largest + "a")) == (413, "too_large")


@pytest.mark.parametrize("action", ["create", "update", "publish", "delete"])
async def test_the_refusal_of_a_repeated_write_names_the_file_it_created(
    town: World, action: str
) -> None:
    alice = town.stranger()
    cid = (await town.create(alice))["cid"]
    first = await _write(town, action, alice, cid, nonce="once")
    assert first.status_code == 200
    again = await _write(town, action, alice, cid, nonce="once")
    assert problem(again) == (409, "nonce_used")
    assert "file" in again.json()
    made = {
        "create": lambda: first.json()["updatedUpload"],
        "update": lambda: first.json()["upload"],
        "publish": lambda: {k: v for k, v in again.json()["file"].items() if k in RECORD},
        "delete": lambda: None,
    }[action]()
    assert again.json()["file"] == made
    if action == "publish":
        assert made["cid"] == cid


async def test_a_repeated_create_is_refused_before_its_document_is_stored(town: World) -> None:
    alice, content = town.stranger(), town.settings.storage.data_dir / "content"
    await town.send_create(alice, "First.", nonce="once")
    before = list_documents(content)
    again = await town.send_create(alice, "Second.", nonce="once")
    assert problem(again) == (409, "nonce_used")
    assert list_documents(content) == before


async def test_a_repeated_write_changes_nothing(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice, "First.")
    new = (await town.send_update(alice, file["cid"], "Second.", nonce="n")).json()["upload"]
    again = await town.send_update(alice, new["cid"], "Swapped.", nonce="n")
    assert problem(again) == (409, "nonce_used")
    assert (await town.read_draft(alice, new["cid"])).json()["content"] == "Second."


async def test_one_of_two_concurrent_updates_with_the_same_nonce_is_refused(
    town: World,
) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    # The small update commits while the document of the large one is being built.
    large, small = await asyncio.gather(
        town.send_update(alice, file["cid"], "Many words. " * 300_000, nonce="once"),
        town.send_update(alice, file["cid"], "Few words.", nonce="once"),
    )
    assert {large.status_code, small.status_code} == {200, 409}
    assert problem(large if small.status_code == 200 else small) == (409, "nonce_used")


async def test_a_nonce_is_spent_for_all_actions_of_the_same_signer(town: World) -> None:
    alice = town.stranger()
    file = (await town.send_create(alice, nonce="n")).json()["updatedUpload"]
    assert problem(await town.send_delete(alice, file["cid"], nonce="n")) == (409, "nonce_used")


async def test_another_signer_cannot_spend_someone_elses_predictable_nonce(town: World) -> None:
    alice, eve = town.stranger(), town.stranger()
    nonce = f"{alice.address}_{town.clock.seconds}"
    assert (await town.send_create(eve, nonce=nonce)).status_code == 200
    assert (await town.send_create(alice, nonce=nonce)).status_code == 200


@pytest.mark.parametrize(
    "spoil",
    [
        {"signature": "0x" + "11" * 65},
        {"content": "a\0b"},
        {"content": None},
    ],
    ids=["signature", "content", "shape"],
)
async def test_a_refused_write_spends_no_nonce(town: World, spoil: dict) -> None:
    body = town.stranger().sign("create", nonce="kept") | {"content": "Good."}
    assert (await town.client.post("/create/group", json=body | spoil)).status_code in (400, 401)
    assert (await town.client.post("/create/group", json=body)).status_code == 200


async def test_a_write_refused_because_of_its_file_spends_no_nonce(town: World) -> None:
    alice, eve = town.stranger(), town.stranger()
    foreign = await town.create(alice)
    own = await town.create(eve)
    body = eve.sign("update", nonce="kept") | {"content": "Good."}
    refused = await town.client.post("/update/file", params={"cid": foreign["cid"]}, json=body)
    assert problem(refused) == (403, "not_owner")
    taken = await town.client.post("/update/file", params={"cid": own["cid"]}, json=body)
    assert taken.status_code == 200


async def test_a_nonce_stays_spent_while_its_signature_is_still_valid(town: World) -> None:
    alice = town.stranger()
    envelope = alice.envelope("create", timestamp=str(town.clock.seconds + 59))
    body = alice.sign_envelope(envelope) | {"content": ""}
    assert (await town.client.post("/create/group", json=body)).status_code == 200
    town.clock.advance(118)
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (409, "nonce_used")


async def test_nonces_of_200_characters_in_any_script_are_accepted(town: World) -> None:
    response = await town.send_create(town.stranger(), nonce="漢" * 200)
    assert response.status_code == 200


async def test_nonces_that_differ_in_case_or_normal_form_are_distinct(town: World) -> None:
    alice = town.stranger()
    for nonce in ("n", "N", "é", "e\u0301", "n "):
        assert (await town.send_create(alice, nonce=nonce)).status_code == 200


@pytest.mark.parametrize(("wallets", "questions"), [("on", 1), ("off", 0)])
async def test_an_unverified_signer_causes_at_most_one_chain_call(
    tmp_path: Path, wallets: str, questions: int
) -> None:
    async with open_world(tmp_path, CONTRACT_WALLETS=wallets) as world:
        alice, eve = world.stranger(), world.stranger()
        cid = (await world.create(alice))["cid"]
        assert problem(await world.send_delete(eve, cid)) == (403, "not_owner")
        assert world.node.asked == 0
        bad = eve.sign("delete") | {"address": alice.account.address}
        response = await world.client.post("/delete/file", params={"cid": cid}, json=bad)
        assert problem(response) == (401, "signature_invalid")
        assert world.node.asked == questions


async def test_nothing_is_stored_before_the_signer_is_verified(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        before = list_documents(tmp_path / "content")
        body = world.stranger().sign("create") | {"content": "", "signature": "0x" + "11" * 65}
        assert problem(await world.client.post("/create/group", json=body))[0] == 401
        assert list_documents(tmp_path / "content") == before
        await world.create(world.stranger())
        assert list_documents(tmp_path / "content") != before


async def test_a_draft_published_on_chain_cannot_be_deleted_before_its_event(
    town: World,
) -> None:
    alice = town.wallet(2)
    file = await town.create(alice)
    town.create_post(alice, file["cid"])
    assert problem(await town.send_delete(alice, file["cid"])) == (409, "already_onchain")
    assert (await town.read_draft(alice, file["cid"])).status_code == 200


async def test_a_draft_published_by_another_account_can_be_deleted(town: World) -> None:
    alice, eve = town.wallet(3), town.wallet(4)
    file = await town.create(alice)
    block = town.create_post(eve, file["cid"])
    assert (await town.deliver_a(block)).json()["events"][0]["status"] == "author_mismatch"
    assert (await town.send_delete(alice, file["cid"])).status_code == 200


async def test_too_many_writes_by_one_signer_are_rate_limited(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_WRITES="3/60") as world:
        alice = world.stranger()
        for _ in range(3):
            await world.create(alice)
        response = await world.send_create(alice, nonce="later")
        assert problem(response) == (429, "rate_limited")
        await world.create(world.stranger())
        world.clock.advance(int(response.headers["retry-after"]))
        assert (await world.send_create(alice, nonce="later")).status_code == 200


async def test_too_many_bad_signatures_from_one_client_are_rate_limited(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_SIGNED="5/60") as world:
        body = world.stranger().sign("create") | {"content": "", "signature": "0x"}
        codes = [problem(await world.client.post("/create/group", json=body)) for _ in range(6)]
        assert codes == [(401, "signature_invalid")] * 5 + [(429, "rate_limited")]
        assert (await world.client.get("/filesMetaData")).status_code == 200


async def test_a_configured_signing_domain_is_used(tmp_path: Path) -> None:
    async with open_world(tmp_path, SIGNING_NAME="Gazette", SIGNING_VERSION="7") as world:
        alice = world.stranger()
        assert problem(await world.send_create(alice)) == (400, "invalid_typed_data")
        envelope = alice.envelope("create")
        envelope["domain"] |= {"name": "Gazette", "version": "7"}
        signed = alice.account.sign_message(
            encode_typed_data(envelope["domain"], envelope["types"], envelope["message"])
        )
        body = {
            "salt": envelope,
            "address": alice.address,
            "signature": signed.signature.to_0x_hex(),
            "content": "",
        }
        assert (await world.client.post("/create/group", json=body)).status_code == 200
