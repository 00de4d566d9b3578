"""What a client concludes from a response."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer
from eth_account import Account as KeyAccount
from tests.histories.clients import Account, Client, Stage
from tests.histories.history import History
from tests.world import MovableClock, Wallet, World


@pytest.mark.parametrize(
    ("token", "is_known", "complete"),
    [(None, True, True), (None, False, False), ("next", True, False)],
    ids=["all drafts", "a draft that nobody has seen", "the first page of several"],
)
def test_a_list_is_complete_if_it_has_all_drafts_and_they_are_known(
    token: str | None, is_known: bool, complete: bool
):
    account = open_account()
    file = {"cid": "bafy1", "group_id": "group"}
    if is_known:
        account.learn("draft", "text", file)
    read = account.read_list({"files": [file], "next_page_token": token})
    assert read["values"] == ({"draft": "text"} if is_known else {})
    assert read["complete"] == complete


@pytest.mark.parametrize("is_known", [True, False])
def test_a_list_with_two_versions_of_a_draft_repeats_it(is_known: bool):
    account = open_account()
    versions = [{"cid": cid, "group_id": "group"} for cid in ("bafy1", "bafy2")]
    if is_known:
        account.learn("draft", "old", versions[0])
    read = account.read_list({"files": versions, "next_page_token": None})
    assert read["repeated"] == ["draft" if is_known else "group"]


@pytest.mark.parametrize(
    ("status", "body", "outcome", "is_unexpected"),
    [
        (500, "Internal Server Error", "unknown", True),
        (500, '{"code": "internal"}', "unknown", True),
        (503, "Service Unavailable", "unknown", False),
        (200, "no JSON", "unknown", True),
        (404, "no JSON", "fail", True),
        (404, '{"code": "not_found"}', "fail", False),
        (200, '{"files": [], "next_page_token": null}', "ok", False),
    ],
)
async def test_a_response_that_no_fault_explains_is_unexpected(
    status: int, body: str, outcome: str, is_unexpected: bool
):
    async with stage_with(lambda: web.Response(status=status, text=body)) as stage:
        await a_client(stage).list_drafts()
    assert [each.outcome for each in stage.history.operations] == [outcome]
    assert bool(stage.unexpected) == is_unexpected


async def test_a_last_read_is_repeated_until_it_is_confirmed():
    said = {"token": "token", "files": [], "next_page_token": None, "content": "draft text"}
    failing = iter([True, False] * 3)

    def respond() -> web.Response:
        return web.json_response(said, status=503 if next(failing) else 200)

    async with stage_with(respond) as stage:
        client = a_client(stage)
        file = {"cid": "bafy1", "group_id": "group"}
        client.account.drafts["draft"] = client.account.learn("draft", "text", file)
        await client.read_everything()
    done = [(each.kind, each.outcome) for each in stage.history.operations]
    kinds = ("open session", "list", "read")
    assert done == [(kind, outcome) for kind in kinds for outcome in ("unknown", "ok")]


async def test_purchases_are_spread_over_the_history_and_leave_one_post():
    bought = []
    async with stage_with(web.Response) as stage:
        stage.posts |= {f"Words {number}": number for number in range(5)}
        client = a_client(stage)
        for progress in (0.0, 0.19, 0.2, 0.59, 0.6, 0.99, 1.0):
            stage.progress = progress
            while client.may_buy:
                client.account.bought.add(f"Words {len(client.account.bought)}")
            bought.append(len(client.account.bought))
    assert bought == [0, 0, 1, 2, 3, 4, 4]


def a_client(stage: Stage) -> Client:
    account = open_account()
    account.sessions["session"] = "token"
    return Client(0, stage, account, random.Random(1))


@asynccontextmanager
async def stage_with(respond: Callable[[], web.Response]) -> AsyncIterator[Stage]:
    """Open a stage with a single replica that responds to every request like this."""

    async def serve(_: web.BaseRequest) -> web.Response:
        return respond()

    async with RawTestServer(serve) as server, aiohttp.ClientSession() as http:
        yield Stage(cast(World, None), [str(server.make_url(""))], History(), {}, http)


def open_account() -> Account:
    return Account(Wallet(KeyAccount.from_key(bytes(31) + b"\1"), MovableClock()))
