"""Actions on reader sessions and writing sessions, in both processes of the service."""

from datetime import timedelta

import httpx2
from cryptography.hazmat.primitives.asymmetric import ec
from tests.simulation.actions import REFUSALS, Action, choose, new_content, note_update
from tests.simulation.model import LIVE, Model, OpenedSession
from tests.simulation.universe import SESSION, ReaderSession, Universe
from tests.world import World
from tests.writing_sessions import WritingKey, send_opening

MOST = 20
"""Maximum number of writing sessions per wallet."""

EARLY = 5
"""Seconds by which a client's clock may be ahead."""


async def open_writing_session(universe: Universe, model: Model) -> None:
    random, author = universe.random, universe.author()
    curve = ec.SECP256R1()
    key = WritingKey(author, ec.derive_private_key(1 + random.getrandbits(200), curve))
    actions = random.choice([("create",), ("update",), ("create", "update")])
    expires = universe.clock.seconds + random.choice([1, 40, 3000, 24 * 3600 - 1])
    world = universe.either
    response = await send_opening(world, key, actions=list(actions), expires=expires)
    universe.say(f"open a writing session of {author.address[:6]}: {response.status_code}")
    if model.refuses(author.address):
        assert response.json()["code"] == "author_refused", response.text
        return
    if response.status_code == 409:
        possible = [each for each in _of(model, author.address) if not each.revoked]
        assert response.json()["code"] == "too_many_writing_sessions"
        assert len(possible) >= MOST
        return
    assert response.status_code == 201, response.text
    key.id = response.json()["session"]["id"]
    model.sessions.append(OpenedSession(key, actions, expires))


async def write_by_session(universe: Universe, model: Model) -> None:
    """Create or update a draft with the key of any session, whether live or not."""
    if not model.sessions:
        return
    random, world = universe.random, universe.either
    opened = random.choice(model.sessions[-8:])
    content = new_content(universe)
    model.note_text(content, opened.key.wallet.address, None)
    version = choose(universe, model, LIVE)
    if version is None or random.random() < 0.4:
        version = None
        body = opened.key.create_body(content)
        response = await world.client.post("/create/group", json=body)
    else:
        body = opened.key.update_body(version.cid, content)
        params = {"cid": version.cid}
        response = await world.client.post("/update/file", params=params, json=body)
    action = "create" if version is None else "update"
    universe.say(f"{action} by a session: {response.status_code}")
    if _expect(universe, model, opened, action, response):
        if version is None:
            cid = response.json()["updatedUpload"]["cid"]
            model.add(cid, opened.key.wallet.address, content)
        else:
            assert version.owner == opened.key.wallet.address
            cid = response.json()["upload"]["cid"]
            note_update(universe, model, version, cid, content)


def _expect(
    universe: Universe,
    model: Model,
    opened: OpenedSession,
    action: str,
    response: httpx2.Response,
) -> bool:
    """Return whether a write in a session took effect. Fails if the outcome is wrong."""
    code = None if response.status_code == 200 else response.json()["code"]
    refused = {"writing_session_invalid", "writing_session_expired", "writing_session_scope"}
    if model.refuses(opened.key.wallet.address):
        assert code in refused | {"author_refused", *REFUSALS}, response.text
        return False
    expired = universe.clock.seconds >= opened.expires
    if opened.revoked or expired or action not in opened.actions:
        assert code in refused, response.text
        return False
    # An expired session may be forgotten, and the clock may have been set back since; or the
    # session now begins in the future.
    unsure = universe.latest.timestamp() >= min(opened.expires, universe.clock.seconds + EARLY)
    possible = {None, "not_pending", "not_found", "not_owner"} | (refused if unsure else set())
    assert code in possible, response.text
    return code is None


async def revoke(universe: Universe, model: Model) -> None:
    """Revoke one writing session, or all of a wallet's sessions."""
    if not model.sessions:
        return
    random, world = universe.random, universe.either
    opened = random.choice(model.sessions[-8:])
    session = await universe.session(opened.key.wallet)
    if random.random() < 0.2:
        response = await world.client.delete("/writing/sessions", headers=session)
        assert response.status_code == 204, response.text
        for each in _of(model, opened.key.wallet.address):
            each.revoked = True
    else:
        path = f"/writing/sessions/{opened.key.id}"
        response = await world.client.delete(path, headers=session)
        known = {404} if opened.revoked else {204}
        if universe.latest.timestamp() >= opened.expires:
            known = {204, 404}
        assert response.status_code in known, response.text
        opened.revoked = True
    universe.say(f"revoke writing sessions: {response.status_code}")


async def log_out(universe: Universe, model: Model) -> None:
    """End a session, or all sessions of its address."""
    usable = [each for each in universe.issued[-12:] if _is_certain(universe, each)]
    if not usable:
        return
    chosen = universe.random.choice(usable)
    everywhere = universe.random.random() < 0.4
    response = await universe.either.client.post(
        "/auth/logout", json={"all": True} if everywhere else {}, headers=chosen.headers
    )
    universe.say(f"log out, {everywhere=}: {response.status_code}")
    assert response.status_code == 204, response.text
    for each in universe.issued:
        if each is chosen or (everywhere and each.address == chosen.address):
            each.ended = True


async def use_session(universe: Universe, model: Model) -> None:
    """Send a request in any session, whether live or not."""
    if not universe.issued:
        return
    chosen = universe.random.choice(universe.issued[-12:])
    response = await _ask(universe.either, chosen, universe.random.random() < 0.5)
    universe.say(f"a request in a session: {response.status_code}")
    if chosen.ended:
        assert response.status_code == 401, response.text
    elif _is_certain(universe, chosen):
        assert response.status_code == 200, response.text


async def _ask(world: World, session: ReaderSession, drafts: bool) -> httpx2.Response:
    if drafts:
        params = {"owner": session.address}
        return await world.client.get(
            "/pendingFilesByOwner", params=params, headers=session.headers
        )
    return await world.client.get("/writing/sessions", headers=session.headers)


def _is_certain(universe: Universe, session: ReaderSession) -> bool:
    """Whether a session is certainly valid, no matter how the clock was changed."""
    age = universe.clock.now() - session.issued_at
    return not session.ended and timedelta(0) <= age < SESSION


def _of(model: Model, wallet: str) -> list[OpenedSession]:
    return [each for each in model.sessions if each.key.wallet.address == wallet]


SESSIONS: dict[Action, int] = {
    open_writing_session: 3,
    write_by_session: 6,
    revoke: 2,
    log_out: 2,
    use_session: 3,
}
"""The relative frequency of each action on sessions."""
