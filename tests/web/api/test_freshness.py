"""Hints for clients: the service's current time, and which action spent a nonce."""

from collections.abc import Awaitable, Callable

import httpx2
import pytest
from tests.web.conftest import EVERY_DATABASE
from tests.world import Wallet, World, problem

pytestmark = [*EVERY_DATABASE, pytest.mark.asyncio(loop_scope="module")]

Send = Callable[[World, Wallet, str, str], Awaitable[httpx2.Response]]

SENDS: dict[str, Send] = {
    "create": lambda world, wallet, cid, nonce: world.send_create(wallet, nonce=nonce),
    "update": lambda world, wallet, cid, nonce: world.send_update(wallet, cid, nonce=nonce),
    "publish": lambda world, wallet, cid, nonce: world.send_publish(wallet, cid, nonce=nonce),
    "delete": lambda world, wallet, cid, nonce: world.send_delete(wallet, cid, nonce=nonce),
}


async def test_the_refusal_of_a_stale_login_contains_the_service_time(town: World) -> None:
    reader = town.stranger()
    message = reader.login_message()
    town.clock.advance(120)
    try:
        response = await town.client.post("/auth/login", json=reader.sign_login(message))
        assert problem(response) == (401, "signature_stale")
        assert response.json()["now"] == town.clock.seconds
    finally:
        town.clock.advance(-120)


@pytest.mark.parametrize("first", SENDS)
@pytest.mark.parametrize("second", SENDS)
async def test_the_refusal_of_a_spent_nonce_names_the_action_that_spent_it(
    town: World, first: str, second: str
) -> None:
    author = town.stranger()
    draft, other = await town.create(author), await town.create(author)
    assert (await SENDS[first](town, author, draft["cid"], "shared")).status_code == 200
    response = await SENDS[second](town, author, other["cid"], "shared")
    assert problem(response) == (409, "nonce_used")
    assert response.json()["action"] == first
    assert (response.json()["file"] is None) is (first == "delete")


@pytest.mark.parametrize("first", ["create", "update", "publish"])
async def test_a_spent_nonce_names_its_action_even_after_the_file_is_gone(
    town: World, first: str
) -> None:
    author = town.stranger()
    draft = await town.create(author)
    sent = await SENDS[first](town, author, draft["cid"], "shared")
    assert sent.status_code == 200
    made = sent.json().get("updatedUpload") or sent.json().get("upload") or draft
    assert (await town.send_delete(author, made["cid"])).status_code == 200
    response = await town.send_create(author, nonce="shared")
    assert problem(response) == (409, "nonce_used")
    assert (response.json()["action"], response.json()["file"]) == (first, None)


async def test_the_refusal_of_a_spent_login_nonce_names_the_login(town: World) -> None:
    reader = town.stranger()
    body = reader.sign_login(reader.login_message())
    assert (await town.client.post("/auth/login", json=body)).status_code == 200
    response = await town.client.post("/auth/login", json=body)
    assert problem(response) == (409, "nonce_used")
    assert (response.json()["action"], response.json()["file"]) == ("login", None)
