"""Profiles over HTTP: what an author signs is what readers see, and nothing else."""

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.contract_wallets import KINDS, open_wallet
from tests.profiles import (
    hash_of_picture,
    portrait,
    post_profile,
    profile_envelope,
    save_profile,
    send_profile,
)
from tests.web.conftest import EVERY_DATABASE
from tests.world import World, open_world, problem

from imprint.domain.drafts.documents import MAX_IMAGE_BYTES

pytestmark = [*EVERY_DATABASE, pytest.mark.asyncio(loop_scope="module")]

INVALID = (400, "invalid_profile")
HTML = "<script>alert(1)</script>&\"'"


async def _post(town: World, wallet: Any, price: int = 0) -> str:
    """Publish a post by this wallet and index it."""
    file = await town.create(wallet)
    thumbnail = await town.publish(wallet, file["cid"])
    entry = (file["cid"], "Title", thumbnail, "About it", price, ["profiles"])
    block = town.create_post_with(wallet, entry)
    await town.deliver_a(block)
    await town.index()
    params = {"author": wallet.address}
    newest = (await town.client.get("/posts", params=params)).json()["posts"][0]
    return str(newest["id"])


async def test_a_profile_is_saved_exactly_as_signed(town: World) -> None:
    author = town.stranger()
    links = "https://ada.example/a?b=c#d\nmailto:ada@ink.example"
    response = await send_profile(
        town, author, name="Ada Ink", bio="Writes.\nBy hand.", links=links
    )
    assert response.status_code == 200
    profile = response.json()["profile"]
    updated_at = profile.pop("updatedAt")
    assert profile == {
        "address": author.address,
        "name": "Ada Ink",
        "bio": "Writes.\nBy hand.",
        "links": links.split("\n"),
        "avatarCid": None,
    }
    assert updated_at.endswith("Z")
    shown = (await town.client.get(f"/authors/{author.address}")).json()
    assert shown["profile"] == profile | {"updatedAt": updated_at}
    assert (shown["posts"], shown["firstPostAt"]) == (0, None)


async def test_an_address_with_neither_post_nor_profile_is_not_found(town: World) -> None:
    await town.index()
    response = await town.client.get(f"/authors/{town.stranger().address}")
    assert problem(response) == (404, "not_found")


async def test_a_name_is_normalised_and_stripped(town: World) -> None:
    profile = await save_profile(town, town.stranger(), name=" Zoe\u0308 \u0646\u200c\u0627 ")
    assert profile["name"] == "Zo\u00eb \u0646\u200c\u0627"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        "\u200d",
        "x" * 65,
        "two\nlines",
        "tab\there",
        "nul\0",
        "bell\x07",
        "\x85next",
        "right\u202eleft",
        "isolate\u2066d",
        "mark\u200f",
        "zero\u200bwidth",
        "soft\u00adhyphen",
        "bom\ufeff",
        "line\u2028sep",
        "filler\u3164",
        "braille\u2800",
        "em\u2003space",
        "selector\ufe0f",
        "tag\U000e0041",
        "0x1234",
        "0X71C7…976F",
        "\uff10\uff58ff",
        "0\u04451234",
        "vitalik.eth",
        "Vitalik.ETH",
        "vitalik\uff0eeth",
        "vitalik.e\u200dth",
        "ada (ada.eth)",
        "I am 0xdead",
    ],
)
async def test_a_misleading_name_is_refused(town: World, name: str) -> None:
    assert problem(await send_profile(town, town.stranger(), name=name)) == INVALID


@pytest.mark.parametrize(
    "name",
    ["x" * 64, "Oxford", "Ethel", "Beth", "李白", "O’Neil 🖋", "1984", "Nguyễn Văn A", "A.E. Thorn"],
)
async def test_an_honest_name_is_accepted(town: World, name: str) -> None:
    assert (await save_profile(town, town.stranger(), name=name))["name"] == name


@pytest.mark.parametrize("bio", ["x" * 501, "carriage\rreturn", "right\u202eleft", "a\u200bb"])
async def test_a_bio_that_is_too_long_or_has_invisible_characters_is_refused(
    town: World, bio: str
) -> None:
    assert problem(await send_profile(town, town.stranger(), bio=bio)) == INVALID


@pytest.mark.parametrize(
    "links",
    [
        "\n".join(f"https://{n}.example" for n in range(6)),
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,hello",
        "http://plain.example",
        "//host.example",
        "https://",
        "https:///path",
        "https://user@host.example",
        "https://host.example:99999",
        "https://host.example\n",
        "\nhttps://host.example",
        " https://host.example",
        "https://host.example/a b",
        'https://host.example/"onclick="x',
        "https://host.example/<b>",
        "https://host\u202e.example",
        "mailto:",
        "mailto:nobody",
        "https://host.example/" + "x" * 300,
    ],
)
async def test_invalid_links_are_refused(town: World, links: str) -> None:
    assert problem(await send_profile(town, town.stranger(), links=links)) == INVALID


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
async def test_a_picture_becomes_a_square_without_metadata(town: World, kind: str) -> None:
    author = town.stranger()
    image = portrait(size=(900, 700), kind=kind)
    cid = (await save_profile(town, author, image))["avatarCid"]
    response = await town.client.get(f"/ipfs/{cid}")
    assert response.status_code == 200
    assert "immutable" in response.headers["cache-control"]
    with Image.open(io.BytesIO(response.content)) as shown:
        assert shown.size == (512, 512)
        assert shown.format in ("PNG", "JPEG")


async def test_a_small_picture_is_not_enlarged(town: World) -> None:
    cid = (await save_profile(town, town.stranger(), portrait(size=(40, 30))))["avatarCid"]
    with Image.open(io.BytesIO((await town.client.get(f"/ipfs/{cid}")).content)) as shown:
        assert shown.size == (30, 30)


async def test_a_profile_picture_can_be_kept_replaced_or_removed(town: World) -> None:
    author = town.stranger()
    first = (await save_profile(town, author, portrait()))["avatarCid"]
    kept = await save_profile(town, author, name="Another name")
    assert (kept["name"], kept["avatarCid"]) == ("Another name", first)
    image = portrait()
    second = (await save_profile(town, author, image))["avatarCid"]
    assert second not in (None, first)
    again = await save_profile(town, author, image)
    assert again["avatarCid"] == second
    assert (await save_profile(town, author, avatar="none"))["avatarCid"] is None


@pytest.mark.parametrize("avatar", ["keep", "none", "", "0x12", "later", "0x" + "g" * 64])
async def test_a_file_that_the_signature_does_not_name_is_refused(town: World, avatar: str) -> None:
    response = await send_profile(town, town.stranger(), portrait(), avatar=avatar)
    assert problem(response) == INVALID


async def test_a_hash_without_a_file_is_refused(town: World) -> None:
    response = await send_profile(town, town.stranger(), avatar=hash_of_picture(portrait()))
    assert problem(response) == INVALID


async def test_a_file_other_than_the_signed_one_is_refused(town: World) -> None:
    response = await send_profile(
        town, town.stranger(), portrait(), avatar=hash_of_picture(portrait())
    )
    assert problem(response) == (401, "body_mismatch")


@pytest.mark.parametrize(
    ("image", "refused"),
    [
        (b"GIF89a" + bytes(20), (415, "unsupported_media_type")),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), (400, "invalid_image")),
        (b"\x89PNG\r\n\x1a\n" + bytes(MAX_IMAGE_BYTES), (413, "too_large")),
    ],
)
async def test_a_file_that_is_not_a_picture_is_refused(
    town: World, image: bytes, refused: tuple[int, str]
) -> None:
    author = town.stranger()
    assert problem(await send_profile(town, author, image)) == refused
    await town.index()
    response = await town.client.get(f"/authors/{author.address}")
    assert problem(response) == (404, "not_found")


async def test_a_replay_is_refused_and_names_the_action(town: World) -> None:
    author = town.stranger()
    signed = author.sign_envelope(profile_envelope(town.clock.seconds))
    assert (await post_profile(town, signed)).status_code == 200
    response = await post_profile(town, signed)
    assert problem(response) == (409, "nonce_used")
    assert (response.json()["action"], response.json()["file"]) == ("profile", None)


async def test_profiles_and_other_writes_share_one_nonce_space(town: World) -> None:
    author = town.stranger()
    await save_profile(town, author, nonce="one")
    body = author.sign("create", "one") | {"content": "Words."}
    response = await town.client.post("/create/group", json=body)
    assert problem(response) == (409, "nonce_used")


@pytest.mark.parametrize("seconds", [-61, 61])
async def test_a_stale_signature_is_refused(town: World, seconds: int) -> None:
    response = await send_profile(town, town.stranger(), timestamp=town.clock.seconds + seconds)
    assert problem(response) == (401, "signature_stale")


async def test_a_signature_for_another_service_is_refused(town: World) -> None:
    response = await send_profile(town, town.stranger(), service="https://other.example")
    assert problem(response) == (401, "body_mismatch")


async def test_a_signature_by_another_account_is_refused(town: World) -> None:
    author, other = town.stranger(), town.stranger()
    signed = author.sign_envelope(profile_envelope(town.clock.seconds))
    response = await post_profile(town, signed | {"address": other.account.address})
    assert problem(response) == (401, "signature_invalid")


async def test_a_text_changed_after_signing_is_refused(town: World) -> None:
    signed = town.stranger().sign_envelope(profile_envelope(town.clock.seconds))
    signed["salt"]["message"]["name"] = "Somebody else"
    assert problem(await post_profile(town, signed)) == (401, "signature_invalid")


async def test_typed_data_of_a_draft_is_refused(town: World) -> None:
    response = await post_profile(town, town.stranger().sign("create"))
    assert problem(response) == (400, "invalid_typed_data")


async def test_the_key_of_a_writing_session_cannot_sign_a_profile(town: World) -> None:
    author = town.stranger()
    response = await send_profile(town, author, fields={"session": "0" * 36})
    assert problem(response) == (403, "writing_session_scope")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_contract_wallet_can_have_a_profile(town: World, kind: str) -> None:
    wallet = open_wallet(town, kind)
    assert (await save_profile(town, wallet, name="A safe"))["address"] == wallet.address


async def test_concurrent_updates_all_succeed_and_the_last_one_stays(town: World) -> None:
    author = town.stranger()
    images = [portrait() for _ in range(4)]
    saved = await asyncio.gather(
        *(save_profile(town, author, image, name=f"Name {n}") for n, image in enumerate(images))
    )
    shown = (await town.client.get(f"/authors/{author.address}")).json()["profile"]
    assert shown in saved
    assert (await town.client.get(f"/ipfs/{shown['avatarCid']}")).status_code == 200
    (row,) = [row for row in saved if row == shown]
    assert row["avatarCid"] == shown["avatarCid"]
    assert await town.adapters.stores.garbage.recount_usage() == 0


async def test_one_of_two_identical_concurrent_requests_succeeds(town: World) -> None:
    author = town.stranger()
    image = portrait()
    envelope = profile_envelope(town.clock.seconds, avatar=hash_of_picture(image))
    signed = author.sign_envelope(envelope)
    responses = await asyncio.gather(*(post_profile(town, signed, image) for _ in range(3)))
    assert sorted(each.status_code for each in responses) == [200, 409, 409]


async def test_every_list_immediately_shows_the_new_byline(town: World) -> None:
    author, reader = town.wallet(4), town.wallet(5)
    post_id = await _post(town, author, 5)
    town.buy(reader, int(post_id), 5)
    await town.index()
    session = await town.login(reader)

    async def bylines() -> list[object]:
        params = {"author": author.address}
        listed = await town.client.get("/posts", params=params)
        found = await town.client.get("/posts", params=params | {"q": "title"})
        library = await town.client.get("/me/library", headers=session)
        single = await town.client.get(f"/posts/{post_id}")
        held = [each for each in library.json()["posts"] if each["author"] == author.address]
        posts = [*listed.json()["posts"], *found.json()["posts"], *held, single.json()]
        return [post["byline"] for post in posts]

    await save_profile(town, author, avatar="none", name="First")
    before = await town.client.get(f"/posts/{post_id}")
    assert set(map(str, await bylines())) == {str({"name": "First", "avatarCid": None})}
    cid = (await save_profile(town, author, portrait(), name="Second"))["avatarCid"]
    shown = await bylines()
    assert len(shown) >= 4
    assert all(each == {"name": "Second", "avatarCid": cid} for each in shown)
    tag = before.headers["etag"]
    again = await town.client.get(f"/posts/{post_id}", headers={"If-None-Match": tag})
    assert again.status_code == 200


async def test_a_post_by_an_author_without_a_profile_has_no_byline(town: World) -> None:
    post_id = await _post(town, town.wallet(6))
    assert (await town.client.get(f"/posts/{post_id}")).json()["byline"] is None


async def test_feeds_and_markdown_name_the_author(town: World) -> None:
    author = town.wallet(7)
    post_id = await _post(town, author)
    cid = (await save_profile(town, author, portrait(), name=HTML))["avatarCid"]
    feed = (await town.client.get(f"/feeds/authors/{author.address}.json")).json()
    assert feed["items"][0]["authors"][0]["name"] == HTML
    assert feed["items"][0]["authors"][0]["avatar"].endswith(f"/ipfs/{cid}")
    atom = (await town.client.get(f"/feeds/authors/{author.address}.atom")).text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in atom
    assert "<script>" not in atom
    text = (await town.client.get(f"/posts/{post_id}.md")).text
    assert "<script>" not in text
    assert f"(`{author.address}`)" in text


async def test_pages_escape_the_texts_of_a_profile(town: World) -> None:
    author = town.wallet(8)
    post_id = await _post(town, author)
    await save_profile(
        town, author, name=HTML, bio=f"{HTML}\n{HTML}", links="https://ada.example/?a=1&b=2"
    )
    for path in (f"/a/{author.address}", f"/p/{post_id}", "/"):
        page = (await town.client.get(path, headers={"Accept": "text/html"})).text
        assert "<script>alert" not in page
    page = (await town.client.get(f"/a/{author.address}")).text
    assert 'href="https://ada.example/?a=1&amp;b=2" rel="ugc nofollow"' in page
    short = f"{author.address[:6]}…{author.address[-4:]}"
    assert f'title="{author.address}">{short}</span></h1>' in page
    assert 'name="robots"' not in page
    shown = (await town.client.get(f"/p/{post_id}", follow_redirects=True)).text
    assert f'title="{short}"' in shown
    assert '<meta name="author" content="&lt;script&gt;' in shown


async def test_the_page_of_an_author_without_posts_is_not_indexed(town: World) -> None:
    author = town.stranger()
    await save_profile(town, author, name="Quiet")
    page = await town.client.get(f"/a/{author.address}")
    assert page.status_code == 200
    assert '<meta name="robots" content="noindex">' in page.text


async def test_two_authors_with_one_name_can_be_distinguished(town: World) -> None:
    first, second = town.wallet(9), town.wallet(1)
    for author, name in ((first, "Same Name"), (second, "SAME\u00a0name")):
        await _post(town, author)
        await save_profile(town, author, name=name)
    page = (await town.client.get("/t/profiles")).text
    for author in (first, second):
        short = f"{author.address[:6]}…{author.address[-4:]}"
        assert f'<span class="author-address">{short}</span>' in page
    await save_profile(town, second, name="Another Name")
    page = (await town.client.get("/t/profiles")).text
    assert f'<span class="author-address">{first.address[:6]}' not in page


async def test_a_profile_survives_a_restart(tmp_path: Path) -> None:
    async with open_world(tmp_path) as town:
        author = town.stranger()
        saved = await save_profile(town, author, portrait(), name="Ada", bio="Words.")
    async with open_world(tmp_path) as town:
        shown = (await town.client.get(f"/authors/{author.address}")).json()
        assert shown["profile"] == saved
        assert (await town.client.get(f"/ipfs/{saved['avatarCid']}")).status_code == 200


async def test_profile_updates_count_towards_the_write_rate_limit(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_WRITES="2/60") as town:
        author = town.stranger()
        for _ in range(2):
            await save_profile(town, author)
        assert problem(await send_profile(town, author)) == (429, "rate_limited")


async def test_a_picture_beyond_the_quota_is_refused(tmp_path: Path) -> None:
    async with open_world(tmp_path, QUOTA_BYTES="40") as town:
        author = town.stranger()
        response = await send_profile(town, author, portrait(size=(200, 200)))
        assert problem(response) == (413, "quota_exceeded")
        assert (await send_profile(town, author)).status_code == 200


async def test_the_facts_list_profiles_as_a_feature(town: World) -> None:
    facts = (await town.client.get("/.well-known/imprint.json")).json()
    assert "profiles" in facts["features"]
