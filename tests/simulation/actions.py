"""The actions of a simulation, all of which take their randomness from a single source."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from eth_abi.abi import encode
from tests.profiles import hash_of_picture, post_profile, profile_envelope
from tests.revisions import sign_revision
from tests.simulation.market import CREATED, DEPTH, Call, Lies
from tests.simulation.model import GONE, LIVE, Model, SavedProfile, Version
from tests.simulation.universe import Send, Universe
from tests.world import Wallet, World, respell
from tests.writing_sessions import bound_envelope, hash_of

from imprint.devchain.blocks import Block
from imprint.domain.formats.cids import Cid, Codec, cid_of
from imprint.domain.posts.openings import text_facts
from imprint.domain.posts.text_work import TextWork

Action = Callable[[Universe, Model], Awaitable[None]]

PICTURES = (b"one picture", b"another picture", b"a third picture")
"""Pictures, so few that several authors use the same one."""

DONE = ("after_commit", "before_response")
CRASHES = ("after_intent", "after_put", *DONE)
"""Failpoints of a request, which has already taken effect at the failpoints in `DONE`."""


async def create(universe: Universe, model: Model) -> None:
    author, content = universe.author(), new_content(universe)
    body = sign_create(universe, author, content) | {"content": content}
    response = await universe.either.client.post("/create/group", json=body)
    assert response.status_code == 200, response.text
    cid = response.json()["updatedUpload"]["cid"]
    model.add(cid, author.address, content)
    universe.say(f"create {cid[-6:]}")


async def update(universe: Universe, model: Model) -> None:
    version = choose(universe, model, LIVE)
    if version is None:
        return
    owner, content = _wallet(universe, version.owner), new_content(universe)
    body = sign_update(universe, owner, version.cid, content) | {"content": content}
    params = {"cid": version.cid}
    response = await universe.either.client.post("/update/file", params=params, json=body)
    universe.say(f"update {version.cid[-6:]}: {response.status_code}")
    if response.status_code == 200:
        note_update(universe, model, version, response, content)
    else:
        assert response.json()["code"] in ("not_pending", "not_found")


def note_update(
    universe: Universe, model: Model, version: Version, response: httpx2.Response, content: str
) -> None:
    """Record that a new version has replaced another one."""
    _check_not_published(model, version)
    model.retire(version.cid, universe.clock.now())
    model.add(response.json()["upload"]["cid"], version.owner, content, version)


async def revise(universe: Universe, model: Model) -> None:
    """Correct a post, even one that the service has not indexed yet."""
    version = choose(universe, model, LIVE)
    claims = [] if version is None else model.claims().get(version.cid, [])
    if version is None or not claims:
        return
    post_id, content = universe.random.choice(claims).post_id, new_content(universe)
    owner = _wallet(universe, version.owner)
    body = sign_revision(universe.world, owner, (post_id, version.cid), content)

    async def send(world: World) -> httpx2.Response:
        return await world.client.post("/revise/post", params={"postId": post_id}, json=body)

    done, responses = await _send_once(universe, model, send)
    if done:
        version.revisions.append(content)
    for response in responses:
        universe.say(f"revise {version.cid[-6:]}: {response.status_code}")
        if response.status_code == 200:
            assert response.json()["revision"]["number"] == len(version.revisions)
        else:
            # A service that has not read the newest blocks knows no such post, or another one.
            codes = ("not_found", "nonce_used", "not_author", "body_mismatch")
            assert response.json()["code"] in (*codes, "too_many_revisions"), response.text


async def change_profile(universe: Universe, model: Model) -> None:
    """Replace an author's profile, and keep, remove or replace the picture."""
    random, author = universe.random, universe.author()
    name, bio = f"Author {random.randint(1, 99)}", random.choice(["", "Two\nlines."])
    links = random.choice([[], ["https://example.org/", "mailto:me@example.org"]])
    image = random.choice(PICTURES) if random.random() < 0.5 else None
    avatar = random.choice(["keep", "none"]) if image is None else hash_of_picture(image)
    message = {"name": name, "bio": bio, "links": "\n".join(links), "avatar": avatar}
    signed = author.sign_envelope(profile_envelope(universe.clock.seconds, **message))
    done, _ = await _send_once(universe, model, lambda world: post_profile(world, signed, image))
    universe.say(f"profile of {author.address[:6]}, picture {avatar[:6]}")
    assert done
    before = model.profiles.get(author.address)
    kept = before.picture if avatar == "keep" and before is not None else image
    at = universe.clock.now()
    model.profiles[author.address] = SavedProfile(name, bio, tuple(links), kept, at)


async def replay(universe: Universe, model: Model) -> None:
    """Resend a write that already took effect."""
    if not model.spent:
        return
    response = await universe.random.choice(model.spent[-8:])(universe.either)
    universe.say(f"replay: {response.status_code}")
    assert response.json()["code"] in ("nonce_used", "signature_stale"), response.text


async def _send_once(
    universe: Universe, model: Model, send: Send
) -> tuple[bool, list[httpx2.Response]]:
    """Send a signed write that may take effect at most once, and return whether it did.

    One in four is sent twice, and one in eight to a service that crashes before it responds.
    """
    random = universe.random
    done, responses = False, []
    crash_at = random.choice(CRASHES) if random.random() < 0.125 else None
    if crash_at is not None:
        response = await universe.crash(crash_at, send)
        universe.say(f"crash at {crash_at}: {response is None}")
        done = crash_at in DONE if response is None else response.status_code == 200
        responses = [] if response is None else [response]
    for _ in range(2 if random.random() < 0.25 else 1):
        response = await send(universe.either)
        responses.append(response)
        assert not done or response.json()["code"] == "nonce_used", response.text
        done = done or response.status_code == 200
    if done:
        model.spent.append(send)
    return done, responses


async def delete(universe: Universe, model: Model) -> None:
    version = choose(universe, model, LIVE)
    if version is None:
        return
    universe.node.fault = _pick_fault(universe) if universe.random.random() < 0.2 else None
    response = await universe.world.send_delete(_wallet(universe, version.owner), version.cid)
    universe.node.fault = None
    universe.say(f"delete {version.cid[-6:]}: {response.status_code}")
    if response.status_code == 200:
        _check_not_published(model, version)
        claims = model.claims().get(version.cid, [])
        assert version.cid.encode() not in [claim.spelled for claim in claims]
        model.retire(version.cid, universe.clock.now())
    else:
        expected = ("already_onchain", "not_found", "chain_unavailable")
        assert response.json()["code"] in expected, response.text


async def dress(universe: Universe, model: Model) -> None:
    version = choose(universe, model, LIVE)
    if version is None:
        return
    tags = universe.random.choice(["", "ink", "ink,paper", "paper"])
    version.worn.add(tuple(tags.split(",")) if tags else ())
    response = await universe.world.send_publish(
        _wallet(universe, version.owner), version.cid, tags
    )
    universe.say(f"dress {version.cid[-6:]} in '{tags}': {response.status_code}")
    assert response.status_code == 200 or response.json()["code"] in ("not_pending", "not_found")


async def post(universe: Universe, model: Model) -> None:
    """Publish a version: usually a draft, sometimes a replaced version or another author's."""
    state = GONE if universe.random.random() < 0.25 else LIVE
    version = choose(universe, model, state)
    if version is None:
        return
    stranger = universe.random.random() < 0.15
    author = universe.anybody().address if stranger else version.owner
    spelled = respell(version.cid) if universe.random.random() < 0.15 else version.cid
    model.spellings[spelled.encode()] = version.cid
    price = universe.random.choice([0, 10**15, 10**16])
    block = universe.market.send(author, universe.market.creation(spelled, price, universe.texts()))
    universe.say(f"post {version.cid[-6:]} by {author[:6]} {spelled[:1]}: {_outcome(block)}")
    _note_posts(universe, model, block)


async def post_poison(universe: Universe, model: Model) -> None:
    """Publish a text that is not a cid, or bytes that are not a text."""
    spelled = universe.random.choice([b"\xff\xfe", b"a\0b", b"x" * 600, b"no cid"])
    call = universe.market.creation(spelled, 0, universe.texts())
    block = universe.market.send(universe.anybody().address, call)
    universe.say(f"post poison: {_outcome(block)}")
    universe.spread(block)


async def post_foreign(universe: Universe, model: Model) -> None:
    """Publish a cid that belongs to no file in this service."""
    block = universe.market.send(universe.anybody().address, _foreign(universe, model))
    universe.say(f"post of another service: {_outcome(block)}")
    universe.spread(block)


async def buy(universe: Universe, model: Model) -> None:
    reader, post_id = universe.anybody().address, _choose_post(universe)
    block = universe.market.send(reader, universe.market.purchase(post_id))
    universe.say(f"buy {post_id} by {reader[:6]}: {_outcome(block)}")
    model.note_admission(reader, post_id)


async def buy_through_adapter(universe: Universe, model: Model) -> None:
    """Buy several posts together, maybe as a gift, through a known or an unknown adapter."""
    market, random = universe.market, universe.random
    payer, friends = universe.anybody().address, [universe.anybody().address for _ in range(4)]
    adapter = random.choice([market.adapter] * 4 + [market.stranger])
    posts = [_choose_post(universe) for _ in range(random.choice([1, 1, 2]))]
    receiver = random.choice([payer, payer, *friends, market.adapter])
    block = market.send(payer, market.purchase_through(adapter, posts, receiver))
    universe.say(f"{payer[:6]} buys {posts} for {receiver[:6]}: {_outcome(block)}")
    _note_holders(universe, model)


async def transfer(universe: Universe, model: Model) -> None:
    """Transfer tokens, sometimes to oneself or the contract, none at all, or of no real post."""
    holder, receiver, post_id, amount = _movement(universe)
    block = universe.market.send(holder, universe.market.transfer(receiver, post_id, amount))
    universe.say(
        f"transfer {amount} of {post_id}, {holder[:6]} to {receiver[:6]}: {_outcome(block)}"
    )
    _note_holders(universe, model)


async def give(universe: Universe, model: Model) -> None:
    _, receiver, post_id, amount = _movement(universe)
    block = universe.market.send(
        _someone(universe), universe.market.gift(receiver, post_id, amount)
    )
    universe.say(f"give {amount} of {post_id} to {receiver[:6]}: {_outcome(block)}")
    _note_holders(universe, model)


async def burn(universe: Universe, model: Model) -> None:
    holder, _, post_id, amount = _movement(universe)
    block = universe.market.send(holder, universe.market.burning(post_id, amount))
    universe.say(f"burn {amount} of {post_id} by {holder[:6]}: {_outcome(block)}")


async def set_price(universe: Universe, model: Model) -> None:
    post_id = _choose_post(universe)
    author, _ = universe.market.entry(post_id)
    block = universe.market.send(
        author if author in universe.market.chain.wallet.addresses else _someone(universe),
        universe.market.pricing(post_id, universe.random.choice([0, 10**15])),
    )
    universe.say(f"price of {post_id}: {_outcome(block)}")
    _note_free(universe, model)


async def batch(universe: Universe, model: Model) -> None:
    """Make several calls in one transaction, often about one post, so that a block has many
    logs."""
    market, random = universe.market, universe.random
    holder, receiver, post_id, amount = _movement(universe)
    author, _ = market.entry(post_id)
    sender = author if author in market.chain.wallet.addresses and random.random() < 0.4 else holder

    def draw() -> Call:
        one = post_id if random.random() < 0.7 else _choose_post(universe)
        return random.choice(
            [
                lambda: _foreign(universe, model),
                lambda: market.purchase(one),
                lambda: market.transfer(receiver, one, random.choice([0, 1])),
                lambda: market.gift(random.choice([sender, receiver]), one, amount),
                lambda: market.burning(one, 1),
                lambda: market.pricing(one, random.choice([0, 10**15])),
            ]
        )()

    calls = [draw() for _ in range(random.randint(2, 5))]
    block = market.send(sender, market.batch(calls))
    universe.say(f"{len(calls)} calls about {post_id} by {sender[:6]}: {_outcome(block)}")
    universe.spread(block)
    _note_free(universe, model)
    _note_holders(universe, model)


async def mine(universe: Universe, model: Model) -> None:
    blocks = universe.random.choice([1, 2, 5, 20, 70])
    universe.market.mine(blocks)
    universe.say(f"mine {blocks}")


async def reorganize(universe: Universe, model: Model) -> None:
    wanted = universe.random.choice([1, 2, 3, 7, 32, DEPTH, universe.random.randint(1, DEPTH)])
    depth, blocks = universe.market.reorganize(universe.random, wanted)
    universe.say(f"reorg of {depth}, {len(blocks)} transactions come back")
    for block in blocks:
        _note_posts(universe, model, block)
    _note_holders(universe, model)


async def deliver(universe: Universe, model: Model) -> None:
    """Deliver some of the providers' pending webhooks in random order."""
    universe.random.shuffle(universe.undelivered)
    for _ in range(universe.random.randint(1, 6)):
        if not universe.undelivered:
            return
        provider, block = universe.undelivered.pop()
        _hear(universe, model, block)
        response = await universe.deliver(provider, block)
        universe.say(f"deliver {block.number} by {provider}: {response.text[:200]}")
        assert response.status_code in (200, 401)


async def lie(universe: Universe, model: Model) -> None:
    """Deliver false events signed with a provider's stolen secret."""
    version = universe.random.choice([*model.versions.values(), None])
    if version is None:
        return
    market, random = universe.market, universe.random
    model.hear(version.cid)
    post_id = random.randint(1, 12)
    data = encode(["string", "string", "string", "uint256"], ["T", version.cid, "t", 0])
    topics = [CREATED, post_id.to_bytes(32), bytes.fromhex(version.owner[2:]).rjust(32, b"\0")]
    block = market.chain.block(random.randint(0, market.chain.head.number))
    index = random.choice([0, 1, 5])
    newest = market.created()[-3:]
    if newest and random.random() < 0.5:
        # The exact position of a log that the service may not have read yet.
        event = random.choice(newest)
        block, index = event.block, event.index
    assert block is not None
    real = random.random() < 0.7
    log = {
        "data": "0x" + data.hex(),
        "topics": ["0x" + topic.hex() for topic in topics],
        "index": index,
        "account": {"address": market.address},
    }
    number = random.choice([block.number, block.number, None, 10**6])
    response = await universe.lie(log, number, "0x" + (block.hash if real else CREATED).hex())
    universe.say(f"lie {post_id} is {version.cid[-6:]} at {number} {real}: {response.text[:200]}")
    assert response.status_code == 200


async def follow(universe: Universe, model: Model) -> None:
    turn = await universe.follow()
    universe.say(f"follow: {turn}")


async def follow_in_trouble(universe: Universe, model: Model) -> None:
    """Run a round during which the node fails, or the chain advances or is reorganized."""
    random = universe.random
    kind = random.choice(["errors", "dies", "moves"])
    left = random.randint(0, 6)

    def trouble(said: bytes) -> bytes:
        nonlocal left
        left -= 1
        if kind == "errors" and random.random() < 0.3:
            return _spoil(universe, said)
        if kind == "dies" and left < 0:
            return b""
        if kind == "moves" and left == 0:
            _move_chain(universe, model)
        return said

    turn = await universe.follow(trouble)
    universe.say(f"follow while the node {kind}: {turn}")
    _note_holders(universe, model)
    if kind == "dies" and random.random() < 0.5:
        await restart(universe, model)


async def index(universe: Universe, model: Model) -> None:
    turn = await universe.index(indexer=universe.random.choice([0, 0, 1]))
    universe.say(f"index: {turn}")


async def index_twice(universe: Universe, model: Model) -> None:
    turns = await universe.index_twice()
    universe.say(f"two index: {turns}")
    assert sum(turns) <= 1


async def index_behind(universe: Universe, model: Model) -> None:
    """Run a round with a node that lacks the newest blocks."""
    behind = universe.random.choice([1, 2, 5, 20, 70])
    turn = await universe.index(indexer=universe.random.choice([0, 1]), behind=behind)
    universe.say(f"index with a node {behind} behind: {turn}")


async def index_texts(universe: Universe, model: Model) -> None:
    """Index the texts of free posts for search, as far as they are stored here."""
    for pending in await universe.search.pending_texts(-1, 100):
        texts = [
            (cid, model.versions[cid].content)
            for event in universe.market.created()
            if event.post_id == pending.post_id
            and (cid := model.spellings.get(event.spelled)) is not None
        ]
        if texts and universe.random.random() < 0.8:
            cid, content = texts[0]
            facts = text_facts(content, TextWork())
            is_done = await universe.search.store_text(
                pending, Cid(cid), facts, is_free=pending.free
            )
            universe.say(f"text of {pending.post_id}: {is_done}")


async def index_in_trouble(universe: Universe, model: Model) -> None:
    """Run an indexer round during which the node fails, omits logs, or is on another chain."""
    random = universe.random
    kind = random.choice(["errors", "dies", "omits", "repeats", "moves"])
    left = random.randint(0, 8)

    def trouble(said: bytes) -> bytes:
        nonlocal left
        left -= 1
        if kind == "errors" and random.random() < 0.2:
            return _spoil(universe, said)
        if kind == "dies" and left < 0:
            return b""
        if kind in ("omits", "repeats"):
            return json.dumps(_change_logs(universe, json.loads(said), kind)).encode()
        if kind == "moves" and left == 0:
            _move_chain(universe, model)
        return said

    turn = await universe.index(trouble, random.choice([0, 0, 1]))
    universe.say(f"index while the node {kind}: {turn}")
    _note_holders(universe, model)
    if random.random() < 0.2:
        await restart(universe, model)


async def begin_lying(universe: Universe, model: Model) -> None:
    """Make the node omit some or all logs, permanently or until blocks are final."""
    random = universe.random
    lies = Lies(
        universe.market.chain,
        random.choice([1.0, 1.0, 0.5]),
        random.choice([True, False]),
        random.choice([None, None, DEPTH - 1, DEPTH + 3]),
    )
    universe.node.lie = lies.change
    share, until = lies.share, lies.until
    universe.say(f"the node hides {share}, receipts too: {lies.receipts}, until {until}")


async def end_lying(universe: Universe, model: Model) -> None:
    universe.node.lie = None
    universe.say("the node is honest")


async def ask_two_nodes(universe: Universe, model: Model) -> None:
    """Run rounds of a process with two nodes, one of which returns false data."""
    before, universe.node.lie = (
        universe.node.lie,
        universe.node.lie
        or Lies(universe.market.chain, receipts=universe.random.choice([True, False])).change,
    )
    turns = await universe.run_pair()
    universe.node.lie = before
    universe.say(f"follow and index with a second node: {turns}")


async def restart(universe: Universe, model: Model) -> None:
    universe.say("restart")
    await universe.restart()


async def restore(universe: Universe, model: Model) -> None:
    """Continue with a restored backup. Not for PostgreSQL, whose backup is restored to SQLite."""
    if universe.database is not None:
        return
    universe.say("restore")
    await universe.restore()
    model.restore()


async def jump(universe: Universe, model: Model) -> None:
    seconds = universe.random.choice([-20, 0.5, 3, 7, 31, 400, 3_700, 90_000])
    universe.clock.advance(seconds)
    universe.say(f"the clock jumps by {seconds}")


async def collect(universe: Universe, model: Model) -> None:
    model.collect(universe.clock.now())
    await universe.collect()
    universe.say("collect")


async def read(universe: Universe, model: Model) -> None:
    """Read a post at any moment. A reader who was never entitled to it must not get it."""
    reader, post_id = universe.anybody(), _choose_post(universe)
    session = await universe.session(reader)
    _note_free(universe, model)
    universe.node.fault = _pick_fault(universe) if universe.random.random() < 0.2 else None
    response = await universe.world.read_post(reader, post_id, session)
    universe.node.fault = None
    universe.say(f"read {post_id} by {reader.address[:6]}: {response.status_code}")
    assert response.status_code in (200, 403, 404, 503), response.text
    if response.status_code == 200:
        version = model.versions[response.json()["file"]["cid"]]
        assert response.json()["content"] == version.content
        own = version.owner == reader.address
        assert own or (reader.address, version.cid) in model.admitted


ACTIONS: dict[Action, int] = {
    create: 8,
    update: 6,
    revise: 8,
    change_profile: 6,
    replay: 3,
    delete: 3,
    dress: 2,
    post: 16,
    post_poison: 1,
    post_foreign: 2,
    buy: 8,
    buy_through_adapter: 6,
    transfer: 4,
    give: 2,
    burn: 2,
    batch: 3,
    set_price: 3,
    mine: 4,
    reorganize: 5,
    deliver: 16,
    lie: 8,
    follow: 5,
    follow_in_trouble: 5,
    index: 5,
    index_in_trouble: 5,
    index_behind: 2,
    index_twice: 2,
    index_texts: 3,
    begin_lying: 2,
    end_lying: 1,
    ask_two_nodes: 3,
    restart: 1,
    restore: 1,
    jump: 2,
    collect: 2,
    read: 6,
}
"""The default frequency of each action. A run may increase some and disable others."""


def choose(universe: Universe, model: Model, state: str) -> Version | None:
    found = [version for version in model.versions.values() if version.state == state]
    return universe.random.choice(found) if found else None


def _choose_post(universe: Universe) -> int:
    return universe.random.randint(1, max(1, len(universe.market.created())))


def sign_create(universe: Universe, author: Wallet, content: str) -> dict[str, Any]:
    """Sign a create in a randomly chosen form."""
    if universe.random.random() < 0.5:
        return author.sign("create")
    at, hashed = universe.clock.seconds, hash_of(content)
    return author.sign_envelope(bound_envelope("create", at, contentHash=hashed))


def sign_update(universe: Universe, author: Wallet, cid: str, content: str) -> dict[str, Any]:
    if universe.random.random() < 0.5:
        return author.sign("update")
    at, hashed = universe.clock.seconds, hash_of(content)
    return author.sign_envelope(bound_envelope("update", at, cid=cid, contentHash=hashed))


def new_content(universe: Universe) -> str:
    """A text with a unique word."""
    return f"Words canary{universe.random.getrandbits(64):x} end"


def _foreign(universe: Universe, model: Model) -> Call:
    cid = cid_of(Codec.RAW, universe.random.randbytes(32))
    spelled = respell(cid) if universe.random.random() < 0.3 else cid
    model.foreign[spelled.encode()] = cid
    price = universe.random.choice([0, 10**15])
    return universe.market.creation(spelled, price, universe.texts())


def _movement(universe: Universe) -> tuple[str, str, int, int]:
    """A sender, a receiver, a post and an amount. Usually the sender has the tokens."""
    random, market = universe.random, universe.market
    post_id = _choose_post(universe) if random.random() < 0.95 else 10**30
    everybody = market.chain.wallet.addresses[1:6]
    holders = [each for each in everybody if market.balance(each, post_id)]
    sender = random.choice(holders) if holders and random.random() < 0.9 else _someone(universe)
    receiver = _someone(universe)
    if random.random() < 0.1:
        receiver = random.choice([market.address.lower(), market.adapter])
    amount = random.choice([0, 1, 1, 1, 1, 2, market.balance(sender, post_id), 2**128])
    return sender, receiver, post_id, amount


def _move_chain(universe: Universe, model: Model) -> None:
    """Advance or reorganize the chain."""
    random = universe.random
    if random.random() < 0.5:
        universe.market.mine(random.randint(1, 3))
        return
    _, blocks = universe.market.reorganize(random, random.randint(1, 5))
    for block in blocks:
        _note_posts(universe, model, block)


def _change_logs(universe: Universe, said: Any, kind: str) -> Any:
    """Omit or duplicate some of the logs in a response."""
    if isinstance(said, list):
        if said and all(isinstance(each, dict) and "topics" in each for each in said):
            chance = universe.random.random
            if kind == "omits":
                return [each for each in said if chance() > 0.2]
            return [again for each in said for again in [each] * (2 if chance() < 0.2 else 1)]
        return [_change_logs(universe, each, kind) for each in said]
    if isinstance(said, dict) and isinstance(said.get("result"), list):
        return {**said, "result": _change_logs(universe, said["result"], kind)}
    return said


def _someone(universe: Universe) -> str:
    return universe.anybody().address


def _wallet(universe: Universe, address: str):
    wallets = (*universe.authors, *(universe.world.wallet(index) for index in range(10)))
    return next(wallet for wallet in wallets if wallet.address == address)


def _outcome(block: Block | None) -> str:
    return "refused" if block is None or block.receipt is None else str(block.receipt.success)


def _check_not_published(model: Model, version: Version) -> None:
    """Check that a version is not a post that is fully on the chain, which could not change."""
    present = {event.block.hash for event in model.claims().get(version.cid, [])}
    blocks = model.post_blocks.get(version.cid)
    assert not blocks or not blocks <= present


def _note_posts(universe: Universe, model: Model, block: Block | None) -> None:
    universe.spread(block)
    if block is not None:
        _hear(universe, model, block)
    _note_free(universe, model)


def _hear(universe: Universe, model: Model, block: Block) -> None:
    for event in universe.market.created_in(block):
        cid = model.spellings.get(event.spelled)
        if cid is not None:
            model.hear(cid)


def _note_free(universe: Universe, model: Model) -> None:
    for event in universe.market.created():
        cid = model.spellings.get(event.spelled)
        if cid is not None and universe.market.entry(event.post_id)[1] == 0:
            everybody = universe.market.chain.wallet.addresses
            model.admitted |= {(reader, cid) for reader in everybody}


def _note_holders(universe: Universe, model: Model) -> None:
    """Record current holders: after a reorg, a token may be for a different post than was
    bought."""
    for event in universe.market.created():
        cid = model.spellings.get(event.spelled)
        for reader in universe.market.chain.wallet.addresses[1:6]:
            if cid is not None and universe.market.admits(reader, event.post_id):
                model.admitted.add((reader, cid))


def _spoil(universe: Universe, said: bytes) -> bytes:
    return universe.random.choice([b"", b"<html>", said[: len(said) // 2], b"[]", b"null"])


def _pick_fault(universe: Universe) -> Callable[[bytes], bytes | None]:
    return lambda said: _spoil(universe, said)
