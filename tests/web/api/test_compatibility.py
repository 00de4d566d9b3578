"""`IMPRINT_COMPATIBILITY=inkdao` changes only some statuses and the content limit."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.world import World, open_world, problem

pytestmark = pytest.mark.asyncio(loop_scope="module")

MIB = 1024 * 1024


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def compatible(
    tmp_path_factory: pytest.TempPathFactory, records: None
) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("compatible")
    async with open_world(folder, COMPATIBILITY="inkdao", CHAIN_CACHE_SECONDS="0") as opened:
        yield opened


async def test_a_post_that_the_reader_has_not_bought_gets_404(compatible: World) -> None:
    post_id, _ = await compatible.post(compatible.wallet(1))
    response = await compatible.read_post(compatible.stranger(), post_id)
    assert problem(response) == (404, "not_entitled")
    assert response.json()["title"] == "Not Found"


async def test_another_accounts_draft_gets_404(compatible: World) -> None:
    file = await compatible.create(compatible.stranger())
    bob = compatible.stranger()
    assert problem(await compatible.read_draft(bob, file["cid"])) == (404, "not_owner")
    for refused in (
        await compatible.send_update(bob, file["cid"]),
        await compatible.send_publish(bob, file["cid"]),
        await compatible.send_delete(bob, file["cid"]),
    ):
        assert problem(refused) == (404, "not_owner")


async def test_other_refusals_keep_their_status_in_compatibility_mode(compatible: World) -> None:
    post_id, _ = await compatible.post(compatible.wallet(1))
    assert problem(await compatible.read_free(post_id)) == (403, "not_free")
    alice, bob = compatible.stranger(), compatible.stranger()
    session = await compatible.login(alice)
    assert problem(await compatible.read_post(bob, post_id, session)) == (403, "subject_mismatch")


async def test_without_compatibility_mode_the_statuses_are_403(town: World) -> None:
    post_id, _ = await town.post(town.wallet(1))
    assert problem(await town.read_post(town.stranger(), post_id)) == (403, "not_entitled")
    draft = await town.create(town.wallet(1))
    assert problem(await town.send_update(town.stranger(), draft["cid"])) == (403, "not_owner")


@pytest.mark.parametrize("letter", ["A", '"', "ü"], ids=["plain", "escaped", "two bytes"])
async def test_content_of_16_mib_is_stored_and_read(compatible: World, letter: str) -> None:
    alice = compatible.stranger()
    content = letter * (16 * MIB // len(letter.encode()))
    file = await compatible.create(alice, content)
    response = await compatible.read_draft(alice, file["cid"])
    assert response.json()["content"] == content
    assert problem(await compatible.send_create(alice, content + "A")) == (413, "too_large")


async def test_the_facts_state_the_larger_limit(compatible: World) -> None:
    facts = (await compatible.client.get("/.well-known/imprint.json")).json()
    assert facts["limits"]["content_bytes"] == 16 * MIB
    assert facts["signing"]["name"] == "Imprint"
