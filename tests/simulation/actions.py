"""The actions of a simulation, all of which take their randomness from a single source."""

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import httpx2
from eth_abi.abi import encode
from tests.profiles import hash_of_picture, post_profile, profile_envelope
from tests.revisions import sign_revision
from tests.simulation.market import CREATED, DEPTH, Call, Lies
from tests.simulation.model import CACHE_SECONDS, GONE, LIVE, Model, SavedProfile, Version
from tests.simulation.universe import AUTHORS, GRACE, READERS, Send, Universe
from tests.world import Wallet, World, respell
from tests.writing_sessions import bound_envelope, hash_of

from imprint.devchain.blocks import Block
from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid, Codec, cid_of, document_cid
from imprint.domain.posts.openings import text_facts
from imprint.domain.posts.text_work import TextWork
from imprint.services.tasks.leases import LEASE_TIME

Action = Callable[[Universe, Model], Awaitable[None]]

PICTURES = (b"one picture", b"another picture", b"a third picture")
"""Few pictures, so that several authors use the same one."""

AFTER_COMMIT = ("after_commit", "before_response")
BEFORE_COMMIT = (
    "before_intent",
    "after_intent",
    "during_put",
    "unsynced_put",
    "after_put",
    "before_commit",
)
CRASHES = (*BEFORE_COMMIT, *AFTER_COMMIT, "during_commit", "during_commit:2", "during_commit:3")
"""Failpoints of a write, which has already taken effect at those in `AFTER_COMMIT`."""

REFUSALS = ("not_pending", "not_found")

OVERDUE = 0.5
"""The share of the collections before which everything inaccessible becomes due."""


@dataclass
class Sent:
    """What became of a signed write: whether it took effect, and the resulting file if known."""

    done: bool
    file: dict[str, Any] | None
    refusals: list[str]


async def send_once(universe: Universe, model: Model, signer: str, send: Send) -> Sent:
    """Send a signed write that may take effect at most once.

    Some are sent twice, some to a process that crashes, and some while the store fails. Whether a
    write took effect is known from the response to the same write, which is sent again.
    """
    random = universe.random
    if universe.market.is_short and signer == universe.contract_wallet.address:
        # Nodes that seem to be behind are not trusted to verify a signature.
        universe.market.catch_up()
    trouble = random.choices(["none", "crash", "store"], [12, 2, 1])[0]
    responses: list[httpx2.Response] = []
    must: bool | None = None
    if trouble == "crash":
        at, number = random.choice(CRASHES), universe.choose_process()
        world = universe.process(number).world
        response = await universe.crash(at, number, lambda: send(world))
        if response is None:
            universe.say(f"crash at {at}")
            must = True if at in AFTER_COMMIT else False if at in BEFORE_COMMIT else None
        else:
            responses.append(response)
    elif trouble == "store":
        number = universe.choose_process()
        store = universe.process(number).store
        store.faults = random.choices([None, "before", "after"], k=2)
        response = await send(universe.process(number).world)
        failed, store.faults = len(store.faults) < 2, []
        if response.json().get("code") == "storage_unavailable":
            assert failed, response.text
            universe.counts["store fails"] += 1
            universe.say("the store fails")
            must = False
        else:
            responses.append(response)
    times = 2 if random.random() < 0.2 else 1
    while len(responses) < times:
        responses.append(await send(universe.either))
    return _judge(model, signer, send, responses, must)


def _judge(
    model: Model, signer: str, send: Send, responses: list[httpx2.Response], must: bool | None
) -> Sent:
    """Return whether a write took effect. Fails if it took effect twice, or unexpectedly."""
    accepted = [each for each in responses if each.status_code == 200]
    bodies = [each.json() for each in responses]
    codes = [None if body.get("code") is None else str(body["code"]) for body in bodies]
    assert len(accepted) <= 1, "a nonce was used twice"
    used = [body for body in bodies if body.get("code") == "nonce_used"]
    done = bool(accepted or used)
    if must is not None:
        assert must == (codes[0] == "nonce_used"), (must, codes)
    if done:
        # After the write took effect, it never does so again.
        assert all(code == "nonce_used" for code in codes[1:]), codes
        model.spent.append(send)
    if model.refuses(signer):
        assert not accepted or must, codes
    file = _file_in(accepted[0].json()) if accepted else used[0]["file"] if used else None
    return Sent(done, file, [code for code in codes if code not in (None, "nonce_used")])


def _file_in(body: dict[str, Any]) -> dict[str, Any] | None:
    return body.get("updatedUpload") or body.get("upload") or body.get("file")


async def create(universe: Universe, model: Model) -> None:
    author, content = universe.author(), new_content(universe)
    model.note_text(content, author.address, None)
    body = sign_create(universe, author, content) | {"content": content}
    sent = await send_once(
        universe,
        model,
        author.address,
        lambda world: world.client.post("/create/group", json=body),
    )
    universe.say(f"create by {author.address[:6]}: {sent.done} {sent.refusals}")
    assert sent.done != model.refuses(author.address), sent.refusals
    if sent.done:
        assert sent.file is not None
        model.add(sent.file["cid"], author.address, content)


async def update(universe: Universe, model: Model) -> None:
    version = choose(universe, model, LIVE)
    if version is not None:
        await _update(universe, model, version)


async def _update(universe: Universe, model: Model, version: Version) -> None:
    owner, content = _wallet(universe, version.owner), new_content(universe)
    model.note_text(content, version.owner, None)
    body = sign_update(universe, owner, version.cid, content) | {"content": content}
    params = {"cid": version.cid}
    sent = await send_once(
        universe,
        model,
        version.owner,
        lambda world: world.client.post("/update/file", params=params, json=body),
    )
    universe.say(f"update {version.cid[-6:]}: {sent.done} {sent.refusals}")
    if sent.done:
        assert sent.file is not None
        note_update(universe, model, version, sent.file["cid"], content)
    else:
        expect_refusals(model, version.owner, sent, REFUSALS)


def expect_refusals(model: Model, signer: str, sent: Sent, codes: Iterable[str]) -> None:
    """Fail if a write was refused for a reason other than `codes` or a measure of the operator."""
    expected = {"author_refused"} if model.refuses(signer) else set(codes)
    assert set(sent.refusals) <= expected, sent.refusals


def note_update(universe: Universe, model: Model, version: Version, cid: str, content: str) -> None:
    """Record that a new version has replaced another one."""
    _check_not_published(model, version)
    model.retire(version.cid, universe.clock.now())
    model.add(cid, version.owner, content, version)


async def revise(universe: Universe, model: Model) -> None:
    """Correct a post, even one that the service has not indexed yet."""
    version = choose(universe, model, LIVE)
    claims = [] if version is None else model.claims().get(version.cid, [])
    if version is None or not claims:
        return
    post_id, content = universe.random.choice(claims).post_id, new_content(universe)
    model.note_text(content, version.owner, version.cid)
    owner = _wallet(universe, version.owner)
    body = sign_revision(universe.world, owner, (post_id, version.cid), content)
    params = {"postId": post_id}
    sent = await send_once(
        universe,
        model,
        version.owner,
        lambda world: world.client.post("/revise/post", params=params, json=body),
    )
    universe.say(f"revise {version.cid[-6:]}: {sent.done} {sent.refusals}")
    if sent.done:
        version.revisions.append(content)
    else:
        # A service that has not read the newest blocks knows no such post, or another one.
        codes = ("not_found", "not_author", "body_mismatch", "too_many_revisions", "withheld")
        expect_refusals(model, version.owner, sent, (*codes, "removed"))


async def change_profile(universe: Universe, model: Model) -> None:
    """Replace an author's profile, and keep, remove or replace the picture."""
    random, author = universe.random, universe.author()
    name, bio = f"Author {random.randint(1, 99)}", random.choice(["", "Two\nlines."])
    links = random.choice([[], ["https://example.org/", "mailto:me@example.org"]])
    image = random.choice(PICTURES) if random.random() < 0.5 else None
    avatar = random.choice(["keep", "none"]) if image is None else hash_of_picture(image)
    message = {"name": name, "bio": bio, "links": "\n".join(links), "avatar": avatar}
    signed = author.sign_envelope(profile_envelope(universe.clock.seconds, **message))
    sent = await send_once(
        universe, model, author.address, lambda world: post_profile(world, signed, image)
    )
    universe.say(f"profile of {author.address[:6]}, picture {avatar[:6]}: {sent.done}")
    assert sent.done != model.refuses(author.address), sent.refusals
    if sent.done:
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
    codes = {"nonce_used", "signature_stale", "author_refused"}
    # The write may have been signed in a session that has ended since.
    codes |= {"writing_session_invalid", "writing_session_expired"}
    if universe.market.is_short:
        # The signature of a contract cannot be verified.
        codes.add("chain_unavailable")
    assert response.json()["code"] in codes, response.text


async def delete(universe: Universe, model: Model) -> None:
    """Delete a draft, which no measure of the operator prevents."""
    version = choose(universe, model, LIVE)
    if version is None:
        return
    universe.node.fault = _pick_fault(universe) if universe.random.random() < 0.2 else None
    body, params = _wallet(universe, version.owner).sign("delete"), {"cid": version.cid}

    async def send(world: World) -> httpx2.Response:
        return await world.client.post("/delete/file", params=params, json=body)

    if universe.node.fault is None:
        sent = await send_once(universe, model, "", send)
    else:
        universe.counts["node fails"] += 1
        sent = _judge(model, "", send, [await send(universe.world)], None)
    universe.node.fault = None
    universe.say(f"delete {version.cid[-6:]}: {sent.done} {sent.refusals}")
    if sent.done:
        _check_not_published(model, version)
        claims = model.claims().get(version.cid, [])
        assert version.cid.encode() not in [claim.spelled for claim in claims]
        model.retire(version.cid, universe.clock.now())
    else:
        expect_refusals(model, "", sent, ("already_onchain", "not_found", "chain_unavailable"))


async def dress(universe: Universe, model: Model) -> None:
    """Give a draft a thumbnail and hashtags."""
    version = choose(universe, model, LIVE)
    if version is None:
        return
    tags = universe.random.choice(["", "ink", "ink,paper", "paper"])
    fields = _wallet(universe, version.owner).sign("publish") | {"hashtags": tags}
    fields["salt"] = json.dumps(fields["salt"])
    picture = universe.random.choice(PICTURES)

    async def send(world: World) -> httpx2.Response:
        files = {"file": ("cover.png", picture, "image/png")}
        params = {"cid": version.cid}
        return await world.client.post("/publish/file", params=params, data=fields, files=files)

    sent = await send_once(universe, model, version.owner, send)
    universe.say(f"dress {version.cid[-6:]} in '{tags}': {sent.done} {sent.refusals}")
    if sent.done:
        hashtags = tuple(tags.split(",")) if tags else ()
        model.dress(version, hashtags, document_cid(picture))
    else:
        expect_refusals(model, version.owner, sent, REFUSALS)


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


async def buy_through_adapter(universe: Universe, model: Model) -> None:
    """Buy several posts together, maybe as a gift, through a known or an unknown adapter."""
    market, random = universe.market, universe.random
    payer, friends = universe.anybody().address, [universe.anybody().address for _ in range(4)]
    adapter = random.choice([market.adapter] * 4 + [market.stranger])
    posts = [_choose_post(universe) for _ in range(random.choice([1, 1, 2]))]
    receiver = random.choice([payer, payer, *friends, market.adapter])
    block = market.send(payer, market.purchase_through(adapter, posts, receiver))
    universe.say(f"{payer[:6]} buys {posts} for {receiver[:6]}: {_outcome(block)}")


async def transfer(universe: Universe, model: Model) -> None:
    """Transfer tokens: sometimes none, to oneself, to the contract, or of a missing post."""
    holder, receiver, post_id, amount = _movement(universe)
    block = universe.market.send(holder, universe.market.transfer(receiver, post_id, amount))
    universe.say(
        f"transfer {amount} of {post_id}, {holder[:6]} to {receiver[:6]}: {_outcome(block)}"
    )


async def give(universe: Universe, model: Model) -> None:
    _, receiver, post_id, amount = _movement(universe)
    block = universe.market.send(
        _someone(universe), universe.market.gift(receiver, post_id, amount)
    )
    universe.say(f"give {amount} of {post_id} to {receiver[:6]}: {_outcome(block)}")


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


async def mine(universe: Universe, model: Model) -> None:
    blocks = universe.random.choice([1, 2, 5, 20, 70])
    universe.market.mine(blocks)
    universe.say(f"mine {blocks}")


async def reorganize(universe: Universe, model: Model) -> None:
    wanted = universe.random.choice([1, 2, 3, 7, 32, DEPTH, universe.random.randint(1, DEPTH)])
    depth, blocks = universe.market.reorganize(universe.random, wanted)
    if depth:
        deep = next(each for each in (8, 32, DEPTH) if depth <= each)
        universe.counts[f"reorg of at most {deep}"] += 1
    universe.say(f"reorg of {depth}, {len(blocks)} transactions come back")
    for block in blocks:
        _note_posts(universe, model, block)


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
    """Run a follower round in which the node fails, or the chain advances or is reorganized."""
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
    universe.counts[f"node {kind}"] += 1
    universe.say(f"follow while the node {kind}: {turn}")
    if kind == "dies" and random.random() < 0.2:
        await restart(universe, model)


async def index(universe: Universe, model: Model) -> None:
    turn = await universe.index(number=universe.choose_process())
    universe.say(f"index: {turn}")


async def index_twice(universe: Universe, model: Model) -> None:
    if not universe.is_replicated:
        return
    turns = await universe.index_twice()
    universe.say(f"two index: {turns}")
    assert sum(turns) <= 1


async def index_behind(universe: Universe, model: Model) -> None:
    """Run an indexer round with a node that lacks the newest blocks."""
    behind = universe.random.choice([1, 2, 5, 20, 70])
    turn = await universe.index(number=universe.choose_process(), behind=behind)
    universe.counts["node lags"] += 1
    universe.say(f"index with a node {behind} behind: {turn}")


async def index_texts(universe: Universe, model: Model) -> None:
    """Index the texts of free posts for search, if they are stored here."""
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

    turn = await universe.index(trouble, universe.choose_process())
    universe.counts[f"node {kind}"] += 1
    universe.say(f"index while the node {kind}: {turn}")
    if random.random() < 0.1:
        await restart(universe, model)


async def index_until_crash(universe: Universe, model: Model) -> None:
    """Run a round of an indexer that crashes."""
    at = universe.random.choice(
        ["during_restart", "during_step", "after_step", "during_commit", "during_commit:2"]
    )
    number = universe.choose_process()
    turn = await universe.crash(at, number, lambda: universe.index(number=number))
    universe.say(f"index until {at}: {turn}")


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
    universe.counts["node leaves out logs"] += 1
    share, until = lies.share, lies.until
    universe.say(f"the node hides {share}, receipts too: {lies.receipts}, until {until}")


async def end_lying(universe: Universe, model: Model) -> None:
    universe.node.lie = None
    universe.say("the node is honest")


async def ask_two_nodes(universe: Universe, model: Model) -> None:
    """Run rounds of the process with several nodes, one of which returns false data."""
    if not universe.is_replicated:
        return
    before, universe.node.lie = (
        universe.node.lie,
        universe.node.lie
        or Lies(universe.market.chain, receipts=universe.random.choice([True, False])).change,
    )
    turns = await universe.run_second()
    universe.node.lie = before
    universe.say(f"follow and index with a second node: {turns}")


async def restart(universe: Universe, model: Model) -> None:
    universe.say("restart")
    await universe.restart()


async def restore(universe: Universe, model: Model) -> None:
    """Continue with a restored backup. Not for PostgreSQL, whose backup is restored to SQLite."""
    if universe.database is not None or universe.random.random() < 0.5:
        return
    universe.say("restore")
    await universe.restore()
    model.restore()


async def jump(universe: Universe, model: Model) -> None:
    seconds = universe.random.choice([-20, 0.5, 3, 7, 31, 400, 3_700, 90_000])
    universe.clock.advance(seconds)
    universe.counts["clock set back"] += seconds < 0
    universe.say(f"the clock jumps by {seconds}")


async def collect(universe: Universe, model: Model) -> None:
    """Destroy what has been inaccessible for long, with a collector that may crash or fail."""
    random = universe.random
    # A collector that crashed holds its lease for a while.
    wait = GRACE if random.random() < OVERDUE else LEASE_TIME
    if wait == GRACE:
        # Something becomes due even if no draft was replaced so far.
        await create(universe, model)
        newest = next(reversed(model.versions.values()), None)
        if newest is not None and newest.state == LIVE:
            await _update(universe, model, newest)
    universe.wait_beyond(wait.total_seconds() + 1)
    model.collect(universe.clock.now())
    trouble = random.choice(["none", "crash", "crash", "store"])
    if trouble == "crash":
        at = random.choice(["after_condemn", "after_remove", "after_purge", "during_commit:3"])
        await universe.crash(at, 0, universe.collect)
    else:
        store = universe.process(0).store
        store.faults = [random.choice(["before", "after"])] if trouble == "store" else []
        await universe.collect()
        universe.counts["store fails the collector"] += trouble == "store" and not store.faults
        store.faults = []
    universe.say(f"collect after {wait}, with trouble {trouble}")
    if trouble == "none":
        await _check_destroyed(universe, model)


async def _check_destroyed(universe: Universe, model: Model) -> None:
    """Check that no document is left of versions that were inaccessible for long enough."""
    for version in model.versions.values():
        if version.perhaps_destroyed and version.state == GONE and not version.published:
            left = await universe.world.adapters.content.read(Cid(version.cid), Network.PRIVATE)
            assert left is None, f"{version.cid[-6:]} was not destroyed"
            universe.counts["document destroyed"] += 1


async def read(universe: Universe, model: Model) -> None:
    """Read a post at any moment. The universe checks that the reader may see its text."""
    reader, post_id = universe.anybody(), _choose_post(universe)
    number = universe.choose_process()
    process = universe.process(number)
    trouble = universe.random.choices(["none", "node", "balance", "store"], [6, 1, 2, 1])[0]
    holding = sorted(key for key, held in universe.market.holdings.balances.items() if held)
    if trouble == "balance" and number == 1 and holding and universe.random.random() < 0.7:
        holder, post_id = universe.random.choice(holding)
        readers = [universe.world.wallet(index) for index in AUTHORS + READERS]
        reader = next((each for each in readers if each.address == holder), reader)
    session = await universe.session(reader)
    path = universe.random.choice(["/fileByPostId", f"/posts/{post_id}/content"])
    params = {"user": reader.address, "postId": str(post_id)} if path[1] == "f" else {}
    entitled, balance = False, None
    if trouble == "node":
        universe.node.fault = _pick_fault(universe)
    elif trouble == "store":
        process.store.faults = [universe.random.choice(["before", "after"])]
    elif trouble == "balance" and number == 1:
        before = await process.world.client.get(path, params=params, headers=session)
        entitled = before.status_code == 200
        # The process forgets what the nodes said.
        universe.clock.advance(CACHE_SECONDS + 1)
        model.note_access(universe.clock.passed)
        session = await universe.session(reader)
        # One of the three nodes lies, and two must agree.
        balance = universe.random.choice([0, 1])
        process.links[universe.random.randint(0, 2)].balance = balance
    response = await process.world.client.get(path, params=params, headers=session)
    universe.node.fault, process.store.faults = None, []
    for link in process.links:
        link.balance = None
    universe.counts[f"wrong {trouble}" if trouble == "balance" else f"{trouble} fails"] += (
        trouble != "none" and (trouble != "balance" or number == 1)
    )
    universe.say(f"read {post_id} by {reader.address[:6]}, {trouble}: {response.status_code}")
    assert response.status_code in (200, 402, 403, 404, 410, 451, 503), response.text
    if entitled:
        # One node that denies access is believed, but only while it does.
        refused = (402, 403) if balance == 0 else ()
        assert response.status_code in (200, *refused), response.text
        again = await process.world.client.get(path, params=params, headers=session)
        assert again.status_code == 200, f"a holder is denied: {again.text}"
        universe.counts["wrong balance of a holder"] += 1
    if response.status_code == 200:
        version = model.versions[response.json()["file"]["cid"]]
        assert response.json()["content"] in (version.content, *version.revisions)


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
    index_until_crash: 3,
    index_texts: 3,
    begin_lying: 2,
    end_lying: 1,
    ask_two_nodes: 3,
    restart: 1,
    restore: 1,
    jump: 2,
    collect: 3,
    read: 12,
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
    """Fail if all blocks of a version's posts are on the chain, because such a version cannot
    change."""
    present = {event.block.hash for event in model.claims().get(version.cid, [])}
    blocks = model.post_blocks.get(version.cid)
    assert not blocks or not blocks <= present


def _note_posts(universe: Universe, model: Model, block: Block | None) -> None:
    universe.spread(block)
    if block is not None:
        _hear(universe, model, block)


def _hear(universe: Universe, model: Model, block: Block) -> None:
    for event in universe.market.created_in(block):
        cid = model.spellings.get(event.spelled)
        if cid is not None:
            model.hear(cid)


def _spoil(universe: Universe, said: bytes) -> bytes:
    return universe.random.choice([b"", b"<html>", said[: len(said) // 2], b"[]", b"null"])


def _pick_fault(universe: Universe) -> Callable[[bytes], bytes | None]:
    return lambda said: _spoil(universe, said)
