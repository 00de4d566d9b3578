"""The requests of the earlier service's front end, one after another, with rate limits on."""

import base64
import io
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from PIL import Image
from tests.world import DEFAULT_PRICE, Wallet, World, open_world

from imprint.bootstrap.background import build_indexer
from imprint.domain.rate_limits import RateLimiter

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGE = "https://inkdao.example"
"""The origin of the front end."""

POSTS, DRAFTS = 21, 15
"""Three pages of posts, and two pages of drafts."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory, records: None) -> AsyncIterator[World]:
    """A service that the front end is pointed at."""
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
    """The claims, as `jwt-decode` reads them: the second part, and no signature."""
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
    """A text of the editor: blocks in JSON, with pictures as data URLs."""
    url = "data:image/png;base64," + base64.b64encode(os.urandom(size)).decode()
    blocks = [{"type": "paragraph", "data": {"text": f"About {title}."}}]
    blocks += [{"type": "image", "data": {"file": {"url": url}}} for _ in range(pictures)]
    return json.dumps({"title": title, "content": {"blocks": blocks}})


async def walk(site: World, path: str, **options: Any) -> list[dict[str, Any]]:
    """Every record of a list, page by page, as the front end does before it shows anything."""
    page = (await site.client.get(path, **options)).json()
    files = list(page["files"])
    while page["next_page_token"] is not None:
        wanted = {"next_page_token": page["next_page_token"]}
        response = await site.client.get("/filesByNextPageToken", params=wanted)
        assert response.status_code == 200, response.text
        page = response.json()
        files += page["files"]
    return files


async def publish(site: World, wallet: Wallet, title: str, tags: str) -> int:
    """Write, prepare with a WebP thumbnail, and publish on the chain; the id of the post."""
    file = await site.create(wallet, editor_content(title))
    prepared = await site.send_publish(wallet, file["cid"], tags, webp())
    assert prepared.status_code == 200, prepared.text
    thumbnail = prepared.json()["thumbnailCid"]
    post = (file["cid"], title, thumbnail, "", DEFAULT_PRICE, tags.split(","))
    (event,) = (await site.deliver_a(site.create_post_with(wallet, post))).json()["events"]
    assert event["status"] == "onchain"
    return int(event["postId"])


async def test_drafts_are_listed_and_then_read_one_by_one(site: World) -> None:
    alice = site.wallet(4)
    for number in range(DRAFTS):
        await site.create(alice, editor_content(f"draft {number}"))
    session = await sign_in(site, alice)
    wanted = {"owner": alice.address}
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


async def test_the_feed_is_walked_to_its_end_with_thumbnails_and_tags(site: World) -> None:
    authors = [site.wallet(index) for index in (1, 2, 3)]
    for number in range(POSTS):
        tags = "poetry,status" if number % 3 else "essay"
        await publish(site, authors[number % 3], f"post {number}", tags)
    feed = [file for file in await walk(site, "/filesMetaData") if file["hashtags"]]
    assert len(feed) == POSTS
    for file in feed:
        assert file["keyvalues"]["status"] == "onchain"
        assert file["keyvalues"]["owner"] in {each.address for each in authors}
        assert file["keyvalues"]["publishedAt"] == file["published_at"]
        shown = await site.client.get(f"/ipfs/{file['thumbnail_cid']}")
        assert shown.headers["content-type"] in ("image/jpeg", "image/png")
        assert Image.open(io.BytesIO(shown.content)).size == (64, 36)
    poems = await walk(site, "/filesByTags", params={"tags": "poetry"})
    assert len(poems) == POSTS * 2 // 3
    assert all(file["keyvalues"]["poetry"] == "poetry" for file in poems)


async def test_a_stranger_stays_signed_in_buys_and_reads(site: World) -> None:
    author, reader = site.wallet(5), site.wallet(6)
    post_id = await publish(site, author, "for sale", "trade")
    session = await sign_in(site, reader)
    refused = await site.read_post(reader, post_id, session)
    assert (refused.status_code, refused.json()["code"]) == (404, "not_entitled")
    site.buy(reader, post_id)
    response = await site.read_post(reader, post_id, session)
    assert json.loads(response.json()["content"])["title"] == "for sale"
    assert response.json()["file"]["keyvalues"]["trade"] == "trade"


async def test_the_dashboard_shows_totals_and_days(site: World) -> None:
    author, reader = site.wallet(7), site.wallet(8)
    post_id = await publish(site, author, "counted", "numbers")
    site.buy(reader, post_id)
    await build_indexer(site.settings, site.adapters).index_once()
    metrics = await site.client.get("/userMetrics", params={"userAddress": author.address})
    assert metrics.headers["access-control-allow-origin"] == PAGE
    assert metrics.json()["data"]["creator"] == {
        "totalAssets": 1,
        "totalEarnings": str(DEFAULT_PRICE),
        "totalSubscribers": 1,
        "totalAssetWorth": str(DEFAULT_PRICE),
    }
    days = (await site.client.get("/heatmap", params={"userAddress": author.address})).json()
    now = site.clock.now()
    assert days["data"] == {"creator": [f"{now.day}/{now.month}/{now.year}"], "holder": []}
    assert (await site.client.get("/globalMetrics")).json()["data"]["totalAssets"] >= 1


async def test_a_text_of_ten_mebibytes_with_pictures_is_kept(site: World) -> None:
    alice = site.wallet(4)
    content = editor_content("pictures", pictures=5, size=1_600_000)
    assert len(content) > 10 * 1024 * 1024
    file = await site.create(alice, content)
    response = await site.read_draft(alice, file["cid"])
    assert response.json()["content"] == content


async def test_the_browser_may_send_a_session_from_its_origin(site: World) -> None:
    asked = {"Access-Control-Request-Method": "GET"}
    asked["Access-Control-Request-Headers"] = "authorization"
    response: httpx2.Response = await site.client.options("/fileByCid", headers=asked)
    assert response.status_code in (200, 204)
    assert response.headers["access-control-allow-origin"] == PAGE
    assert "authorization" in response.headers["access-control-allow-headers"].lower()


async def test_the_rate_limit_of_reads_allows_its_feed_and_its_drafts_at_once(
    site: World,
) -> None:
    limiter = RateLimiter(site.settings.limits.reads)
    pages, thumbnails = 1000 // 9 + 1, 1000
    draft_pages, drafts = 200 // 12 + 1, 200
    # Each request with a session has a preflight before it.
    for _ in range(2 * pages + thumbnails + 2 * (draft_pages + drafts)):
        limiter.admit("reader", 0.0)
