"""Hidden posts appear nowhere: every address is crawled for canaries."""

import asyncio
import re
from dataclasses import replace

import httpx2
import pytest
from tests.web.site.publication import publish
from tests.web.site.test_crawl import Crawl, seeds
from tests.world import ORIGIN, Wallet, World, problem

from imprint.bootstrap import build_service, open_adapters
from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid
from imprint.domain.moderation import Decision, Ground, Measure, Show, TargetKind
from imprint.services.moderation import parse_target

pytestmark = pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)

TITLE = "The canary in the title"
ABOUT = "The canary in the description"
WORDS = "The canary in the text"
CANARIES = (TITLE, ABOUT, WORDS)


async def decide(
    world: World,
    measure: Measure,
    kind: TargetKind,
    value: str,
    *said: str,
    ground: Ground = Ground.POLICY,
) -> None:
    """Take a measure as another process does. This process knows it a second later."""
    target = parse_target(kind, value)
    decision = Decision(target, measure, ground, " ".join(said), world.clock())
    await world.adapters.stores.moderation.add_decision(decision)
    world.clock.advance(1)


async def publish_canary(world: World, price: int = 0) -> str:
    return await publish(
        world, 1, "ink", price=price, title=TITLE, about=ABOUT, content=f"{WORDS}. <b>x</b>"
    )


async def crawl(world: World, author: Wallet, headers: dict[str, str]) -> Crawl:
    found = Crawl(world, headers)
    await found.run([*seeds(world, author), *(f"/p/{number}/text" for number in (1, 2))])
    return found


def told(found: Crawl) -> dict[str, list[str]]:
    """Return the URLs whose responses contain a canary."""
    said = {
        address: [each for each in CANARIES if each in response.text + str(response.headers)]
        for address, response in found.seen.items()
    }
    return {address: canaries for address, canaries in said.items() if canaries}


TARGETS = (TargetKind.POST, TargetKind.AUTHOR, TargetKind.CID, TargetKind.TAG)


async def target_of(world: World, kind: TargetKind, post_id: str) -> str:
    post = (await world.client.get(f"/posts/{post_id}")).json()
    values = {TargetKind.POST: post_id, TargetKind.AUTHOR: post["author"]}
    return str((values | {TargetKind.CID: post["cid"], TargetKind.TAG: "ink"})[kind])


@pytest.mark.parametrize("kind", TARGETS)
async def test_a_withheld_post_appears_nowhere(world: World, kind: TargetKind) -> None:
    post_id = await publish_canary(world)
    author = world.wallet(1)
    session = await world.login(author)
    # Everything is in caches before the measure.
    assert told(await crawl(world, author, {}))
    await decide(world, Measure.WITHHELD, kind, await target_of(world, kind, post_id))
    for headers in ({}, {"Accept": "text/html"}, session):
        assert told(await crawl(world, author, headers)) == {}


async def test_a_withheld_post_reappears_after_the_measure_is_undone(world: World) -> None:
    post_id = await publish_canary(world)
    await decide(world, Measure.WITHHELD, TargetKind.POST, post_id)
    await decide(world, Measure.UNDONE, TargetKind.POST, post_id)
    found = told(await crawl(world, world.wallet(1), {}))
    page = f"/p/{post_id}/the-canary-in-the-title"
    assert {"/", "/posts", page, f"/posts/{post_id}.md"} <= found.keys()


@pytest.mark.parametrize(
    ("ground", "expected"), [(Ground.LEGAL, (451, "withheld")), (Ground.POLICY, (410, "removed"))]
)
async def test_a_withheld_post_is_refused_with_the_statement(
    world: World, ground: Ground, expected: tuple[int, str]
) -> None:
    post_id = await publish_canary(world, price=7)
    holder = world.wallet(2)
    world.buy(holder, int(post_id), 7)
    await world.index()
    since = world.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
    said = "A court said so."
    await decide(world, Measure.WITHHELD, TargetKind.POST, post_id, said, ground=ground)
    session = await world.login(holder)
    read: list[tuple[str, dict[str, str]]] = [
        (f"/posts/{post_id}", {}),
        (f"/posts/{post_id}/content", {}),
        (f"/posts/{post_id}/content", session),
        (f"/posts/{post_id}.md", {}),
        (f"/p/{post_id}", {}),
        (f"/p/{post_id}/text", session),
        (f"/p/{post_id}/document", session),
        (f"/fileByPostId?user={holder.address}&postId={post_id}", session),
        (f"/freeFileByPostId?postId={post_id}", {}),
    ]
    for address, headers in read:
        response = await world.client.get(address, headers=headers)
        assert problem(response) == expected, address
        body = response.json()
        assert (body["statement"], body["since"]) == ("A court said so.", since)
    library = (await world.client.get("/me/library", headers=session)).json()
    assert library["posts"] == []


async def test_the_page_of_a_withheld_post_says_why_and_since_when(world: World) -> None:
    post_id = await publish_canary(world)
    day = f"{world.clock().day} {world.clock():%B %Y}"
    said = "<b>A court</b> said so."
    await decide(world, Measure.WITHHELD, TargetKind.POST, post_id, said, ground=Ground.LEGAL)
    page = await world.client.get(f"/p/{post_id}", headers={"Accept": "text/html"})
    assert page.status_code == 451
    assert "&lt;b&gt;A court&lt;/b&gt; said so." in page.text
    assert day in page.text
    assert "noindex" in page.text


async def test_an_unlisted_post_is_in_no_list_but_its_page_stays(world: World) -> None:
    post_id = await publish_canary(world, price=7)
    holder = world.wallet(2)
    world.buy(holder, int(post_id), 7)
    await world.index()
    await decide(world, Measure.UNLISTED, TargetKind.POST, post_id)
    lists = ["/", "/t/ink", f"/a/{world.wallet(1).address}", "/search?q=canary", "/posts"]
    lists += ["/posts?hosted=any", "/posts?q=canary", "/posts?sort=sales", "/posts?tag=ink"]
    lists += ["/feeds/posts.json", "/feeds/tags/ink.json", "/llms.txt", "/sitemaps/0.xml"]
    lists += [f"/feeds/authors/{world.wallet(1).address}.atom", "/filesMetaData"]
    lists += ["/filesByTags?tags=ink"]
    cid = (await world.client.get(f"/posts/{post_id}")).json()["cid"]
    for address in lists:
        response = await world.client.get(address)
        assert response.status_code == 200, address
        assert TITLE not in response.text, address
        assert cid not in response.text, address
        assert f"/p/{post_id}" not in response.text, address
    page = await world.client.get(
        f"/p/{post_id}", headers={"Accept": "text/html"}, follow_redirects=True
    )
    assert TITLE in page.text
    assert '<meta name="robots" content="noindex">' in page.text
    markdown = await world.client.get(f"/posts/{post_id}.md")
    assert markdown.headers["x-robots-tag"] == "noindex"
    session = await world.login(holder)
    content = await world.client.get(f"/posts/{post_id}/content", headers=session)
    assert WORDS in content.text
    library = (await world.client.get("/me/library", headers=session)).json()
    assert [post["id"] for post in library["posts"]] == [post_id]


async def test_a_picture_stays_public_while_another_visible_post_uses_it(
    world: World,
) -> None:
    first = await publish_canary(world)
    post = (await world.client.get(f"/posts/{first}")).json()
    picture = post["thumbnailCid"]
    image = (await world.client.get(f"/ipfs/{picture}")).content
    author = world.wallet(1)
    file = await world.create(author)
    response = await world.send_publish(author, file["cid"], "", image)
    same = response.json()["thumbnailCid"]
    entry = (file["cid"], "Another", same, "", 0, [])
    (event,) = (await world.deliver_a(world.create_post_with(author, entry))).json()["events"]
    await world.index()
    await decide(world, Measure.WITHHELD, TargetKind.POST, first)
    shared = await world.client.get(f"/ipfs/{picture}")
    assert shared.status_code == (200 if same == picture else 410)
    await decide(world, Measure.WITHHELD, TargetKind.POST, str(event["postId"]))
    assert (await world.client.get(f"/ipfs/{picture}")).status_code == 410
    assert (await world.client.get(f"/ipfs/{same}")).status_code == 410
    await decide(world, Measure.UNDONE, TargetKind.POST, first)
    await decide(world, Measure.UNDONE, TargetKind.POST, str(event["postId"]))
    assert (await world.client.get(f"/ipfs/{picture}")).status_code == 200
    await decide(world, Measure.WITHHELD, TargetKind.CID, picture)
    assert (await world.client.get(f"/ipfs/{picture}")).status_code == 410


async def test_writes_of_a_refused_author_are_refused_except_deletes(world: World) -> None:
    author = world.wallet(1)
    file = await world.create(author)
    await decide(world, Measure.REFUSED, TargetKind.AUTHOR, author.address)
    refused = (403, "author_refused")
    assert problem(await world.send_create(author)) == refused
    assert problem(await world.send_update(author, file["cid"])) == refused
    assert problem(await world.send_publish(author, file["cid"])) == refused
    assert (await world.send_create(world.wallet(2))).status_code == 200
    assert (await world.send_delete(author, file["cid"])).status_code == 200
    await decide(world, Measure.UNDONE, TargetKind.AUTHOR, author.address)
    await world.create(author)


async def pages_of(world: World) -> dict[str, str]:
    addresses = ["/", "/t/ink", "/search?q=words", "/posts", "/posts?sort=sales", "/posts?q=words"]
    addresses += ["/feeds/posts.atom", "/feeds/posts.json", "/feeds/tags/ink.json", "/llms.txt"]
    addresses += ["/sitemap.xml", "/sitemaps/0.xml"]
    found = {}
    for address in addresses:
        response = await world.client.get(address)
        assert response.status_code == 200, address
        found[address] = _without_times(response)
    return found


def _without_times(response: httpx2.Response) -> str:
    return re.sub(r"next_page_token[^\s]*", "", response.text)


async def test_posts_whose_documents_are_not_stored_here_change_no_page(
    world: World,
) -> None:
    await world.adapters.stores.moderation.choose_shown(Show.HOSTED)
    await publish(world, 1, "ink", title="A post with words", content="Some words.")
    world.clock.advance(60)
    before = await pages_of(world)
    stranger = world.wallet(3)
    for number in range(200):
        cid = f"not a cid {number}"
        world.create_post_with(stranger, (cid, "words", "x", "words", 0, ["ink"]))
    world.clock.advance(60)
    await world.index()
    assert await pages_of(world) == before
    listed = (await world.client.get("/posts?hosted=any&limit=50")).json()
    assert [post["title"] for post in listed["posts"]] == ["words"] * 50


async def test_a_post_is_shown_once_its_document_is_stored_here(world: World) -> None:
    await world.adapters.stores.moderation.choose_shown(Show.HOSTED)
    author = world.wallet(1)
    file = await world.create(author)
    block = world.create_post(author, file["cid"])
    await world.index()
    assert (await world.client.get("/posts")).json()["posts"] == []
    await world.deliver_a(block)
    (post,) = (await world.client.get("/posts")).json()["posts"]
    assert post["cid"] == file["cid"]


async def test_only_allowed_authors_are_shown(world: World) -> None:
    store = world.adapters.stores.moderation
    await publish(world, 1, "ink", title="One")
    await publish(world, 2, "ink", title="Two")
    await store.choose_shown(Show.ALLOWED)
    assert (await world.client.get("/posts")).json()["posts"] == []
    await decide(world, Measure.ALLOWED, TargetKind.AUTHOR, world.wallet(1).address)
    (post,) = (await world.client.get("/posts?tag=ink")).json()["posts"]
    assert post["title"] == "One"
    await publish(world, 1, "ink", title="Three")
    titles = [each["title"] for each in (await world.client.get("/posts")).json()["posts"]]
    assert titles == ["Three", "One"]
    # The strictest measure wins.
    await decide(world, Measure.UNLISTED, TargetKind.AUTHOR, world.wallet(1).address)
    assert (await world.client.get("/posts")).json()["posts"] == []


async def test_the_totals_on_the_about_page_respect_measures(world: World) -> None:
    await publish(world, 1, title="One")
    second = await publish(world, 2, title="Two")
    totals = await totals_of(world)
    assert totals == ["2", "2"]
    await decide(world, Measure.UNLISTED, TargetKind.POST, second)
    assert await totals_of(world) == ["1", "1"]


async def totals_of(world: World) -> list[str]:
    """Return how many posts and authors the about page counts."""
    page = (await world.client.get("/about")).text
    return re.findall(r"<dt>(?:Post|Author)s?</dt><dd>(\d+)</dd>", page)


async def test_every_replica_applies_a_measure_within_a_second(world: World) -> None:
    post_id = await publish_canary(world)
    author = world.wallet(1)
    adapters = open_adapters(world.settings, world.clock, world.clock.monotonic)
    try:
        app = build_service(world.settings, adapters)
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            other = replace(world, adapters=adapters, app=app, client=client)
            assert told(await crawl(other, author, {}))
            await decide(world, Measure.WITHHELD, TargetKind.POST, post_id)
            assert told(await crawl(other, author, {})) == {}
            assert told(await crawl(world, author, {})) == {}
    finally:
        await adapters.close()


async def test_a_page_rendered_during_a_measure_is_not_cached(world: World) -> None:
    post_id = await publish_canary(world)
    started, go_on = asyncio.Event(), asyncio.Event()
    read = world.adapters.content.read

    async def wait(cid: Cid, network: Network) -> bytes | None:
        started.set()
        await go_on.wait()
        return await read(cid, network)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(world.adapters.content), "read", lambda _, *given: wait(*given))
        browser = {"Accept": "text/html"}
        page = f"/p/{post_id}/the-canary-in-the-title"
        making = asyncio.create_task(world.client.get(page, headers=browser))
        await started.wait()
        await decide(world, Measure.WITHHELD, TargetKind.POST, post_id)
        go_on.set()
        await making
    assert (await world.client.get(f"/p/{post_id}", headers=browser)).status_code == 410
    assert WORDS not in (await world.client.get(f"/posts/{post_id}.md")).text
    assert WORDS not in (await world.client.get("/feeds/posts.json")).text


async def test_an_author_sees_the_measures_on_their_posts(world: World) -> None:
    post_id = await publish_canary(world)
    author, said = world.wallet(1), "Not here, please."
    await decide(world, Measure.WITHHELD, TargetKind.TAG, "ink", said)
    await decide(world, Measure.REFUSED, TargetKind.AUTHOR, author.address)
    response = await world.client.get("/me/measures", headers=await world.login(author))
    refused, withheld = response.json()["measures"]
    assert (refused["postId"], refused["measure"]) == (None, "refused")
    assert (withheld["postId"], withheld["statement"]) == (post_id, said)
    stranger = await world.login(world.stranger())
    assert (await world.client.get("/me/measures", headers=stranger)).json() == {"measures": []}
