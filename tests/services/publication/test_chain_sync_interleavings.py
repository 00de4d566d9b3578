"""Published work is kept in any interleaving of an author's and the chain's actions."""

from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count, permutations

import pytest
from tests.services.conftest import Ledger
from tests.services.scripted_chain import ScriptedBlock

from imprint.domain.drafts.files import File, State

ONE_POST = ("update", "delete", "publish", "deliver", "follow")
TWO_POSTS = ("update", "publish", "publish the update", "deliver", "follow")
GRACE = timedelta(hours=24)


@dataclass
class Story:
    """One author's work: versions, publications and webhook deliveries."""

    ledger: Ledger
    post_ids: "count[int]"
    versions: list[File]
    published: dict[int, File] = field(default_factory=dict)
    undelivered: list[ScriptedBlock] = field(default_factory=list)

    async def act(self, action: str) -> None:
        ledger = self.ledger
        if action == "update":
            updated = await ledger.update(self.versions[0])
            self.versions += [] if updated is None else [updated]
        elif action == "delete":
            await ledger.delete(self.versions[-1])
        elif action == "publish":
            self._publish(self.versions[0])
        elif action == "publish the update" and len(self.versions) > 1:
            self._publish(self.versions[1])
        elif action == "deliver":
            for block in self.undelivered:
                await ledger.deliver_block(block)
        elif action == "follow":
            await ledger.follow()

    def _publish(self, file: File) -> None:
        post_id = next(self.post_ids)
        self.published[post_id] = file
        self.undelivered.append(self.ledger.post(file, post_id))


@pytest.mark.parametrize("actions", [ONE_POST, TWO_POSTS])
async def test_a_published_version_is_a_post_whatever_the_order_of_actions(
    ledger: Ledger, actions: tuple[str, ...]
) -> None:
    post_ids = count(1)
    stories = []
    for order in permutations(actions):
        story = Story(ledger, post_ids, [await ledger.draft()])
        for action in order:
            await story.act(action)
        stories.append((order, story))
    await ledger.follow()
    later = ledger.clock.now() + GRACE + timedelta(hours=1)
    condemned = set()
    while found := await ledger.stores.garbage.condemn_documents(later, later - GRACE, 1_000):
        condemned |= {each.cid for each in found}
        for each in found:
            await ledger.stores.garbage.purge(each.cid, each.network, each.fence)
    for order, story in stories:
        for post_id, file in story.published.items():
            post = await ledger.stores.files.file_by_post_id(post_id)
            assert post is not None, order
            assert (post.cid, post.state) == (file.cid, State.ONCHAIN), order
            assert file.cid not in condemned, order
        live = [v for v in story.versions if await ledger.state(v) is not None]
        assert not condemned & {file.cid for file in live}, order


async def test_a_draft_updated_after_publishing_its_old_version_stays_a_draft(
    ledger: Ledger,
) -> None:
    first = await ledger.draft()
    second = await ledger.update(first)
    assert second is not None
    ledger.post(first, 1)
    await ledger.follow()
    assert await ledger.state(first) is State.ONCHAIN
    assert await ledger.state(second) is State.PENDING
    third = await ledger.update(second)
    assert third is not None
    ledger.post(third, 2)
    await ledger.follow()
    assert [await ledger.post_id(file) for file in (first, third)] == [1, 2]
