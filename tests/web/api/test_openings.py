"""Openings over HTTP: the parts of free and paid posts that everybody can read, at every URL."""

from typing import Any

import pytest
from tests.indexed import read_texts
from tests.revisions import revise
from tests.web.site.publication import publish
from tests.world import DEFAULT_PRICE, World, problem

from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid
from imprint.domain.moderation import Decision, Ground, Measure, TargetKind
from imprint.services.moderation import parse_target

pytestmark = pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)

ABOVE = "The lighthouse keeper writes. [Later][one]"
BELOW = "The canary below the line sings."
CONTENT = f"# A title\n\n{ABOVE}\n\n<!--more-->\n\n{BELOW}\n\n[one]: https://canary.example/\n"
OPENING = f"# A title\n\n{ABOVE}"
ELSEWHERE = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
BROWSER = {"Accept": "text/html"}
WAYS = ("/posts/{}.md", "/p/{}", "/feeds/posts.atom", "/feeds/posts.json", "/posts?q=lighthouse")
"""URLs at which everybody can read the opening of a post."""


async def publish_read(world: World, content: str = CONTENT, price: int = DEFAULT_PRICE) -> str:
    """Publish a post and index its text."""
    post_id = await publish(world, 1, content=content, price=price, about="")
    await read_texts(world)
    return post_id


async def show(world: World, post_id: str) -> dict[str, Any]:
    response = await world.client.get(f"/posts/{post_id}")
    record: dict[str, Any] = response.json()
    return record


async def told(world: World, post_id: str) -> dict[str, str]:
    """Return the parts of a post that everybody can read, by URL."""
    found = {}
    for way in (*WAYS, "/posts/{}/opening", "/posts?q=canary", "/posts/{}/content"):
        address = way.format(post_id)
        response = await world.client.get(address, headers=BROWSER, follow_redirects=True)
        found[address] = response.text
    return found


async def test_everybody_reads_the_opening_of_a_paid_post_and_nothing_below_it(
    world: World,
) -> None:
    post_id = await publish_read(world)
    record = await show(world, post_id)
    assert (record["words"], record["opening"], record["free"]) == (15, True, False)
    response = await world.client.get(f"/posts/{post_id}/opening")
    assert response.json() == {"content": OPENING, "words": 7}
    assert response.headers["cache-control"] == "public, max-age=5"
    again = {"If-None-Match": response.headers["etag"]}
    assert (await world.client.get(f"/posts/{post_id}/opening", headers=again)).status_code == 304
    found = await told(world, post_id)
    assert {way for way in WAYS if "lighthouse" not in found[way.format(post_id)]} == set()
    # The response to a search repeats the query, so it contains the word.
    echoed = found.pop("/posts?q=canary")
    assert '"posts":[]' in echoed
    assert [address for address, text in found.items() if "canary" in text] == []


async def test_the_page_of_a_paid_post_shows_its_opening_its_length_and_description(
    world: World,
) -> None:
    post_id = await publish_read(world)
    text = (await world.client.get(f"/p/{post_id}", headers=BROWSER, follow_redirects=True)).text
    assert 'id="opening" class="text opening"' in text
    assert "15 words, 1 min read." in text
    # A link whose definition is below the more line is shown as plain text.
    assert "[Later][one]" in text
    assert 'content="A title The lighthouse keeper writes. [Later][one]"' in text


async def test_a_free_post_shows_its_whole_text_without_the_more_line(world: World) -> None:
    post_id = await publish_read(world, price=0)
    record = await show(world, post_id)
    assert (record["words"], record["opening"], record["free"]) == (15, True, True)
    opening = await world.client.get(f"/posts/{post_id}/opening")
    assert opening.json()["content"] == OPENING
    for way in ("/posts/{}.md", "/p/{}"):
        address = way.format(post_id)
        text = (await world.client.get(address, headers=BROWSER, follow_redirects=True)).text
        assert BELOW in text
        assert "more--" not in text
    (post,) = (await world.client.get("/posts?q=canary+sings")).json()["posts"]
    assert post["id"] == post_id


async def test_search_finds_the_whole_text_only_while_the_post_is_free(world: World) -> None:
    post_id = await publish_read(world)
    for price in (0, DEFAULT_PRICE, 0, DEFAULT_PRICE):
        world.set_price(world.wallet(1), int(post_id), price)
        await world.index()
        for _ in range(2):
            # Search before and after the text is indexed again.
            found = (await world.client.get("/posts?q=sings")).json()["posts"]
            assert not found or price == 0
            await read_texts(world)
        found = (await world.client.get("/posts?q=sings")).json()["posts"]
        assert len(found) == (price == 0)
        assert len((await world.client.get("/posts?q=lighthouse")).json()["posts"]) == 1
        assert (await show(world, post_id))["opening"]


@pytest.mark.parametrize("content", ["Words without a line.", f"<!--more-->\n\n{BELOW}"])
async def test_the_opening_of_a_post_without_one_is_not_found(world: World, content: str) -> None:
    post_id = await publish_read(world, content)
    record = await show(world, post_id)
    assert record["opening"] is False
    assert record["words"] == len(content.replace("<!--more-->", "").split())
    response = await world.client.get(f"/posts/{post_id}/opening")
    assert problem(response) == (404, "no_opening")
    assert problem(await world.client.get("/posts/999/opening")) == (404, "not_found")
    page = await world.client.get(f"/p/{post_id}", headers=BROWSER, follow_redirects=True)
    assert 'id="opening"' not in page.text


async def test_a_post_has_no_word_count_if_it_is_not_indexed_yet_or_not_stored_here(
    world: World,
) -> None:
    post_id = await publish(world, 1, content=CONTENT, price=DEFAULT_PRICE)
    assert (await show(world, post_id))["words"] is None
    assert problem(await world.client.get(f"/posts/{post_id}/opening")) == (404, "no_opening")
    await read_texts(world)
    # Another author publishes the same document under another spelling of its cid. Their post is
    # not hosted.
    cid = (await show(world, post_id))["cid"]
    world.create_post(world.wallet(2), cid.upper())
    await world.index()
    await read_texts(world)
    copied = await show(world, str(int(post_id) + 1))
    assert (copied["cid"], copied["hosted"]) == (cid, False)
    assert (copied["words"], copied["opening"]) == (None, False)
    response = await world.client.get(f"/posts/{copied['id']}/opening")
    assert problem(response) == (404, "no_opening")


async def test_a_missing_document_has_no_word_count(world: World) -> None:
    author = world.wallet(1)
    file = await world.create(author, CONTENT)
    await world.deliver_a(world.create_post(author, file["cid"]))
    await world.adapters.content.remove(Cid(file["cid"]), Network.PRIVATE)
    await world.index()
    await read_texts(world)
    assert (await show(world, "1"))["words"] is None


@pytest.mark.parametrize("ground", Ground)
async def test_the_opening_of_a_withheld_post_is_served_to_nobody(
    world: World, ground: Ground
) -> None:
    post_id = await publish_read(world)
    assert (await world.client.get(f"/posts/{post_id}/opening")).status_code == 200
    target = parse_target(TargetKind.POST, post_id)
    decision = Decision(target, Measure.WITHHELD, ground, "", world.clock())
    await world.adapters.stores.moderation.add_decision(decision)
    world.clock.advance(1)
    response = await world.client.get(f"/posts/{post_id}/opening")
    expected = (451, "withheld") if ground is Ground.LEGAL else (410, "removed")
    assert problem(response) == expected
    assert "lighthouse" not in "".join((await told(world, post_id)).values()).replace(
        "q=lighthouse", ""
    ).replace("“lighthouse”", "")


async def test_a_reorg_that_removes_a_post_also_removes_its_opening(world: World) -> None:
    author = world.wallet(1)
    file = await world.create(author, CONTENT)
    before = world.chain.snapshot()
    await world.deliver_a(world.create_post(author, file["cid"]))
    await world.index()
    await read_texts(world)
    assert (await show(world, "1"))["opening"]
    assert world.chain.restore(before)
    # Another post, whose document is not stored here, gets the id.
    world.create_post(
        world.wallet(2), "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
    )
    world.chain.mine()
    await world.index()
    await read_texts(world)
    assert (await show(world, "1"))["opening"] is False
    assert problem(await world.client.get("/posts/1/opening")) == (404, "no_opening")
    found = await told(world, "1")
    assert "keeper" not in "".join(found.values())


async def test_the_opening_comes_from_the_newest_revision(world: World) -> None:
    post_id = await publish_read(world)
    post = (post_id, (await show(world, post_id))["cid"])
    corrected = CONTENT.replace("keeper", "warden").replace("sings", "sings again")
    await revise(world, world.wallet(1), post, corrected)
    # Until the new text is indexed, the record has no word count and no opening.
    record = await show(world, post_id)
    assert (record["words"], record["opening"], record["revision"]["number"]) == (None, False, 1)
    await read_texts(world)
    record = await show(world, post_id)
    assert (record["words"], record["opening"]) == (16, True)
    (listed,) = (await world.client.get(f"/posts/{post_id}/revisions")).json()["revisions"]
    assert listed["words"] == 16
    response = await world.client.get(f"/posts/{post_id}/opening")
    assert response.json()["content"] == OPENING.replace("keeper", "warden")
    for address, text in (await told(world, post_id)).items():
        assert "sings" not in text, address
        assert "lighthouse keeper" not in text, address


async def test_a_revision_without_a_more_line_removes_the_opening(world: World) -> None:
    post_id = await publish_read(world)
    post = (post_id, (await show(world, post_id))["cid"])
    await revise(world, world.wallet(1), post, CONTENT.replace("<!--more-->", ""))
    for _ in range(2):
        response = await world.client.get(f"/posts/{post_id}/opening")
        assert problem(response) == (404, "no_opening")
        for address, text in (await told(world, post_id)).items():
            assert "The lighthouse" not in text or "q=" in address, address
        await read_texts(world)
    assert (await show(world, post_id))["opening"] is False
    assert (await world.client.get("/posts?q=lighthouse")).json()["posts"] == []
