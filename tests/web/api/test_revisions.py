"""Revisions over HTTP: authors correct their posts, and the first version stays available."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.contract_wallets import KINDS, open_wallet
from tests.revisions import (
    content_hash,
    published_post,
    revise,
    send_revision,
    sign_revision,
)
from tests.web.api.test_encryption import ON
from tests.web.api.test_search import texts_of
from tests.web.conftest import EVERY_DATABASE
from tests.world import DEFAULT_PRICE, World, open_world, problem, respell

from imprint.auth.signed_revisions import read_stated
from imprint.bootstrap.background import build_collector
from imprint.domain.formats.addresses import Address, keccak256
from imprint.domain.formats.cids import Cid
from imprint.domain.moderation import Ground, Measure, Target, TargetKind
from imprint.domain.posts.openings import TextFacts
from imprint.domain.posts.revisions import MAX_NOTE, MAX_REVISIONS
from imprint.services.moderation import CurrentMeasures, Moderation

pytestmark = [*EVERY_DATABASE, pytest.mark.asyncio(loop_scope="module")]

FIRST, SECOND, THIRD = "As first published.", "A better text.", "The best text."


async def _content(
    world: World, post_id: int, headers: dict[str, str] | None = None, **params: Any
) -> httpx2.Response:
    path = f"/posts/{post_id}/content"
    return await world.client.get(path, params=params, headers=headers or {})


def _desk(world: World) -> Moderation:
    stores = world.adapters.stores
    measures = CurrentMeasures(stores.moderation)
    return Moderation(
        stores.moderation,
        stores.index_reader,
        stores.files,
        stores.revisions,
        measures,
        world.clock,
    )


async def _withhold(world: World, target: Target) -> None:
    await _desk(world).decide(target, Measure.WITHHELD, Ground.POLICY, "Rules.")
    world.clock.advance(2)


async def test_the_newest_revision_is_read_and_the_first_version_stays_available(
    town: World,
) -> None:
    author = town.wallet(1)
    post_id, cid = await published_post(town, author, FIRST)
    before = (await _content(town, post_id)).json()
    assert (before["content"], before["revision"]) == (FIRST, 0)
    revision = await revise(town, author, (post_id, cid), SECOND, note="A typo: „so“.")
    assert revision["number"] == 1
    assert revision["note"] == "A typo: „so“."
    assert revision["cid"] != cid
    assert revision["createdAt"].endswith("Z")
    newest = await _content(town, post_id)
    assert newest.json() == {"content": SECOND, "file": before["file"], "revision": 1}
    assert newest.headers["etag"] == f'"{revision["cid"]}"'
    first = await _content(town, post_id, revision=0)
    assert first.json() == {"content": FIRST, "file": before["file"], "revision": 0}
    assert first.headers["etag"] == f'"{cid}"'
    assert (await town.read_free(post_id)).json()["content"] == FIRST
    assert (await town.read_post(author, post_id)).json()["content"] == FIRST


async def test_every_revision_is_listed_and_has_a_proof_by_its_author(town: World) -> None:
    author = town.wallet(2)
    post = post_id, cid = await published_post(town, author, FIRST)
    added = [await revise(town, author, post, text, note=text) for text in (SECOND, THIRD)]
    assert [each["number"] for each in added] == [1, 2]
    listed = (await town.client.get(f"/posts/{post_id}/revisions")).json()["revisions"]
    assert listed == [each | {"words": None} for each in reversed(added)]
    shown = (await town.client.get(f"/posts/{post_id}")).json()["revision"]
    assert shown == {name: added[1][name] for name in ("number", "note", "createdAt")}
    one = (await _content(town, post_id, revision=1)).json()
    assert (one["content"], one["revision"], one["proof"]["address"]) == (SECOND, 1, author.address)
    proof = one["proof"]
    assert proof["salt"]["message"]["contentHash"] == content_hash(SECOND)
    stated = read_stated(proof["salt"], Address(author.address), proof["signature"])
    assert (stated.document, stated.note, stated.is_signed) == (cid, SECOND, True)
    assert stated.content_hash == keccak256(SECOND.encode())
    assert "proof" not in (await _content(town, post_id)).json()


async def test_who_may_not_read_a_post_is_not_told_which_revisions_exist(town: World) -> None:
    post_id, _ = await published_post(town, town.wallet(3), price=7)
    for revision in ("1", "50", "51", str(2**70)):
        response = await town.client.get(f"/posts/{post_id}/content?revision={revision}")
        assert problem(response) == (402, "payment_required")
        missing = await town.client.get(f"/posts/999999/content?revision={revision}")
        assert problem(missing) == (404, "not_found")


async def test_a_post_that_was_never_revised_has_no_revisions(town: World) -> None:
    post_id, _ = await published_post(town, town.wallet(3))
    assert (await town.client.get(f"/posts/{post_id}")).json()["revision"] is None
    empty = await town.client.get(f"/posts/{post_id}/revisions")
    assert empty.json() == {"revisions": []}
    for number in ("1", "50", "51", str(2**70)):
        assert problem(await _content(town, post_id, revision=number)) == (404, "unknown_revision")
    for number in ("-1", "x", "1.0", "00"):
        assert problem(await _content(town, post_id, revision=number)) == (400, "invalid_request")
    missing = await town.client.get("/posts/999999/revisions")
    assert problem(missing) == (404, "not_found")


async def test_the_etag_of_a_text_is_valid_until_the_next_revision(town: World) -> None:
    author = town.wallet(4)
    post = post_id, _ = await published_post(town, author)
    tag = (await _content(town, post_id)).headers["etag"]
    assert (await _content(town, post_id, {"If-None-Match": tag})).status_code == 304
    await revise(town, author, post, SECOND)
    assert (await _content(town, post_id, {"If-None-Match": tag})).status_code == 200
    again = await _content(town, post_id, {"If-None-Match": tag}, revision=0)
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("changed", "refused"),
    [
        ({"service": "https://other.example"}, (401, "body_mismatch")),
        ({"postId": "0"}, (401, "body_mismatch")),
        ({"postId": "01"}, (401, "body_mismatch")),
        ({"contentHash": content_hash("Another text.")}, (401, "body_mismatch")),
        ({"contentHash": "0x12"}, (400, "invalid_typed_data")),
        ({"cid": "nonsense"}, (400, "invalid_typed_data")),
        ({"note": "x" * (MAX_NOTE + 1)}, (400, "invalid_typed_data")),
        ({"note": "two\nlines"}, (400, "invalid_typed_data")),
        ({"note": "nul\0"}, (400, "invalid_typed_data")),
        ({"note": "turned\u202e"}, (400, "invalid_typed_data")),
        ({"note": 7}, (400, "invalid_typed_data")),
        ({"more": "x"}, (400, "invalid_typed_data")),
        ({"nonce": ""}, (400, "invalid_typed_data")),
        ({"timestamp": 1}, (401, "signature_stale")),
    ],
)
async def test_a_revision_with_an_invalid_or_mismatched_message_is_refused(
    town: World, changed: dict[str, Any], refused: tuple[int, str]
) -> None:
    author = town.wallet(1)
    post = await published_post(town, author)
    assert problem(await send_revision(town, author, post, SECOND, **changed)) == refused
    assert (await _content(town, post[0])).json()["revision"] == 0


async def test_a_note_may_be_empty_or_long_and_is_stored_unchanged(town: World) -> None:
    author = town.wallet(5)
    post = await published_post(town, author)
    for note in ("", "\U0001f58b" * MAX_NOTE, "<script>alert(1)</script>&\"'\\"):
        assert (await revise(town, author, post, SECOND, note=note))["note"] == note


async def test_a_revision_signed_for_another_cid_is_refused(town: World) -> None:
    author = town.wallet(1)
    post_id, cid = await published_post(town, author)
    other = await town.create(author, "A draft.")
    response = await send_revision(town, author, (post_id, other["cid"]), SECOND)
    assert problem(response) == (401, "body_mismatch")
    assert (await revise(town, author, (post_id, respell(cid)), SECOND))["number"] == 1


async def test_only_the_author_named_on_the_chain_can_revise_a_post(town: World) -> None:
    post = await published_post(town, town.wallet(1))
    for other in (town.stranger(), town.wallet(2), open_wallet(town, KINDS[0])):
        assert problem(await send_revision(town, other, post, SECOND)) == (403, "not_author")
    signed = sign_revision(town, town.wallet(2), post, SECOND)
    body = {**signed, "address": town.wallet(1).address}
    response = await town.client.post("/revise/post", params={"postId": post[0]}, json=body)
    assert problem(response) == (401, "signature_invalid")


async def test_a_revision_of_an_unknown_post_is_refused(town: World) -> None:
    author = town.wallet(1)
    draft = await town.create(author)
    missing = await send_revision(town, author, (999_999, draft["cid"]), SECOND)
    assert problem(missing) == (404, "not_found")
    response = await town.client.post("/revise/post", params={"postId": "x"}, json={})
    assert problem(response) == (400, "invalid_post_id")
    for body in ({}, {"salt": {}, "address": author.address, "signature": "0x"}):
        response = await town.client.post("/revise/post", params={"postId": 1}, json=body)
        assert problem(response) == (400, "invalid_request")


async def test_a_writing_session_cannot_sign_a_revision(town: World) -> None:
    author = town.wallet(1)
    post = await published_post(town, author)
    body = sign_revision(town, author, post, SECOND) | {"session": "A" * 22}
    response = await town.client.post("/revise/post", params={"postId": post[0]}, json=body)
    assert problem(response) == (403, "writing_session_scope")


async def test_a_revision_sent_twice_is_added_once(town: World) -> None:
    author = town.wallet(6)
    post = await published_post(town, author)
    body = sign_revision(town, author, post, SECOND)
    params = {"postId": post[0]}
    both = await asyncio.gather(
        *(town.client.post("/revise/post", params=params, json=body) for _ in range(2))
    )
    assert sorted(each.status_code for each in both) == [200, 409]
    (refused,) = [each for each in both if each.status_code == 409]
    assert refused.json()["action"] == "revise"
    assert refused.json()["file"] is None
    # All types of writes share one nonce space.
    nonce = body["salt"]["message"]["nonce"]
    assert problem(await town.send_create(author, nonce=nonce)) == (409, "nonce_used")
    assert len((await town.client.get(f"/posts/{post[0]}/revisions")).json()["revisions"]) == 1


async def test_concurrent_revisions_are_numbered_without_gaps(town: World) -> None:
    author = town.wallet(7)
    post = await published_post(town, author)
    added = await asyncio.gather(*(revise(town, author, post, f"Text {n}.") for n in range(4)))
    assert sorted(each["number"] for each in added) == [1, 2, 3, 4]
    by_number = {each["number"]: each["cid"] for each in added}
    newest = await _content(town, post[0])
    assert newest.headers["etag"] == f'"{by_number[4]}"'
    assert await town.adapters.stores.garbage.recount_usage() == 0


async def test_a_large_revision_is_read_back_unchanged(town: World) -> None:
    author = town.wallet(1)
    post = await published_post(town, author)
    text = "Zeichen: 墨 \U0001f58b\ufe0f. " * 30_000
    await revise(town, author, post, text)
    found = (await _content(town, post[0])).json()
    assert (found["content"] == text, found["revision"]) == (True, 1)


async def test_a_post_has_at_most_fifty_revisions(town: World) -> None:
    author = town.wallet(8)
    post = await published_post(town, author)
    for number in range(1, MAX_REVISIONS + 1):
        assert (await revise(town, author, post, f"Text {number}."))["number"] == number
    response = await send_revision(town, author, post, SECOND)
    assert problem(response) == (409, "too_many_revisions")
    assert (await _content(town, post[0])).json()["content"] == "Text 50."


async def test_only_readers_of_a_paid_post_can_read_its_revisions(town: World) -> None:
    author, reader, other = town.wallet(1), town.wallet(2), town.wallet(3)
    post = post_id, _ = await published_post(town, author, FIRST, DEFAULT_PRICE)
    await revise(town, author, post, SECOND, note="Public.")
    town.buy(reader, post_id)
    for wallet in (author, reader):
        session = await town.login(wallet)
        assert (await _content(town, post_id, session)).json()["content"] == SECOND
        assert (await _content(town, post_id, session, revision=0)).json()["content"] == FIRST
        assert "proof" in (await _content(town, post_id, session, revision=1)).json()
    session = await town.login(other)
    for number in ({}, {"revision": 0}, {"revision": 1}, {"revision": 2}):
        assert problem(await _content(town, post_id, session, **number))[0] in (402, 403)
        assert problem(await _content(town, post_id, **number))[0] in (402, 403)
    listed = (await town.client.get(f"/posts/{post_id}/revisions")).json()["revisions"]
    assert [each["note"] for each in listed] == ["Public."]


async def test_pages_feeds_markdown_and_search_show_the_newest_revision(town: World) -> None:
    author = town.wallet(9)
    post = post_id, _ = await published_post(town, author, "An xylograph, carved.")
    texts = texts_of(town)
    await texts.read_pending()

    async def shown() -> list[str]:
        feed = f"/feeds/authors/{author.address}"
        paths = (f"/p/{post_id}", f"/posts/{post_id}.md", f"{feed}.atom", f"{feed}.json")
        found = [await town.client.get(path, follow_redirects=True) for path in paths]
        return [each.text for each in found]

    async def found(word: str) -> int:
        params = {"q": word, "author": author.address}
        return len((await town.client.get("/posts", params=params)).json()["posts"])

    assert all("xylograph" in text for text in await shown())
    assert (await found("xylograph"), await found("lithograph")) == (1, 0)
    town.clock.advance(60)
    await revise(town, author, post, "A lithograph, drawn.")
    await texts.read_pending()
    for text in await shown():
        assert "lithograph" in text
        assert "xylograph" not in text
    assert (await found("xylograph"), await found("lithograph")) == (0, 1)
    feed = (await town.client.get(f"/feeds/authors/{author.address}.json")).json()
    revised_at = (await town.client.get(f"/posts/{post_id}")).json()["revision"]["createdAt"]
    assert feed["items"][0]["date_modified"][:19] == revised_at[:19]


async def test_a_text_revised_while_it_is_being_indexed_stays_pending(town: World) -> None:
    author = town.wallet(1)
    post = post_id, cid = await published_post(town, author, "A xylophone.")
    search = town.adapters.stores.search
    pending = await search.pending_texts(0, 100)
    (text,) = [each for each in pending if each.post_id == post_id]
    await revise(town, author, post, "A vibraphone.")
    facts = TextFacts(2, "A xylophone.", None)
    assert not await search.store_text(text, Cid(cid), facts, is_free=True)
    await texts_of(town).read_pending()
    assert list((await search.public_texts([text.place])).values()) == ["A vibraphone."]


@pytest.mark.parametrize("kind", [TargetKind.POST, TargetKind.AUTHOR, TargetKind.CID, None])
async def test_a_withheld_post_shows_no_revisions_and_accepts_none(
    tmp_path: Path, kind: TargetKind | None
) -> None:
    async with open_world(tmp_path) as world:
        author = world.wallet(1)
        post = post_id, cid = await published_post(world, author)
        revision = await revise(world, author, post, SECOND)
        values = {TargetKind.POST: str(post_id), TargetKind.AUTHOR: author.address}
        # A measure on the cid of a revision applies to the whole post.
        value = values.get(kind, cid if kind else revision["cid"]) if kind else revision["cid"]
        await _withhold(world, Target(kind or TargetKind.CID, value))
        assert problem(await send_revision(world, author, post, THIRD)) == (410, "removed")
        session = await world.login(author)
        for path in ("revisions", "content", "content?revision=0", "content?revision=1"):
            for headers in ({}, session):
                path_of = f"/posts/{post_id}/{path}"
                response = await world.client.get(path_of, headers=headers)
                assert problem(response) == (410, "removed")
        for number in (1, 7):
            assert problem(await _content(world, post_id, revision=number)) == (410, "removed")


async def test_an_author_refused_by_the_operator_cannot_revise_posts(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        author = world.wallet(1)
        post = await published_post(world, author)
        target = Target(TargetKind.AUTHOR, author.address)
        await _desk(world).decide(target, Measure.REFUSED, Ground.POLICY, "")
        world.clock.advance(2)
        response = await send_revision(world, author, post, SECOND)
        assert problem(response) == (403, "author_refused")


async def test_a_document_that_gains_a_post_id_by_reorg_gains_no_revisions(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path, CHAIN_CACHE_SECONDS="0") as world:
        author = world.wallet(1)
        before = world.chain.snapshot()
        post_id, cid = await published_post(world, author, FIRST)
        await revise(world, author, (post_id, cid), SECOND)
        world.chain.restore(before)
        other = await world.create(author, "Another work.")
        await world.deliver_a(world.create_post(author, other["cid"], 0))
        world.clock.advance(60)
        await world.index()
        shown = (await world.client.get(f"/posts/{post_id}")).json()
        assert (shown["cid"], shown["revision"]) == (other["cid"], None)
        found = (await _content(world, post_id)).json()
        assert (found["content"], found["revision"]) == ("Another work.", 0)
        assert problem(await _content(world, post_id, revision=1)) == (404, "unknown_revision")
        # A revision signed for the document that lost its id is not valid for another document.
        response = await send_revision(world, author, (post_id, cid), THIRD)
        assert problem(response) == (401, "body_mismatch")
        # When the document is published again, its revision is shown again.
        await world.deliver_a(world.create_post(author, cid, 0))
        world.clock.advance(60)
        await world.index()
        again = int((await world.metadata(cid))["post_id"])
        assert (await _content(world, again)).json()["content"] == SECOND


async def test_a_post_that_is_no_longer_on_the_chain_cannot_be_revised(tmp_path: Path) -> None:
    async with open_world(tmp_path, CHAIN_CACHE_SECONDS="0") as world:
        author = world.wallet(1)
        before = world.chain.snapshot()
        post = await published_post(world, author)
        world.chain.restore(before)
        response = await send_revision(world, author, post, SECOND)
        assert problem(response) == (404, "not_found")


async def test_the_garbage_collector_keeps_revisions(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        author = world.wallet(1)
        post = post_id, _ = await published_post(world, author)
        await revise(world, author, post, SECOND)
        world.clock.advance(timedelta(days=3).total_seconds())
        collector = build_collector(world.settings, world.adapters)
        await collector.collect()
        assert (await _content(world, post_id)).json()["content"] == SECOND
        assert await world.adapters.stores.garbage.recount_usage() == 0


async def test_revisions_survive_a_restart(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        author = world.wallet(1)
        post = post_id, _ = await published_post(world, author)
        await revise(world, author, post, SECOND)
    async with open_world(tmp_path) as world:
        assert (await _content(world, post_id)).json()["content"] == SECOND
        assert (await revise(world, world.wallet(1), post, THIRD))["number"] == 2


async def test_encrypted_revisions_can_be_read(tmp_path: Path) -> None:
    async with open_world(tmp_path, **ON) as world:
        author = world.wallet(1)
        post = post_id, _ = await published_post(world, author)
        revision = await revise(world, author, post, SECOND)
        assert (await _content(world, post_id)).json()["content"] == SECOND
        keys = await world.adapters.stores.keys.wrapped_keys("", 10)
        assert len(keys) == 2
        stored = await world.adapters.stores.revisions.revision_with_cid(revision["cid"])
        assert stored is not None
        assert stored.wrapped_key is not None


async def test_revisions_have_the_limits_of_signed_requests_and_their_bytes(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_BYTES="100000/3600") as world:
        author = world.wallet(1)
        post = await published_post(world, author)
        await revise(world, author, post, "a" * 60_000)
        refused = await send_revision(world, author, post, "b" * 60_000)
        assert problem(refused) == (429, "rate_limited")
    async with open_world(tmp_path / "2", RATE_LIMITS="on", RATE_SIGNED="5/60") as world:
        author = world.wallet(1)
        post = await published_post(world, author)
        statuses = [
            (await send_revision(world, author, post, f"{n}")).status_code for n in range(6)
        ]
        assert statuses[0] == 200
        assert statuses[-1] == 429


async def test_revisions_count_towards_the_quota_and_the_rate_limit(tmp_path: Path) -> None:
    limits = {"RATE_LIMITS": "on", "RATE_WRITES": "4/60", "QUOTA_BYTES": "2000"}
    async with open_world(tmp_path, **limits) as world:
        author = world.wallet(1)
        post = await published_post(world, author)
        response = await send_revision(world, author, post, "x" * 2_000)
        assert problem(response) == (413, "quota_exceeded")
        await revise(world, author, post, SECOND)
        assert problem(await send_revision(world, author, post, SECOND)) == (429, "rate_limited")


async def test_the_facts_list_revisions_as_a_feature(town: World) -> None:
    facts = (await town.client.get("/.well-known/imprint.json")).json()
    assert "revisions" in facts["features"]


async def test_pages_show_the_correction_its_changes_and_the_first_text(town: World) -> None:
    author = town.wallet(2)
    post = post_id, _ = await published_post(town, author, "The ink is wet.\n\nIt shines.")
    await revise(town, author, post, "The ink is dry.\n\nIt shines.", note="A <b>typo</b>.")
    await revise(town, author, post, "The ink is dry.\n\nIt shone.", note="")
    page = (await town.client.get(f"/p/{post_id}", follow_redirects=True)).text
    assert "Corrected on" in page
    changes = (await town.client.get(f"/p/{post_id}/changes")).text
    assert "<del>wet.</del><ins>dry.</ins>" in changes
    assert "<del>shines.</del><ins>shone.</ins>" in changes
    assert "A &lt;b&gt;typo&lt;/b&gt;." in changes
    one = (await town.client.get(f"/p/{post_id}/changes", params={"revision": "2"})).text
    assert "<del>wet.</del>" not in one
    assert "<ins>shone.</ins>" in one
    first = await town.client.get(f"/p/{post_id}/first")
    assert "The ink is wet." in first.text
    assert "dry" not in first.text
    unknown = await town.client.get(f"/p/{post_id}/changes", params={"revision": "3"})
    assert unknown.status_code == 404


async def test_only_readers_of_a_paid_post_can_see_its_changes(town: World) -> None:
    author, other = town.wallet(2), town.wallet(3)
    post = post_id, _ = await published_post(town, author, "A canary sings.", DEFAULT_PRICE)
    await revise(town, author, post, "A canary sang.")
    session = await town.login(author)
    for path in ("changes", "first", "text"):
        own = await town.client.get(f"/p/{post_id}/{path}", headers=session)
        assert "canary" in own.text
        assert own.headers["cache-control"] == "private, no-store"
        for headers in ({}, await town.login(other)):
            refused = await town.client.get(f"/p/{post_id}/{path}", headers=headers)
            assert refused.status_code in (401, 402, 403)
            assert "canary" not in refused.text
    page = (await town.client.get(f"/p/{post_id}", follow_redirects=True)).text
    assert "canary" not in page
