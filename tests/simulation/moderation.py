"""Actions on the operator's measures and on private feeds."""

from tests.simulation.actions import Action, choose
from tests.simulation.ledger import Ledger
from tests.simulation.model import LIVE, Model, OpenedFeed
from tests.simulation.posts_verdict import read_pages
from tests.simulation.universe import FEED_OWNER, Universe
from tests.world import World

from imprint.domain.errors import Refusal
from imprint.domain.moderation import Ground, Measure, TargetKind
from imprint.services.moderation import CurrentMeasures, Moderation, parse_target

MOST = 10
"""Maximum number of private feeds per reader."""

NOTICED = 1.0
"""Seconds after which every process has noticed a measure."""


def _desk(universe: Universe) -> Moderation:
    """Return the moderation service of an operator's command, which is a separate process."""
    stores = universe.adapters.stores
    measures = CurrentMeasures(stores.moderation, universe.clock.monotonic)
    return Moderation(
        stores.moderation,
        stores.index_reader,
        stores.files,
        stores.revisions,
        measures,
        universe.clock.now,
    )


async def moderate(universe: Universe, model: Model) -> None:
    """Take a measure on a post, an author or a document, or undo the measures on it."""
    random = universe.random
    version = choose(universe, model, LIVE)
    kind = random.choice(["post", "author", "cid"])
    if kind == "author":
        name = universe.author().address
    elif kind == "cid" and version is not None:
        name = version.cid
    else:
        kind, name = "post", str(random.randint(1, max(1, len(universe.market.created()))))
    measures = ["unlisted", "withheld", "undone"] + ["refused"] * (kind == "author")
    measure, ground = random.choice(measures), random.choice(list(Ground))
    target, refused = parse_target(TargetKind(kind), name), False
    try:
        await _desk(universe).decide(target, Measure(measure), ground, "Because.")
    except Refusal:
        refused = True
    universe.say(f"{measure} {kind} {name[:6]}: {refused=}")
    if measure == "undone":
        assert refused == ((kind, name) not in model.measures)
    elif refused:
        assert kind == "post"
    if not refused:
        model.take_measure(kind, name, measure)
    universe.clock.advance(NOTICED)


async def lift_measures(universe: Universe, model: Model) -> None:
    """Undo all measures."""
    for kind, name in list(model.measures):
        target = parse_target(TargetKind(kind), name)
        await _desk(universe).decide(target, Measure.UNDONE, Ground.POLICY, "")
        model.take_measure(kind, name, "undone")
    universe.clock.advance(NOTICED)


async def check_measures(universe: Universe, model: Model, ledger: Ledger) -> None:
    """Fail if posts are listed or shown against the operator's measures. At rest only."""
    listed = {int(post["id"]) for post in await read_pages(universe, "/posts", "posts", {})}
    for post_id, post in ledger.posts.items():
        targets = [("post", str(post_id)), ("author", post.author)]
        targets.append(("cid", model.cid_of(post.spelled) or ""))
        found = {each for target in targets for each in model.measures.get(target, ())}
        assert (post_id in listed) == (not found & {"unlisted", "withheld"}), (post_id, found)
        response = await universe.either.client.get(f"/posts/{post_id}")
        withheld = response.status_code in (410, 451)
        assert withheld == ("withheld" in found), response.text


async def add_feed(universe: Universe, model: Model) -> None:
    """Create a private feed."""
    reader = universe.anybody()
    session = await universe.session(reader)
    response = await universe.either.client.post("/me/feeds", headers=session)
    own = [each for each in model.feeds if each.owner == reader.address and not each.removed]
    universe.say(f"add a feed of {reader.address[:6]}: {response.status_code}")
    if len(own) >= MOST:
        assert response.json()["code"] == "too_many_feeds", response.text
        return
    assert response.status_code == 201, response.text
    model.feeds.append(OpenedFeed(reader.address, *_access_in(response.json())))


def _access_in(body: dict[str, str]) -> tuple[str, str]:
    """The ID and the token of a feed that was created or changed."""
    return body["id"], body["json"].rpartition("/")[2].removesuffix(".json")


async def change_feed(universe: Universe, model: Model) -> None:
    """Give a private feed a new token, or remove it. Only its owner may."""
    if not model.feeds:
        return
    feed = universe.random.choice(model.feeds)
    reader = next(each for each in _readers(universe.world) if each.address == feed.owner)
    stranger = universe.random.random() < 0.2
    reader = universe.anybody() if stranger else reader
    session = await universe.session(reader)
    client, path = universe.either.client, f"/me/feeds/{feed.id}"
    rotates = universe.random.random() < 0.5
    if rotates:
        response = await client.post(path, headers=session)
    else:
        response = await client.delete(path, headers=session)
    universe.say(f"change a feed, {rotates=}: {response.status_code}")
    if feed.removed or reader.address != feed.owner:
        assert response.status_code == 404, response.text
    elif rotates:
        assert response.status_code == 200, response.text
        feed.former.append(feed.token)
        _, feed.token = _access_in(response.json())
    else:
        assert response.status_code == 204, response.text
        feed.removed = True


async def fetch_feed(universe: Universe, model: Model) -> None:
    """Fetch a private feed with its token or a former one."""
    if not model.feeds:
        return
    feed = universe.random.choice(model.feeds)
    token = universe.random.choice([feed.token, *feed.former[-2:]])
    ending = universe.random.choice(["json", "atom"])
    response = await universe.either.client.get(
        f"/feeds/private/{token}.{ending}", headers={FEED_OWNER: feed.owner}
    )
    universe.say(f"fetch a feed of {feed.owner[:6]}: {response.status_code}")
    if feed.removed or token != feed.token:
        assert response.status_code == 404, response.text
    else:
        # The index may not be filled yet.
        assert response.status_code in (200, 503), response.text


def _readers(world: World):
    return [world.wallet(index) for index in range(1, 6)]


MODERATION: dict[Action, int] = {
    moderate: 4,
    add_feed: 2,
    change_feed: 2,
    fetch_feed: 4,
}
"""The relative frequency of each action on measures and private feeds."""
