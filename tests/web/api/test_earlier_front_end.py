"""A replay of the requests that the earlier service's front end sends, with rate limits on."""

import base64
import io
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from PIL import Image
from tests.signed_forms import BOUND, PATHS, Request, send, sign
from tests.world import DEFAULT_PRICE, Wallet, World, open_world, problem

from imprint.bootstrap.background import build_indexer
from imprint.domain.formats.cids import document_cid
from imprint.domain.moderation import Decision, Ground, Measure, Target, TargetKind
from imprint.domain.rate_limits import RateLimiter

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGE = "https://inkdao.example"
"""The origin of the front end."""

POSTS, DRAFTS = 21, 15
"""Numbers of posts and drafts that fill three and two pages, respectively."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory, records: None) -> AsyncIterator[World]:
    """A service that is compatible with the front end."""
    options = {
        "COMPATIBILITY": "inkdao",
        "CORS_ORIGINS": PAGE,
        "LOGIN_DOMAINS": "inkdao.example",
        "RATE_LIMITS": "on",
        "CHAIN_CACHE_SECONDS": "0",
    }
    async with open_world(tmp_path_factory.mktemp("site"), **options) as opened:
        opened.client.headers["Origin"] = PAGE
        yield opened


def decode_session(token: str) -> dict[str, Any]:
    """The claims of a token, read like `jwt-decode` does: the second part, without verification."""
    part = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


async def sign_in(site: World, wallet: Wallet) -> dict[str, str]:
    message = wallet.login_message(domain="inkdao.example")
    response = await site.client.post("/auth/login", json=wallet.sign_login(message))
    assert response.status_code == 200, response.text
    assert decode_session(response.json()["token"])["address"] == wallet.address
    return {"Authorization": f"Bearer {response.json()['token']}"}


def webp() -> bytes:
    file = io.BytesIO()
    Image.frombytes("RGB", (64, 36), os.urandom(64 * 36 * 3)).save(file, "WEBP")
    return file.getvalue()


def editor_content(title: str, pictures: int = 0, size: int = 0) -> str:
    """Content as the editor saves it: JSON blocks, with pictures as data URLs."""
    url = "data:image/png;base64," + base64.b64encode(os.urandom(size)).decode()
    blocks = [{"type": "paragraph", "data": {"text": f"About {title}."}}]
    blocks += [{"type": "image", "data": {"file": {"url": url}}} for _ in range(pictures)]
    return json.dumps({"title": title, "content": {"blocks": blocks}}, indent=2)


@dataclass(slots=True)
class Author:
    """An author who uses the front end, which sends a session with every write."""

    site: World
    wallet: Wallet
    session: dict[str, str] = field(default_factory=dict)

    def sign(self, request: Request) -> dict[str, Any]:
        """Sign like the front end: without a primary type, with a numeric timestamp and a nonce
        derived from the time."""
        self.site.clock.advance(1)
        seconds = self.site.clock.seconds
        nonce = f"{self.wallet.address}_{seconds}"
        signed = sign(self.wallet, "inkdao-1", request, nonce, name="InkDAO")
        signed["salt"]["message"]["address"] = self.wallet.account.address
        assert signed["salt"].keys() == {"domain", "types", "message"}
        assert type(signed["salt"]["message"]["timestamp"]) is int
        return signed

    async def create(self, title: str, content: str | None = None) -> dict[str, Any]:
        request = Request("create", title=title, content=content or editor_content(title))
        file: dict[str, Any] = (await self.send(request)).json()["updatedUpload"]
        return file

    async def update(self, cid: str, title: str) -> dict[str, Any]:
        request = Request("update", cid, editor_content(title))
        file: dict[str, Any] = (await self.send(request)).json()["upload"]
        return file

    async def delete(self, cid: str) -> None:
        response = await self.send(Request("delete", cid))
        assert response.json()["deletedFile"]["status"] == "deleted"

    async def send(self, request: Request) -> httpx2.Response:
        response = await send(self.site, self.sign(request), request, **self.session)
        assert response.status_code == 200, response.text
        assert response.headers["access-control-allow-origin"] == PAGE
        return response

    async def prepare(self, cid: str, hashtags: str) -> str:
        """Send the publication form with its file first, like the front end. Returns the cid of the
        thumbnail."""
        signed = self.sign(Request("publish", cid))
        texts = signed | {"salt": json.dumps(signed["salt"], separators=(",", ":"))}
        if hashtags:
            texts["hashtags"] = hashtags
        parts = [("file", ("cover.webp", webp(), "image/webp"))]
        parts += [(name, (None, text)) for name, text in texts.items()]  # type: ignore[misc]
        response = await self.site.client.post(
            PATHS["publish"], params={"cid": cid}, files=parts, headers=self.session
        )
        assert response.status_code == 200, response.text
        thumbnail: str = response.json()["thumbnailCid"]
        return thumbnail


async def open_author(site: World, index: int) -> Author:
    wallet = site.wallet(index)
    return Author(site, wallet, await sign_in(site, wallet))


async def walk(site: World, path: str, **options: Any) -> list[dict[str, Any]]:
    """Fetch every record of a list page by page, as the front end does before showing anything."""
    page = (await site.client.get(path, **options)).json()
    files = list(page["files"])
    while page["next_page_token"] is not None:
        wanted = {"next_page_token": page["next_page_token"]}
        response = await site.client.get("/filesByNextPageToken", params=wanted)
        assert response.status_code == 200, response.text
        page = response.json()
        files += page["files"]
    return files


async def publish(author: Author, title: str, tags: str) -> int:
    """Create a draft, add a WebP thumbnail, and publish it on the chain. Returns the id of the
    post."""
    site = author.site
    file = await author.create(title)
    thumbnail = await author.prepare(file["cid"], tags)
    post = (file["cid"], title, thumbnail, "", DEFAULT_PRICE, tags.split(","))
    (event,) = (await site.deliver_a(site.create_post_with(author.wallet, post))).json()["events"]
    assert event["status"] == "onchain"
    return int(event["postId"])


async def test_drafts_are_listed_and_then_read_one_by_one(site: World) -> None:
    alice = await open_author(site, 4)
    for number in range(DRAFTS):
        await alice.create(f"draft {number}")
    session = alice.session
    wanted = {"owner": alice.wallet.address}
    drafts = await walk(site, "/pendingFilesByOwner", params=wanted, headers=session)
    assert len(drafts) == DRAFTS
    titles = set()
    for draft in drafts:
        response = await site.client.get(
            "/fileByCid", params={"cid": draft["cid"]}, headers=session
        )
        assert response.headers["access-control-allow-origin"] == PAGE
        titles.add(json.loads(response.json()["content"])["title"])
    assert titles == {f"draft {number}" for number in range(DRAFTS)}


async def test_the_feed_is_paged_to_its_end_with_thumbnails_and_tags(site: World) -> None:
    authors = [await open_author(site, index) for index in (1, 2, 3)]
    for number in range(POSTS):
        tags = "poetry,status" if number % 3 else "essay"
        await publish(authors[number % 3], f"post {number}", tags)
    feed = [file for file in await walk(site, "/filesMetaData") if file["hashtags"]]
    assert len(feed) == POSTS
    for file in feed:
        assert file["keyvalues"]["status"] == "onchain"
        assert file["keyvalues"]["owner"] in {each.wallet.address for each in authors}
        assert file["keyvalues"]["publishedAt"] == file["published_at"]
        shown = await site.client.get(f"/ipfs/{file['thumbnail_cid']}")
        assert shown.headers["content-type"] in ("image/jpeg", "image/png")
        assert Image.open(io.BytesIO(shown.content)).size == (64, 36)
    poems = await walk(site, "/filesByTags", params={"tags": "poetry"})
    assert len(poems) == POSTS * 2 // 3
    assert all(file["keyvalues"]["poetry"] == "poetry" for file in poems)


async def test_a_new_reader_can_buy_and_read_in_the_same_session(site: World) -> None:
    author, reader = await open_author(site, 5), site.wallet(6)
    post_id = await publish(author, "for sale", "trade")
    session = await sign_in(site, reader)
    refused = await site.read_post(reader, post_id, session)
    assert (refused.status_code, refused.json()["code"]) == (404, "not_entitled")
    site.buy(reader, post_id)
    response = await site.read_post(reader, post_id, session)
    assert json.loads(response.json()["content"])["title"] == "for sale"
    assert response.json()["file"]["keyvalues"]["trade"] == "trade"


async def test_the_dashboard_shows_totals_and_daily_activity(site: World) -> None:
    author, reader = await open_author(site, 7), site.wallet(8)
    post_id = await publish(author, "counted", "numbers")
    site.buy(reader, post_id)
    await build_indexer(site.settings, site.adapters).index_once()
    metrics = await site.client.get("/userMetrics", params={"userAddress": author.wallet.address})
    assert metrics.headers["access-control-allow-origin"] == PAGE
    assert metrics.json()["data"]["creator"] == {
        "totalAssets": 1,
        "totalEarnings": str(DEFAULT_PRICE),
        "totalSubscribers": 1,
        "totalAssetWorth": str(DEFAULT_PRICE),
    }
    days = (await site.client.get("/heatmap", params={"userAddress": author.wallet.address})).json()
    now = site.clock.now()
    assert days["data"] == {"creator": [f"{now.day}/{now.month}/{now.year}"], "holder": []}
    assert (await site.client.get("/globalMetrics")).json()["data"]["totalAssets"] >= 1


async def test_a_text_of_ten_mebibytes_with_pictures_is_stored(site: World) -> None:
    alice = await open_author(site, 4)
    content = editor_content("pictures", pictures=5, size=1_600_000)
    assert len(content) > 10 * 1024 * 1024
    file = await alice.create("pictures", content)
    response = await site.read_draft(alice.wallet, file["cid"])
    assert response.json()["content"] == content


async def test_a_draft_can_be_saved_repeatedly_and_then_deleted(site: World) -> None:
    alice = await open_author(site, 9)
    file = await alice.create("first")
    for title in ("second", "third"):
        file = await alice.update(file["cid"], title)
    read = {"params": {"cid": file["cid"]}, "headers": alice.session}
    shown = await site.client.get("/fileByCid", **read)
    assert json.loads(shown.json()["content"])["title"] == "third"
    await alice.prepare(file["cid"], "")
    await alice.delete(file["cid"])
    assert problem(await site.client.get("/fileByCid", **read)) == (404, "not_found")


async def test_the_inkdao_domain_is_accepted_only_with_the_inkdao_form(site: World) -> None:
    bob = site.stranger()
    request = Request("create")
    for form, name, status in [
        ("inkdao-1", "InkDAO", 200),
        ("inkdao-1", "Imprint", 400),
        ("imprint-1", "InkDAO", 400),
        ("imprint-1", "Imprint", 200),
        (BOUND, "InkDAO", 400),
        (BOUND, "Imprint", 200),
    ]:
        response = await send(site, sign(bob, form, request, name=name), request)
        assert response.status_code == status, (form, name)


async def test_without_compatibility_mode_the_inkdao_domain_is_refused(
    tmp_path: Path, records: None
) -> None:
    async with open_world(tmp_path) as world:
        bob = world.stranger()
        request = Request("create")
        theirs = await send(world, sign(bob, "inkdao-1", request, name="InkDAO"), request)
        assert problem(theirs) == (400, "invalid_typed_data")
        ours = await send(world, sign(bob, "inkdao-1", request), request)
        assert ours.status_code == 200


async def test_a_signature_for_one_draft_cannot_delete_another(site: World) -> None:
    alice = await open_author(site, 9)
    first, second = await alice.create("first"), await alice.create("second")
    signed = alice.sign(Request("delete", first["cid"]))
    response = await send(site, signed, Request("delete", second["cid"]), **alice.session)
    assert problem(response) == (401, "body_mismatch")


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/fileByCid", "authorization,content-type"),
        *(("POST", path, "authorization,content-type") for path in PATHS.values()),
    ],
)
async def test_the_browser_may_send_a_session_from_the_front_ends_origin(
    site: World, method: str, path: str, headers: str
) -> None:
    asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": headers}
    response: httpx2.Response = await site.client.options(path, headers=asked)
    assert response.status_code in (200, 204)
    assert response.headers["access-control-allow-origin"] == PAGE
    allowed = response.headers["access-control-allow-headers"].lower()
    assert all(name in allowed for name in headers.split(","))


async def test_the_read_rate_limit_allows_loading_the_feed_and_drafts_together(
    site: World,
) -> None:
    limiter = RateLimiter(site.settings.limits.reads)
    pages, thumbnails = 1000 // 9 + 1, 1000
    draft_pages, drafts = 200 // 12 + 1, 200
    # Each request with a session is preceded by a preflight request.
    for _ in range(2 * pages + thumbnails + 2 * (draft_pages + drafts)):
        limiter.admit("reader", 0.0)


async def test_any_hashtags_that_an_author_types_can_be_published(site: World) -> None:
    alice = await open_author(site, 9)
    file = await alice.create("tagged")
    await alice.prepare(file["cid"], "Two Words, C++,,#Ink,ink," + "x" * 40)
    read = {"params": {"cid": file["cid"]}, "headers": alice.session}
    shown = (await site.client.get("/fileByCid", **read)).json()["file"]
    assert shown["hashtags"] == ["two-words", "ink"]


OLD_GATEWAY = "https://old-gateway.example"


async def test_missing_thumbnails_are_redirected_to_the_old_gateway(
    tmp_path: Path, records: None
) -> None:
    named, stray, foreign = (str(document_cid(text)) for text in (b"named", b"stray", b"foreign"))
    async with open_world(tmp_path, GATEWAY_FALLBACK=OLD_GATEWAY) as world:
        alice = world.wallet(1)
        file = await world.create(alice)
        for cid, thumbnail in ((file["cid"], named), (str(document_cid(b"elsewhere")), foreign)):
            post = (cid, "A title", thumbnail, "", DEFAULT_PRICE, [])
            await world.deliver_a(world.create_post_with(alice, post))
        await build_indexer(world.settings, world.adapters).index_once()
        upper = "B" + named[1:].upper()
        for spelling in (named, upper):
            response = await world.client.get(f"/ipfs/{spelling}")
            assert response.status_code == 302
            assert response.headers["location"] == f"{OLD_GATEWAY}/ipfs/{named}"
            assert response.headers["cache-control"] == "no-store"
        if_cached = {"Cache-Control": "only-if-cached"}
        cached = await world.client.get(f"/ipfs/{named}", headers=if_cached)
        assert problem(cached) == (412, "not_cached")
        assert problem(await world.client.get(f"/ipfs/{named}?format=car")) == (404, "not_found")
        for cid in (stray, foreign, file["cid"]):
            assert problem(await world.client.get(f"/ipfs/{cid}")) == (404, "not_found")
        kept = await world.publish(alice, (await world.create(alice))["cid"])
        assert (await world.client.get(f"/ipfs/{kept}")).status_code == 200
        policy = (await world.client.get("/")).headers["content-security-policy"]
        assert f"img-src 'self' data: blob: {OLD_GATEWAY};" in policy


async def test_a_missing_thumbnail_is_not_redirected_once_all_its_posts_are_withheld(
    tmp_path: Path, records: None
) -> None:
    named = str(document_cid(b"named"))
    async with open_world(tmp_path, GATEWAY_FALLBACK=OLD_GATEWAY) as world:
        desk, post_ids = world.adapters.stores.moderation, []
        for wallet in (world.wallet(1), world.wallet(2)):
            file = await world.create(wallet)
            post = (file["cid"], "A title", named, "", DEFAULT_PRICE, [])
            response = await world.deliver_a(world.create_post_with(wallet, post))
            post_ids.append(response.json()["events"][0]["postId"])
        await world.index()
        # A picture is redirected as long as any shown post uses it.
        for post_id, status in zip(post_ids, (302, 451), strict=True):
            target = Target(TargetKind.POST, str(post_id))
            decision = Decision(target, Measure.WITHHELD, Ground.LEGAL, "", world.clock())
            await desk.add_decision(decision)
            world.clock.advance(1)
            assert (await world.client.get(f"/ipfs/{named}")).status_code == status


async def test_without_a_fallback_missing_thumbnails_are_not_found(site: World) -> None:
    alice = await open_author(site, 9)
    file, thumbnail = await alice.create("without"), str(document_cid(b"nowhere"))
    post = (file["cid"], "A title", thumbnail, "", DEFAULT_PRICE, [])
    await site.deliver_a(site.create_post_with(alice.wallet, post))
    await build_indexer(site.settings, site.adapters).index_once()
    assert problem(await site.client.get(f"/ipfs/{thumbnail}")) == (404, "not_found")
    policy = (await site.client.get("/")).headers["content-security-policy"]
    assert "img-src 'self' data: blob:;" in policy
