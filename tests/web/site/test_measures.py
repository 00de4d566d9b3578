"""The operator's measures: their effect on requests, lists and totals, and what authors see."""

import asyncio
import re
from pathlib import Path

import pytest
from tests.indexed import read_texts
from tests.profiles import send_profile
from tests.web.site.publication import publish
from tests.web.site.test_crawl import Crawl, seeds
from tests.world import ORIGIN, World, open_world, picture, problem

from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid
from imprint.domain.moderation import Decision, Ground, Measure, Show, TargetKind
from imprint.services.moderation import CurrentMeasures, Moderation, parse_target

pytestmark = pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)

TITLE = "The canary in the title"
ABOUT = "The canary in the description"
WORDS = "The canary in the text"


async def decide(
    world: World,
    measure: Measure,
    kind: TargetKind,
    value: str,
    *said: str,
    ground: Ground = Ground.POLICY,
) -> None:
    """Take a measure like another process would. This process applies it a second later."""
    target = parse_target(kind, value)
    decision = Decision(target, measure, ground, " ".join(said), world.clock())
    await world.adapters.stores.moderation.add_decision(decision)
    world.clock.advance(1)


async def publish_canary(world: World, price: int = 0) -> str:
    content = f"{WORDS}. <b>x</b>\n\n<!--more-->\n\nBelow the opening.\n"
    post_id = await publish(world, 1, "ink", price=price, title=TITLE, about=ABOUT, content=content)
    await read_texts(world)
    return post_id


async def test_a_page_that_was_cached_before_this_process_read_a_measure_is_not_shown_again(
    world: World,
) -> None:
    post_id = await publish_canary(world)
    decision = Decision(
        parse_target(TargetKind.POST, post_id),
        Measure.WITHHELD,
        Ground.POLICY,
        "",
        world.clock(),
    )
    await world.client.get("/filesMetaData")
    await world.adapters.stores.moderation.add_decision(decision)

    async def listed() -> list[str]:
        files = (await world.client.get("/filesMetaData")).json()["files"]
        return [file["post_id"] for file in files]

    # The catalog changed with the decision, but this process applies the decision later.
    assert await listed() == [post_id]
    world.clock.passed += 1
    assert await listed() == []


@pytest.mark.parametrize(
    ("ground", "expected"), [(Ground.LEGAL, (451, "withheld")), (Ground.POLICY, (410, "removed"))]
)
async def test_the_refusal_of_a_withheld_post_contains_the_operators_statement(
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


async def test_an_author_refused_by_the_operator_can_only_delete_drafts(world: World) -> None:
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


OF_THE_CHAIN = {"/stats", "/globalMetrics", "/readyz", "/.well-known/imprint.json", "/studio"}
"""Addresses whose responses cover the whole contract, or contain the service's time."""


async def test_posts_whose_documents_are_not_stored_here_change_no_page(
    world: World,
) -> None:
    await world.adapters.stores.moderation.choose_shown(Show.HOSTED)
    await publish(world, 1, "ink", title="A post with words", content="Some words.")
    world.clock.advance(60)
    author, stranger = world.wallet(1), world.wallet(3)
    before = Crawl(world, {"Accept": "text/html"})
    await before.run([*seeds(world, author, last=2), "/posts?sort=sales", "/search?q=words"])
    for number in range(60):
        cid = f"not a cid {number}"
        world.create_post_with(stranger, (cid, "words", "x", "words", 0, ["ink"]))
    world.clock.advance(60)
    await world.index()
    shown = {each: was for each, was in before.seen.items() if was.status_code == 200}
    assert {"/", "/t/ink", f"/a/{author.address}", "/feeds/posts.atom", "/llms.txt"} <= shown.keys()
    changed = set()
    for address, was in shown.items():
        now = await world.client.get(address, headers=before.headers)
        if now.content != was.content:
            changed.add(address.partition("?")[0])
    assert changed <= OF_THE_CHAIN
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


LISTS = (
    *("/", "/t/ink", "/search?q=words", "/llms.txt", "/sitemaps/0.xml"),
    *("/feeds/posts.json", "/feeds/posts.atom", "/feeds/tags/ink.json", "/feeds/tags/ink.atom"),
    *("/posts", "/posts?q=words", "/posts?tag=ink", "/posts?free=true", "/posts?maxPrice=1"),
    *(f"/posts?sort={order}" for order in ("newest", "oldest", "sales", "price")),
    *("/posts?q=words&tag=ink", "/posts?sort=oldest&tag=ink&free=true"),
)
"""Lists that IMPRINT_SHOW restricts. Unrestricted, each has all three posts."""

ANY = (
    *("/posts?hosted=any", "/posts?hosted=any&q=words", "/posts?hosted=any&tag=ink"),
    *("/posts?hosted=any&sort=sales", "/posts?hosted=any&free=true"),
)


@pytest.mark.parametrize(
    ("show", "shown", "beyond"),
    [(Show.ALL, "abc", "abc"), (Show.HOSTED, "ab", "abc"), (Show.ALLOWED, "a", None)],
)
async def test_every_list_shows_the_posts_selected_by_the_show_setting(
    tmp_path: Path, records: None, show: Show, shown: str, beyond: str | None
) -> None:
    async with open_world(tmp_path, SHOW=show.value) as world:
        await world.adapters.stores.moderation.choose_shown(show)
        authors = {letter: world.wallet(number) for number, letter in enumerate("abc", 1)}
        await decide(world, Measure.ALLOWED, TargetKind.AUTHOR, authors["a"].address)
        posts = {letter: f"words-of-{letter}" for letter in authors}
        for number, letter in ((1, "a"), (2, "b")):
            await publish(world, number, "ink", title=posts[letter])
        entry = ("not a cid", posts["c"], "x", "About it", 0, ["ink"])
        world.create_post_with(authors["c"], entry)
        await world.index()
        lists = dict.fromkeys(LISTS, shown)
        lists |= {f"/posts?author={each.address}": letter for letter, each in authors.items()}
        lists |= {f"/feeds/authors/{each.address}.json": key for key, each in authors.items()}
        lists |= {f"/a/{each.address}": letter for letter, each in authors.items()}
        for address, letters in lists.items():
            response = await world.client.get(address)
            assert response.status_code == 200, address
            found = {letter for letter, title in posts.items() if title in response.text}
            assert found == set(letters) & set(shown), address
        for address in ANY:
            response = await world.client.get(address)
            if beyond is None:
                assert problem(response) == (400, "invalid_request"), address
            else:
                found = {letter for letter, title in posts.items() if title in response.text}
                assert found == set(beyond), address
        # Each post stays at its own address, and `/filesByTags` lists the files that are stored
        # here.
        for number, letter in enumerate(posts, 1):
            assert posts[letter] in (await world.client.get(f"/posts/{number}")).text
        files = (await world.client.get("/filesByTags?tags=ink")).json()["files"]
        assert len(files) == 2


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


async def test_a_withheld_post_is_refused_as_such_with_and_without_a_session(world: World) -> None:
    post_id = await publish_canary(world, price=7)
    await decide(world, Measure.WITHHELD, TargetKind.POST, post_id, ground=Ground.LEGAL)
    reader = await world.login(world.wallet(1))
    for path in ("text", "document", "changes", "first"):
        for headers in ({}, {"Authorization": "Bearer x"}, reader):
            response = await world.client.get(f"/p/{post_id}/{path}", headers=headers)
            assert problem(response) == (451, "withheld"), path
    for revision in ("0", "1", "51"):
        response = await world.client.get(f"/posts/{post_id}/content?revision={revision}")
        assert problem(response) == (451, "withheld")


async def test_a_service_without_pages_refuses_a_withheld_post_at_the_address_of_its_page(
    tmp_path: Path, records: str
) -> None:
    async with open_world(tmp_path, SITE="off") as world:
        post_id = await publish(world, 1)
        assert (await world.client.get(f"/p/{post_id}")).status_code == 303
        await decide(world, Measure.WITHHELD, TargetKind.POST, post_id)
        assert problem(await world.client.get(f"/p/{post_id}")) == (410, "removed")


async def test_a_measure_names_every_address_that_a_cache_may_have(world: World) -> None:
    post_id = await publish_canary(world)
    author = world.wallet(1)
    profile = (await send_profile(world, author, picture())).json()["profile"]
    stores = world.adapters.stores
    current = CurrentMeasures(stores.moderation, world.clock.monotonic)
    desk = Moderation(
        stores.moderation, stores.index_reader, stores.files, stores.revisions, current, world.clock
    )
    post = (await world.client.get(f"/posts/{post_id}")).json()
    target = parse_target(TargetKind.AUTHOR, author.address)
    paths = await desk.decide(target, Measure.WITHHELD, Ground.POLICY, "")
    assert {
        post["links"]["page"].removeprefix(ORIGIN),
        f"/posts/{post_id}/opening",
        f"/ipfs/{post['thumbnailCid']}",
        f"/ipfs/{profile['avatarCid']}",
    } <= set(paths)
    world.clock.advance(1)
    for path in paths:
        response = await world.client.get(path, headers={"Accept": "text/html"})
        assert TITLE not in response.text, path


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


PRESENT = ("/posts", "/feeds/posts.json", "/search?q=canary", "/filesMetaData")


async def lists_with(world: World, *said: str) -> list[str]:
    """The lists that contain any of these words."""
    found = []
    for address in PRESENT:
        text = (await world.client.get(address)).text
        found += [address] if any(each in text for each in said) else []
    return found


@pytest.mark.parametrize("kind", [TargetKind.CID, TargetKind.AUTHOR, TargetKind.TAG])
async def test_a_post_that_was_withheld_before_its_publication_is_never_shown(
    world: World, kind: TargetKind
) -> None:
    author = world.wallet(1)
    file = await world.create(author, WORDS)
    thumbnail = await world.publish(author, file["cid"], "ink")
    values = {TargetKind.CID: file["cid"], TargetKind.AUTHOR: author.address, TargetKind.TAG: "ink"}
    await decide(world, Measure.WITHHELD, kind, values[kind])
    assert (await world.client.get(f"/ipfs/{thumbnail}")).status_code == 410
    entry = (file["cid"], TITLE, thumbnail, ABOUT, 0, ["ink"])
    await world.deliver_a(world.create_post_with(author, entry))
    await world.index()
    assert await lists_with(world, TITLE, file["cid"]) == []
    for address in ("/posts/1", "/posts/1/content", "/p/1", "/freeFileByPostId?postId=1"):
        assert problem(await world.client.get(address)) == (410, "removed"), address


async def test_a_post_is_listed_again_once_the_last_of_its_measures_is_undone(world: World) -> None:
    post_id = await publish_canary(world)
    author = world.wallet(1).address
    await decide(world, Measure.WITHHELD, TargetKind.POST, post_id, ground=Ground.LEGAL)
    await decide(world, Measure.WITHHELD, TargetKind.TAG, "ink")
    await decide(world, Measure.UNLISTED, TargetKind.AUTHOR, author)
    expected = [
        (TargetKind.POST, post_id, 410),
        (TargetKind.TAG, "ink", 200),
        (TargetKind.AUTHOR, author, 200),
    ]
    assert (await world.client.get(f"/posts/{post_id}")).status_code == 451
    for kind, value, status in expected:
        assert await lists_with(world, TITLE) == []
        await decide(world, Measure.UNDONE, kind, value)
        assert (await world.client.get(f"/posts/{post_id}")).status_code == status, kind
    assert await lists_with(world, TITLE) == ["/posts", "/feeds/posts.json", "/search?q=canary"]


async def test_after_a_reorg_a_measure_still_applies_to_its_post_id_or_document(
    world: World,
) -> None:
    author, other = world.wallet(1), world.wallet(2)
    file = await world.create(author, WORDS)
    before = world.chain.snapshot()
    await world.deliver_a(world.create_post_with(author, (file["cid"], TITLE, "x", "", 0, [])))
    await world.index()
    await decide(world, Measure.WITHHELD, TargetKind.POST, "1")
    await decide(world, Measure.WITHHELD, TargetKind.CID, file["cid"])
    assert world.chain.restore(before)
    world.clock.advance(5)
    another = await world.create(other, "Something else.")
    first = world.create_post_with(other, (another["cid"], "Another", "x", "", 0, []))
    second = world.create_post_with(author, (file["cid"], TITLE, "x", "", 0, []))
    for block in (first, second):
        await world.deliver_a(block)
    await world.index()
    # After the reorg, the id belongs to another document, and the document has another id.
    for post_id in (1, 2):
        assert problem(await world.client.get(f"/posts/{post_id}")) == (410, "removed")
    await decide(world, Measure.UNDONE, TargetKind.POST, "1")
    assert (await world.client.get("/posts/1")).json()["title"] == "Another"
    assert await lists_with(world, TITLE, file["cid"]) == []


async def test_a_statement_has_no_markup_and_no_invisible_characters(world: World) -> None:
    post_id = await publish_canary(world)
    stores = world.adapters.stores
    current = CurrentMeasures(stores.moderation, world.clock.monotonic)
    desk = Moderation(
        stores.moderation, stores.index_reader, stores.files, stores.revisions, current, world.clock
    )
    said = "\u202e<script>x</script>\u200b\x1b[2J\x00 {{ 7*7 }}\n\u2066line"
    target = parse_target(TargetKind.POST, post_id)
    await desk.decide(target, Measure.WITHHELD, Ground.POLICY, said)
    world.clock.advance(1)
    body = (await world.client.get(f"/posts/{post_id}")).json()
    assert body["statement"] == "<script>x</script>[2J {{ 7*7 }}\nline"
    page = await world.client.get(f"/p/{post_id}", headers={"Accept": "text/html"})
    assert "&lt;script&gt;x&lt;/script&gt;[2J {{ 7*7 }}" in page.text
    assert "<script>x" not in page.text


@pytest.mark.parametrize("kind", TargetKind)
async def test_an_author_sees_withheld_posts_with_the_statement_but_without_titles(
    world: World, kind: TargetKind
) -> None:
    post_id = await publish_canary(world, price=7)
    said = "Not here, please."
    shown = (await world.client.get(f"/posts/{post_id}")).json()
    values = {TargetKind.POST: post_id, TargetKind.AUTHOR: shown["author"]}
    values |= {TargetKind.CID: shown["cid"], TargetKind.TAG: "ink"}
    await decide(world, Measure.WITHHELD, kind, values[kind], said)
    response = await world.client.get("/me/posts", headers=await world.login(world.wallet(1)))
    [post] = response.json()["posts"]
    assert (post["id"], post["price"], post["title"], post["description"]) == (post_id, "7", "", "")
    assert (post["thumbnailCid"], post["byline"]) == ("", None)
    assert post["links"]["page"] == f"{ORIGIN}/p/{post_id}"
    measure = post["measure"]
    assert (measure["measure"], measure["statement"]) == ("withheld", said)
    assert measure["postId"] == (None if kind is TargetKind.AUTHOR else post_id)


async def test_an_author_sees_unlisted_posts_with_their_titles(world: World) -> None:
    post_id = await publish_canary(world)
    await decide(world, Measure.UNLISTED, TargetKind.POST, post_id)
    response = await world.client.get("/me/posts", headers=await world.login(world.wallet(1)))
    [post] = response.json()["posts"]
    assert (post["title"], post["measure"]["measure"]) == (TITLE, "unlisted")
