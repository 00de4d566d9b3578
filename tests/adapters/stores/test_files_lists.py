"""Lists: contents, order, and paging during concurrent writes."""

import pytest

from imprint.domain.posts.indexed_posts import OwnDrafts, PublicList


def cids(files):
    return [file.cid for file in files]


async def test_a_public_list_shows_posts_and_no_drafts(world):
    post = await world.post()
    await world.draft()
    assert cids(await world.pages(PublicList())) == [post.cid]


async def test_a_public_list_with_drafts_shows_both_newest_first(world):
    first, draft, last = await world.post(), await world.draft(), await world.post()
    shown = await world.pages(PublicList(drafts_too=True), size=1)
    assert cids(shown) == [last.cid, draft.cid, first.cid]


async def test_the_most_recently_published_post_is_listed_first(world):
    older, newer = await world.draft(), await world.draft()
    await world.see(world.event(newer), world.event(older))
    assert cids(await world.pages(PublicList())) == [older.cid, newer.cid]


async def test_a_list_of_own_drafts_contains_only_drafts_of_its_owner(world):
    mine = [await world.draft() for _ in range(4)]
    await world.draft(world.bob)
    await world.post()
    assert cids(await world.pages(OwnDrafts(world.alice))) == cids(reversed(mine))


@pytest.mark.parametrize("which", [PublicList(drafts_too=True), PublicList(tags=("a",))])
async def test_deleted_and_replaced_versions_are_not_listed(world, which):
    for drafts_too in (False, True):
        gone = await world.prepare(await world.draft(), "a")
        replaced = await world.prepare(await world.draft(), "a")
        await world.delete(gone)
        await world.update(replaced)
        which = PublicList(which.tags, drafts_too)
        assert {gone.cid, replaced.cid}.isdisjoint(cids(await world.pages(which)))


async def test_a_page_has_at_most_the_requested_number_of_files(world):
    for _ in range(5):
        await world.post()
    assert len(await world.stores.files.list_files(PublicList(), None, 3)) == 3


async def test_a_file_matches_only_if_it_has_all_the_tags(world):
    both = await world.post("a", "b")
    all_three = await world.post("b", "c", "a")
    await world.post("a")
    await world.post("b")
    await world.post()
    assert cids(await world.pages(PublicList(("a", "b")))) == [all_three.cid, both.cid]
    assert cids(await world.pages(PublicList(("b", "a", "a")))) == [all_three.cid, both.cid]
    assert cids(await world.pages(PublicList(("a", "b", "c")))) == [all_three.cid]


@pytest.mark.parametrize("tags", [("nobody",), ("a", "nobody"), ("state", "a"), ("A",), ("%",)])
async def test_listing_by_an_unused_tag_returns_no_posts(world, tags):
    await world.post("a")
    assert await world.pages(PublicList(tags)) == []


async def test_drafts_with_a_tag_are_listed_only_if_drafts_are_included(world):
    draft = await world.prepare(await world.draft(), "a")
    post = await world.post("a")
    assert cids(await world.pages(PublicList(("a",)))) == [post.cid]
    assert cids(await world.pages(PublicList(("a",), True), size=1)) == [post.cid, draft.cid]


async def test_listing_by_tag_reflects_changes_to_a_file(world):
    async def tagged(tag):
        return cids(await world.pages(PublicList((tag,), True)))

    file = await world.prepare(await world.draft(), "a", "b")
    file = await world.prepare(file, "b", "c")
    assert (await tagged("a"), await tagged("b"), await tagged("c")) == (
        [],
        [file.cid],
        [file.cid],
    )
    new = await world.update(file)
    assert await tagged("b") == [new.cid]
    await world.see(world.event(new))
    assert await tagged("c") == [new.cid]
    assert cids(await world.pages(PublicList(("c",)))) == [new.cid]


@pytest.mark.parametrize("which", [PublicList(), PublicList(("a",)), PublicList(("a", "b"))])
async def test_paging_returns_every_file_exactly_once_during_writes(world, which):
    there = [await world.post("a", "b") for _ in range(20)]
    drafts = [await world.prepare(await world.draft(), "a", "b") for _ in range(5)]
    seen, before = [], None
    while page := await world.stores.files.list_files(which, before, 3):
        seen += cids(page)
        before = page[-1].position
        await world.post("a", "b")
        if drafts:
            await world.see(world.event(drafts.pop()))
    assert seen == cids(reversed(there))
