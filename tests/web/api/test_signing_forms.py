"""Signed writes in every form, with both databases: what each signature is bound to."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.documents import list_documents
from tests.signed_forms import ACTIONS, BOUND, FORMS, UNBOUND, Request, send, sign
from tests.web.conftest import EVERY_DATABASE
from tests.world import Wallet, World, open_world, picture, problem, respell

pytestmark = [pytest.mark.asyncio(loop_scope="module"), *EVERY_DATABASE]

LONG = "Long words, 墨 🖋. " * 5_000
"""Content large enough to be handled apart from the rest of the request body."""

PAIRS = [(form, action) for form in FORMS for action in ACTIONS]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def strict(tmp_path_factory: pytest.TempPathFactory, records: None) -> AsyncIterator[World]:
    """A service that accepts only signatures bound to the whole request."""
    folder = tmp_path_factory.mktemp("strict")
    async with open_world(folder, REQUIRE_BOUND_SIGNATURES="on") as opened:
        yield opened


async def prepare(world: World, wallet: Wallet, action: str, **members: Any) -> Request:
    """A request for this action on an existing draft."""
    signed = sign(wallet, BOUND, first := Request("create", content="The first words."))
    response = await send(world, signed, first)
    assert response.status_code == 200, response.text
    cid = "" if action == "create" else response.json()["updatedUpload"]["cid"]
    tags = "Ink, #essay" if action == "publish" else ""
    return replace(Request(action, cid, "New words.", hashtags=tags), **members)


def content_folder(world: World) -> Path:
    return world.settings.storage.data_dir / "content"


async def drafts_of(world: World, wallet: Wallet) -> list[dict[str, Any]]:
    headers = await world.login(wallet)
    wanted = {"owner": wallet.address}
    response = await world.client.get("/pendingFilesByOwner", params=wanted, headers=headers)
    files: list[dict[str, Any]] = response.json()["files"]
    return files


@pytest.mark.parametrize(("form", "action"), PAIRS)
async def test_every_form_is_accepted_for_every_write(town: World, form: str, action: str) -> None:
    alice = town.stranger()
    request = await prepare(town, alice, action)
    response = await send(town, sign(alice, form, request), request)
    assert response.status_code == 200, response.text
    drafts = await drafts_of(town, alice)
    assert len(drafts) == {"create": 2, "update": 1, "publish": 1, "delete": 0}[action]
    if action == "publish":
        assert drafts[0]["hashtags"] == ["ink", "essay"]


@pytest.mark.parametrize("action", ["create", "update"])
async def test_large_content_is_written_in_every_form(town: World, action: str) -> None:
    for form in FORMS:
        alice = town.stranger()
        request = await prepare(town, alice, action, content=LONG)
        response = await send(town, sign(alice, form, request), request)
        assert response.status_code == 200, response.text
        (record,) = response.json().values()
        assert (await town.read_draft(alice, record["cid"])).json()["content"] == LONG


SWAPS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "content of a create": ("create", {}, {"content": "Swapped words."}),
    "large content of a create": ("create", {"content": LONG}, {"content": LONG + "."}),
    "large content instead of small": ("create", {}, {"content": LONG}),
    "small content instead of large": ("create", {"content": LONG}, {"content": ""}),
    "content of an update": ("update", {}, {"content": "Swapped words."}),
    "large content of an update": ("update", {"content": LONG}, {"content": LONG[1:]}),
    "thumbnail": ("publish", {}, {"image": picture()}),
    "hashtags": ("publish", {}, {"hashtags": "ink,theft"}),
    "no hashtags": ("publish", {}, {"hashtags": ""}),
    "another spelling of the hashtags": ("publish", {}, {"hashtags": "ink,essay"}),
}


@pytest.mark.parametrize(("action", "signed", "sent"), SWAPS.values(), ids=SWAPS)
async def test_a_body_other_than_the_signed_one_stores_nothing_and_spends_no_nonce(
    town: World, action: str, signed: dict[str, Any], sent: dict[str, Any]
) -> None:
    alice = town.stranger()
    request = await prepare(town, alice, action, **signed)
    body = sign(alice, BOUND, request)
    before = await drafts_of(town, alice), list_documents(stored := content_folder(town))
    assert problem(await send(town, body, replace(request, **sent))) == (401, "body_mismatch")
    assert (await drafts_of(town, alice), list_documents(stored)) == before
    response = await send(town, body, request)
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("action", ACTIONS)
async def test_a_signature_for_another_service_is_refused(town: World, action: str) -> None:
    alice = town.stranger()
    request = await prepare(town, alice, action)
    for service in ("https://other.example", f"{request.service}/"):
        body = sign(alice, BOUND, replace(request, service=service))
        response = await send(town, body, request)
        assert problem(response) == (401, "body_mismatch")
        assert request.service in response.json()["detail"]


@pytest.mark.parametrize("form", ["inkdao-1", BOUND])
@pytest.mark.parametrize("action", ACTIONS[1:])
async def test_a_signature_for_another_draft_of_the_same_owner_is_refused(
    town: World, form: str, action: str
) -> None:
    alice = town.stranger()
    request = await prepare(town, alice, action)
    other = await prepare(town, alice, action)
    body = sign(alice, form, request)
    before = await drafts_of(town, alice)
    response = await send(town, body, replace(request, cid=other.cid))
    assert problem(response) == (401, "body_mismatch")
    assert await drafts_of(town, alice) == before
    assert (await send(town, body, request)).status_code == 200


@pytest.mark.parametrize("action", ACTIONS[1:])
async def test_a_signature_of_the_first_form_is_not_bound_to_a_draft(
    town: World, action: str
) -> None:
    alice = town.stranger()
    request, other = [await prepare(town, alice, action) for _ in range(2)]
    body = sign(alice, "imprint-1", request)
    assert (await send(town, body, replace(request, cid=other.cid))).status_code == 200


@pytest.mark.parametrize("form", ["inkdao-1", BOUND])
@pytest.mark.parametrize("action", ACTIONS[1:])
async def test_the_cids_in_the_message_and_the_query_may_be_spelled_differently(
    town: World, form: str, action: str
) -> None:
    alice = town.stranger()
    request = await prepare(town, alice, action)
    body = sign(alice, form, replace(request, cid=respell(request.cid)))
    assert (await send(town, body, request)).status_code == 200


@pytest.mark.parametrize("action", ACTIONS)
async def test_an_address_in_the_message_must_match_the_body(town: World, action: str) -> None:
    alice, eve = town.stranger(), town.stranger()
    request = await prepare(town, alice, action)
    body = sign(alice, "inkdao-1", request) | {"address": eve.account.address}
    assert problem(await send(town, body, request)) == (401, "body_mismatch")


@pytest.mark.parametrize("action", ACTIONS[1:])
async def test_a_write_to_another_owners_draft_is_refused_in_every_form(
    town: World, action: str
) -> None:
    alice, eve = town.stranger(), town.stranger()
    request = await prepare(town, alice, action)
    for form in FORMS:
        assert problem(await send(town, sign(eve, form, request), request)) == (403, "not_owner")


# Nonces and time


@pytest.mark.parametrize("first", FORMS)
async def test_a_nonce_is_spent_for_all_forms_of_the_same_signer(town: World, first: str) -> None:
    alice, bob = town.stranger(), town.stranger()
    request = Request("create")
    spent = await send(town, sign(alice, first, request, "one"), request)
    assert spent.status_code == 200
    for form in FORMS:
        again = await send(town, sign(alice, form, request, "one"), request)
        assert problem(again) == (409, "nonce_used")
        assert again.json()["action"] == "create"
        assert again.json()["file"]["cid"] == spent.json()["updatedUpload"]["cid"]
    assert (await send(town, sign(bob, BOUND, request, "one"), request)).status_code == 200


@pytest.mark.parametrize(("form", "action"), PAIRS)
async def test_the_refusal_of_a_stale_signature_contains_the_service_time(
    town: World, form: str, action: str
) -> None:
    alice = town.stranger()
    request = await prepare(town, alice, action)
    for late in (-61, 61):
        body = sign(alice, form, request, timestamp=town.clock.seconds + late)
        response = await send(town, body, request)
        assert problem(response) == (401, "signature_stale")
        assert response.json()["now"] == town.clock.seconds
    now = (await town.client.get("/.well-known/imprint.json")).json()["now"]
    body = sign(alice, form, request, timestamp=now)
    assert (await send(town, body, request)).status_code == 200


async def test_a_stale_signature_is_refused_before_its_body_is_compared(town: World) -> None:
    alice = town.stranger()
    body = sign(alice, BOUND, Request("create"), timestamp=1)
    response = await send(town, body, Request("create", content="Swapped words."))
    assert problem(response) == (401, "signature_stale")


# Deployments


@pytest.mark.parametrize("action", ACTIONS)
async def test_only_bound_signatures_are_accepted_if_they_are_required(
    strict: World, action: str
) -> None:
    alice = strict.stranger()
    request = await prepare(strict, alice, action)
    for form in UNBOUND:
        body = sign(alice, form, request, "one")
        response = await send(strict, body, request)
        assert problem(response) == (401, "form_not_accepted")
        assert "imprint-2" in response.json()["detail"]
    assert (await send(strict, sign(alice, BOUND, request, "one"), request)).status_code == 200


async def test_a_service_lists_the_forms_it_accepts(town: World, strict: World) -> None:
    for world, forms in ((town, list(FORMS)), (strict, [BOUND])):
        facts = (await world.client.get("/.well-known/imprint.json")).json()
        assert facts["signing_forms"] == forms


async def test_services_with_the_same_name_share_only_unbound_signatures(
    town: World, tmp_path: Path
) -> None:
    async with open_world(tmp_path, clock=town.clock, PUBLIC_URL="https://other.example") as other:
        alice = town.stranger()
        for form in FORMS:
            request = Request("create")
            body = sign(alice, form, request)
            assert (await send(town, body, request)).status_code == 200
            response = await send(other, body, request)
            expected = 401 if form == BOUND else 200
            assert response.status_code == expected
