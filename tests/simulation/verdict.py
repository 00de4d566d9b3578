"""Compares the service's responses with the model."""

from typing import Any

from tests.simulation.index_verdict import check_index, hashtags_of
from tests.simulation.ledger import Ledger
from tests.simulation.market import Created
from tests.simulation.model import DESTROYED, GONE, LIVE, Model, Version
from tests.simulation.moderation import check_measures, lift_measures
from tests.simulation.posts_verdict import check_posts
from tests.simulation.universe import AUTHORS, READERS, Universe

Record = dict[str, Any]
"""A file, as returned by the service."""

STEPS_CHECKED = 0.4
"""The share of the actions after which one draft is read."""

SAMPLE = 2
"""How many files and readers are checked in detail. At the end of a run, all of them are."""


async def check(universe: Universe, model: Model, whole: bool) -> None:
    """Fail if the service and the model differ. The universe must be settled."""
    ledger = await check_index(universe, model)
    if model.measures:
        await check_measures(universe, model, ledger)
        await lift_measures(universe, model)
    await check_posts(universe, model, ledger, whole)
    claims = model.claims()
    model.posts, model.post_blocks = {}, {}
    for version in model.versions.values():
        await _check_state(universe, model, version, claims.get(version.cid, []))
    await _check_lists(universe, model, ledger)
    assert await universe.adapters.stores.garbage.recount_usage() == 0, "what counts is wrong"
    posts, drafts = (
        list(model.posts.items()),
        [
            version
            for version in model.versions.values()
            if version.state == LIVE and version.cid not in model.posts
        ],
    )
    if not whole:
        posts = universe.random.sample(posts, min(SAMPLE, len(posts)))
        drafts = universe.random.sample(drafts, min(SAMPLE, len(drafts)))
    for cid, post_id in posts:
        await _check_readers(universe, model.versions[cid], post_id, whole)
    for version in drafts:
        await _check_draft(universe, version, whole)
    await _check_unbound(universe, model)


async def check_step(universe: Universe, model: Model) -> None:
    """Sometimes read a draft that was acknowledged, as its author or anybody. Fail if its author
    cannot read it, or if another reader can."""
    drafts = [each for each in model.versions.values() if each.state == LIVE]
    if not drafts or universe.random.random() > STEPS_CHECKED:
        return
    version = universe.random.choice(drafts)
    readers = [each for each in universe.authors if each.address == version.owner]
    reader = universe.random.choice([*readers, universe.anybody()])
    session = await universe.session(reader)
    response = await universe.either.client.get(
        "/fileByCid", params={"cid": version.cid}, headers=session
    )
    status = response.status_code
    if status == 200:
        assert reader.address == version.owner
        assert response.json()["content"] == version.content
    elif "withheld" in model.measures.get(("cid", version.cid), ()) and status in (410, 451):
        return
    elif version.published or version.cid in model.posts:
        assert status in (403, 404), response.text
    else:
        assert reader.address != version.owner, f"{version.cid[-6:]} was saved: {response.text}"
        assert status == 403, response.text


async def _check_state(
    universe: Universe, model: Model, version: Version, claims: list[Created]
) -> None:
    found = await _look_up(universe, version.cid)
    where = f"{version.cid[-6:]} of {version.owner[:6]}"
    if found is not None:
        assert found["keyvalues"]["owner"] == version.owner, where
        status, post_id = found["keyvalues"]["status"], found["post_id"]
    if claims and version.state != DESTROYED:
        if found is None:
            assert version.perhaps_destroyed, f"{where} is published, and gone"
            version.state = DESTROYED
            return
        assert status == "onchain", f"{where} is published, and {status}"
        assert int(post_id) in [claim.post_id for claim in claims], where
        model.posts[version.cid] = int(post_id)
        model.post_blocks[version.cid] = {claim.block.hash for claim in claims}
        _revive(version)
        return
    if found is None:
        assert version.state != LIVE, f"{where} is a draft, and gone"
        return
    assert status == "pending", f"{where} is not published, and {status}"
    assert tuple(found["hashtags"]) == version.dress.hashtags, where
    assert found["thumbnail_cid"] == version.dress.thumbnail, where
    assert post_id is None, where
    if version.state != LIVE:
        assert version.state == GONE, f"{where} was destroyed, and is there"
        assert version.published, f"{where} was retired, and is there"
        _revive(version)


def _revive(version: Version) -> None:
    version.state, version.detached_at = LIVE, None
    version.perhaps_destroyed = version.published = False


async def _look_up(universe: Universe, cid: str):
    response = await universe.world.client.get("/filesMetaData", params={"cid": cid})
    if response.status_code == 404:
        return None
    (file,) = response.json()["files"]
    return file


async def _check_lists(universe: Universe, model: Model, ledger: Ledger) -> None:
    listed = await _read_list(universe, "/filesMetaData", {})
    assert sorted(file["cid"] for file in listed) == sorted(model.posts)
    for file in listed:
        post = ledger.posts[int(file["post_id"])]
        assert tuple(file["hashtags"]) in hashtags_of(model, post), file["cid"]
    for tag in universe.random.sample(("ink", "paper", "quill"), 1):
        tagged = await _read_list(universe, "/filesByTags", {"tags": tag})
        expected = [file["cid"] for file in listed if tag in file["hashtags"]]
        assert [file["cid"] for file in tagged] == expected


async def _read_list(universe: Universe, path: str, wanted: dict[str, str]):
    files = []
    response = await universe.world.client.get(path, params=wanted)
    while True:
        assert response.status_code == 200, response.text
        files += response.json()["files"]
        token = response.json()["next_page_token"]
        if token is None:
            return files
        response = await universe.world.client.get(
            "/filesByNextPageToken", params={"next_page_token": token}
        )


async def _check_readers(universe: Universe, version: Version, post_id: int, whole: bool) -> None:
    readers = [universe.world.wallet(index) for index in AUTHORS + READERS]
    for reader in readers if whole else universe.random.sample(readers, SAMPLE):
        response = await universe.world.read_post(reader, post_id, await universe.session(reader))
        admitted = universe.market.admits(reader.address, post_id)
        assert response.status_code == (200 if admitted else 403), (post_id, response.text)
        if admitted:
            assert response.json()["content"] == version.content
            assert response.json()["file"]["cid"] == version.cid
            await _check_newest(universe, version, post_id, await universe.session(reader))
    free = await universe.world.read_free(post_id)
    costs_nothing = universe.market.entry(post_id)[1] == 0
    assert free.status_code == (200 if costs_nothing else 403)


async def _check_newest(
    universe: Universe, version: Version, post_id: int, session: dict[str, str]
) -> None:
    """Check the newest text of a post that the session may read, and its revision number."""
    path = f"/posts/{post_id}/content"
    newest = (await universe.world.client.get(path, headers=session)).json()
    expected = [version.content, *version.revisions]
    assert (newest["content"], newest["revision"]) == (expected[-1], len(expected) - 1), post_id
    assert newest["file"]["cid"] == version.cid


async def _check_draft(universe: Universe, version: Version, whole: bool) -> None:
    authors = universe.authors
    owner = next(each for each in authors if each.address == version.owner)
    for reader in authors if whole else [owner, universe.random.choice(authors)]:
        response = await universe.world.client.get(
            "/fileByCid", params={"cid": version.cid}, headers=await universe.session(reader)
        )
        assert response.status_code == (200 if reader.address == version.owner else 403)
        if response.status_code == 200:
            assert response.json()["content"] == version.content


async def _check_unbound(universe: Universe, model: Model) -> None:
    """Check that post ids without a version in this service are not found, whatever is
    delivered."""
    bound = set(model.posts.values())
    reader = universe.anybody()
    session = await universe.session(reader)
    for post_id in universe.random.sample(range(14), SAMPLE):
        if post_id not in bound:
            response = await universe.world.read_post(reader, post_id, session)
            assert response.status_code == 404, (post_id, response.text)
