"""Lists over HTTP: who sees which files, with each file exactly once across pages."""

import asyncio
import base64
from itertools import chain
from typing import Any

import pytest
from tests.world import Wallet, World, open_world, problem

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _drafts(world: World, wallet: Wallet) -> Any:
    headers = await world.login(wallet)
    params = {"owner": wallet.address}
    return await world.client.get("/pendingFilesByOwner", params=params, headers=headers)


async def _next(world: World, token: str) -> Any:
    return await world.client.get("/filesByNextPageToken", params={"next_page_token": token})


async def _walk(world: World, first: Any) -> list[list[str]]:
    """The cids on each page, following the tokens from the first response to the last."""
    pages = []
    response = first
    while True:
        assert response.status_code == 200, response.text
        pages.append([file["cid"] for file in response.json()["files"]])
        token = response.json()["next_page_token"]
        if token is None:
            return pages
        response = await _next(world, token)


def _flat(pages: list[list[str]]) -> list[str]:
    return list(chain.from_iterable(pages))


async def _publish_posts(world: World, tag: str, count: int) -> list[str]:
    cids = []
    for _ in range(count):
        file = await world.create(world.wallet(1))
        await world.publish(world.wallet(1), file["cid"], tag)
        await world.deliver_a(world.create_post(world.wallet(1), file["cid"]))
        cids.append(file["cid"])
    return cids


async def test_an_empty_list_has_no_files_and_no_token(town: World) -> None:
    response = await _drafts(town, town.stranger())
    assert response.json() == {"files": [], "next_page_token": None}
    tagged = await town.client.get("/filesByTags", params={"tags": "nobodyusesthis"})
    assert tagged.json() == {
        "files": [],
        "count": 0,
        "tags": ["nobodyusesthis"],
        "next_page_token": None,
    }


@pytest.mark.parametrize(
    ("count", "sizes"), [(1, [1]), (12, [12]), (13, [12, 1]), (22, [12, 9, 1])]
)
async def test_the_first_page_of_drafts_has_12_files_and_later_pages_have_9(
    town: World, count: int, sizes: list[int]
) -> None:
    alice = town.stranger()
    cids = [(await town.create(alice))["cid"] for _ in range(count)]
    pages = await _walk(town, await _drafts(town, alice))
    assert [len(page) for page in pages] == sizes
    assert _flat(pages) == cids[::-1]


async def test_only_the_owner_can_list_drafts(town: World) -> None:
    alice, eve = town.stranger(), town.stranger()
    await town.create(alice)
    headers = await town.login(eve)
    params = {"owner": alice.address}
    response = await town.client.get("/pendingFilesByOwner", params=params, headers=headers)
    assert problem(response) == (403, "subject_mismatch")


async def test_the_owner_address_may_be_given_in_any_case(town: World) -> None:
    alice = town.stranger()
    await town.create(alice)
    headers = await town.login(alice)
    params = {"owner": alice.account.address}
    response = await town.client.get("/pendingFilesByOwner", params=params, headers=headers)
    assert len(response.json()["files"]) == 1


@pytest.mark.parametrize("query", ["", "?owner=", "?owner=alice", "?owner=0x1&owner=0x1"])
async def test_the_owner_parameter_must_be_one_address(town: World, query: str) -> None:
    headers = await town.login(town.stranger())
    response = await town.client.get(f"/pendingFilesByOwner{query}", headers=headers)
    assert problem(response) == (400, "invalid_address")


async def test_a_list_of_drafts_contains_no_posts(town: World) -> None:
    alice = town.wallet(2)
    draft = await town.create(alice)
    _, post = await town.post(alice)
    (page,) = await _walk(town, await _drafts(town, alice))
    assert draft["cid"] in page
    assert post["cid"] not in page


async def test_a_list_of_drafts_is_never_cached(town: World) -> None:
    assert (await _drafts(town, town.stranger())).headers["cache-control"] == "no-store"


async def test_an_updated_draft_is_listed_once_and_first(town: World) -> None:
    alice = town.stranger()
    first = await town.create(alice)
    second = await town.create(alice)
    newer = await town.update(alice, first["cid"], "Newer.")
    (page,) = await _walk(town, await _drafts(town, alice))
    assert page == [newer["cid"], second["cid"]]


@pytest.mark.parametrize("listed", ["recent", "tagged"])
async def test_no_public_list_shows_a_draft(
    tmp_path_factory: pytest.TempPathFactory, listed: str
) -> None:
    async with open_world(tmp_path_factory.mktemp("drafts")) as world:
        alice = world.wallet(1)
        posts = await _publish_posts(world, "shared", 10)
        drafts = []
        for _ in range(3):
            drafts.append((await world.create(alice))["cid"])
            await world.publish(alice, drafts[-1], "shared")
        if listed == "tagged":
            first = await world.client.get("/filesByTags", params={"tags": "shared"})
        else:
            first = await world.client.get("/filesMetaData")
        pages = await _walk(world, first)
        assert _flat(pages) == posts[::-1]
        assert not set(drafts) & set(_flat(pages))


async def test_public_lists_have_nine_files_per_page(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async with open_world(tmp_path_factory.mktemp("nine")) as world:
        posts = await _publish_posts(world, "nine", 19)
        for path, params in (("/filesMetaData", {}), ("/filesByTags", {"tags": "nine"})):
            pages = await _walk(world, await world.client.get(path, params=params))
            assert [len(page) for page in pages] == [9, 9, 1]
            assert _flat(pages) == posts[::-1]


async def test_a_setting_shows_drafts_in_public_lists(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("public")
    async with open_world(folder, PUBLIC_DRAFTS="on") as world:
        draft = await world.create(world.wallet(1))
        _, post = await world.post(world.wallet(1))
        pages = await _walk(world, await world.client.get("/filesMetaData"))
        assert pages == [[post["cid"], draft["cid"]]]


async def test_a_page_token_shows_drafts_only_while_public_drafts_are_on(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("private")
    async with open_world(folder, PUBLIC_DRAFTS="on") as world:
        _, post = await world.post(world.wallet(1))
        for _ in range(10):
            await world.create(world.wallet(1))
        token = (await world.client.get("/filesMetaData")).json()["next_page_token"]
        clock = world.clock
    params = {"next_page_token": token}
    for switch, shown in (("on", 2), ("off", 1)):
        async with open_world(folder, clock=clock, PUBLIC_DRAFTS=switch) as world:
            files = (await world.client.get("/filesByNextPageToken", params=params)).json()["files"]
            assert len(files) == shown
            assert files[-1]["cid"] == post["cid"]


async def test_only_files_with_all_given_tags_match(town: World) -> None:
    (both,) = await _publish_posts(town, "red,green", 1)
    (red,) = await _publish_posts(town, "red", 1)
    for tags, found in (
        ("red", [red, both]),
        ("green", [both]),
        ("red,green", [both]),
        ("#RED, Green", [both]),
        ("red,blue", []),
    ):
        response = await town.client.get("/filesByTags", params={"tags": tags})
        assert [file["cid"] for file in response.json()["files"]] == found
        assert response.json()["count"] == len(found)


async def test_tags_are_returned_normalized(town: World) -> None:
    response = await town.client.get("/filesByTags", params={"tags": "#ONE, Two,one"})
    assert response.json()["tags"] == ["one", "two"]


@pytest.mark.parametrize("tag", ["status", "owner", "onchain", "pending"])
async def test_a_tag_is_never_mistaken_for_metadata(town: World, tag: str) -> None:
    await town.post(town.wallet(1))
    response = await town.client.get("/filesByTags", params={"tags": tag})
    assert response.json()["files"] == []


BAD_TAGS = [
    "",
    ",",
    ",,,",
    "two words",
    "a" * 33,
    "%",
    "a'--",
    "\0",
    ",".join("abcdefghijk"),
]


@pytest.mark.parametrize("tags", BAD_TAGS, ids=range(len(BAD_TAGS)))
async def test_an_invalid_list_of_tags_is_refused(town: World, tags: str) -> None:
    response = await town.client.get("/filesByTags", params={"tags": tags})
    assert problem(response) == (400, "invalid_tags")


@pytest.mark.parametrize("query", ["", "?tags=a&tags=b"])
async def test_the_tags_parameter_is_required_exactly_once(town: World, query: str) -> None:
    assert problem(await town.client.get(f"/filesByTags{query}")) == (400, "invalid_tags")


async def test_metadata_of_one_file_is_a_list_of_one_record_without_content(town: World) -> None:
    file = await town.create(town.stranger(), "Hidden words.")
    response = await town.client.get("/filesMetaData", params={"cid": file["cid"]})
    assert response.json().keys() == {"files", "next_page_token"}
    assert response.json()["next_page_token"] is None
    (found,) = response.json()["files"]
    assert {name: found[name] for name in file} == file
    assert "Hidden words." not in response.text


@pytest.mark.parametrize("cid", ["", "x", "../x"])
async def test_metadata_of_an_invalid_cid_is_refused(town: World, cid: str) -> None:
    response = await town.client.get("/filesMetaData", params={"cid": cid})
    assert problem(response) == (400, "invalid_cid")


async def test_metadata_of_an_unknown_file_is_not_found(town: World) -> None:
    cid = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
    response = await town.client.get("/filesMetaData", params={"cid": cid})
    assert problem(response) == (404, "not_found")


async def test_the_page_token_parameter_is_required(town: World) -> None:
    for query in ("", "?next_page_token=", "?next_page_token=a&next_page_token=b"):
        response = await town.client.get(f"/filesByNextPageToken{query}")
        assert problem(response) == (400, "invalid_page_token")


async def _some_token(world: World) -> tuple[Wallet, str]:
    alice = world.stranger()
    for _ in range(13):
        await world.create(alice)
    return alice, (await _drafts(world, alice)).json()["next_page_token"]


async def test_a_page_token_needs_no_session(town: World) -> None:
    _, token = await _some_token(town)
    response = await _next(town, token)
    assert len(response.json()["files"]) == 1
    assert response.headers["cache-control"] == "no-store"


async def test_a_page_token_is_opaque(town: World) -> None:
    alice, token = await _some_token(town)
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    for known in (alice.address, alice.address[2:], "owner", "draft"):
        assert known.encode() not in raw
    assert bytes.fromhex(alice.address[2:]) not in raw


async def test_a_modified_page_token_is_refused(town: World) -> None:
    _, token = await _some_token(town)
    changed = [token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
               for at in range(len(token))]  # fmt: skip
    changed += [token[:-1], token + "A", token + "=", token * 2, "A" * 5000, "ü", "\0"]
    for each in changed:
        assert problem(await _next(town, each)) == (400, "invalid_page_token")


async def test_a_page_token_from_another_deployment_is_refused(
    town: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _, token = await _some_token(town)
    folder = tmp_path_factory.mktemp("other")
    async with open_world(folder, JWT_SECRET="9f8e7d6c5b4a39281706f5e4d3c2b1a0") as world:
        assert problem(await _next(world, token)) == (400, "invalid_page_token")


@pytest.mark.parametrize(("seconds", "good"), [(15 * 60 - 1, True), (15 * 60, False)])
async def test_a_page_token_for_drafts_is_valid_for_fifteen_minutes(
    town: World, seconds: int, good: bool
) -> None:
    _, token = await _some_token(town)
    town.clock.advance(seconds)
    response = await _next(town, token)
    if good:
        assert response.status_code == 200
    else:
        assert problem(response) == (400, "invalid_page_token")


async def test_a_page_token_for_drafts_never_outlives_its_session(town: World) -> None:
    alice = town.stranger()
    headers = await town.login(alice)
    for _ in range(22):
        await town.create(alice)
    town.clock.advance(7200 - 60)
    params = {"owner": alice.address}
    listed = await town.client.get("/pendingFilesByOwner", params=params, headers=headers)
    first = listed.json()["next_page_token"]
    later = (await _next(town, first)).json()["next_page_token"]
    town.clock.advance(61)
    for token in (first, later):
        assert problem(await _next(town, token)) == (400, "invalid_page_token")


async def test_a_page_token_for_a_public_list_is_valid_for_a_day(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async with open_world(tmp_path_factory.mktemp("day")) as world:
        await _publish_posts(world, "day", 10)
        token = (await world.client.get("/filesMetaData")).json()["next_page_token"]
        world.clock.advance(23 * 3600)
        assert len((await _next(world, token)).json()["files"]) == 1
        # The page has not changed, but its token has.
        newer = (await world.client.get("/filesMetaData")).json()["next_page_token"]
        world.clock.advance(3600)
        assert problem(await _next(world, token)) == (400, "invalid_page_token")
        assert len((await _next(world, newer)).json()["files"]) == 1


async def test_a_page_is_encoded_once_a_second_while_nobody_writes(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async with open_world(tmp_path_factory.mktemp("second")) as world:
        await _publish_posts(world, "second", 10)
        bodies = [(await world.client.get("/filesMetaData")).content for _ in range(2)]
        assert bodies[0] == bodies[1]
        await _publish_posts(world, "second", 1)
        assert (await world.client.get("/filesMetaData")).content != bodies[0]


async def test_paging_shows_each_draft_exactly_once_while_others_are_created(town: World) -> None:
    alice = town.stranger()
    before = [(await town.create(alice))["cid"] for _ in range(30)]
    response = await _drafts(town, alice)
    seen: list[str] = []
    while True:
        seen += [file["cid"] for file in response.json()["files"]]
        token = response.json()["next_page_token"]
        if token is None:
            break
        await asyncio.gather(*(town.create(wallet) for wallet in (alice, alice, town.stranger())))
        response = await _next(town, token)
    assert len(seen) == len(set(seen))
    assert seen == before[::-1]


async def test_deleting_a_draft_while_paging_skips_no_other_draft(town: World) -> None:
    alice = town.stranger()
    before = [(await town.create(alice))["cid"] for _ in range(25)]
    response = await _drafts(town, alice)
    first = [file["cid"] for file in response.json()["files"]]
    for gone in (first[0], first[-1], before[0]):
        assert (await town.send_delete(alice, gone)).status_code == 200
    rest = _flat(await _walk(town, await _next(town, response.json()["next_page_token"])))
    assert first + rest == before[:0:-1]
