"""Actions on reader sessions and writing sessions, in both processes of the service."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from tests.simulation.actions import (
    REFUSALS,
    Action,
    Sent,
    choose,
    new_content,
    note_update,
    send_once,
)
from tests.simulation.model import LIVE, Model, OpenedSession
from tests.simulation.universe import SESSION, ReaderSession, Universe
from tests.world import Wallet, World
from tests.writing_sessions import WritingKey

MOST = 20
"""Maximum number of writing sessions per wallet."""

EARLY = 5
"""Seconds by which a client's clock may be ahead."""


class RepeatableKey(WritingKey):
    """A browser's key, whose signatures are the same whenever a seed is repeated."""

    def sign(self, signed: bytes) -> str:
        algorithm = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)
        r, s = decode_dss_signature(self.key.sign(signed, algorithm))
        return "0x" + (r.to_bytes(32) + s.to_bytes(32)).hex()


CRASHES = 0.4
"""The share of the changes of sessions during which the process may crash."""


async def _send(
    universe: Universe, what: str, send: Callable[[World], Awaitable[httpx2.Response]]
) -> tuple[httpx2.Response | None, str]:
    """Send a request to a process that may crash.

    Returns the failpoint, and no response, if the process has crashed there.
    """
    if universe.random.random() >= CRASHES:
        return await send(universe.either), ""
    at = universe.random.choice(["during_commit", "after_commit"])
    number = universe.choose_process()
    world = universe.process(number).world
    response = await universe.crash(at, number, lambda: send(world))
    if response is None:
        universe.counts[f"crash in {what}"] += 1
        universe.say(f"{what}: crash at {at}")
    return response, at


async def log_in(universe: Universe, model: Model) -> None:
    """Open a session with a message that works only once, even if the process crashes."""
    wallet = universe.anybody()
    body = wallet.sign_login(wallet.login_message())

    async def send(world: World) -> httpx2.Response:
        return await world.client.post("/auth/login", json=body)

    issued_at = universe.clock.now()
    response, _ = await _send(universe, "a login", send)
    if response is None:
        response = await send(universe.either)
    universe.say(f"log in as {wallet.address[:6]}: {response.status_code}")
    if response.status_code == 200:
        headers = {"Authorization": f"Bearer {response.json()['token']}"}
        universe.issued.append(ReaderSession(wallet.address, headers, issued_at))
        response = await send(universe.either)
    assert response.json()["code"] == "nonce_used", response.text


async def open_writing_session(universe: Universe, model: Model) -> None:
    random, author = universe.random, universe.author()
    private = ec.derive_private_key(1 + random.getrandbits(200), ec.SECP256R1())
    key = RepeatableKey(author, key=private)
    actions = random.choice([("create",), ("update",), ("create", "update")])
    expires = universe.clock.seconds + random.choice([1, 40, 3000, 24 * 3600 - 1])
    body = author.sign_envelope(key.opening(actions=list(actions), expires=expires))

    async def send(world: World) -> httpx2.Response:
        return await world.client.post("/writing/sessions", json=body)

    known = {each["id"] for each in await _list_sessions(universe, author)}
    response, at = await _send(universe, "an opening", send)
    crashed = response is None
    if response is None:
        response = await send(universe.either)
    universe.say(f"open a writing session of {author.address[:6]}: {response.status_code}")
    code = None if response.status_code == 201 else response.json()["code"]
    if model.refuses(author.address):
        assert code == "author_refused", response.text
        return
    if code == "too_many_writing_sessions":
        possible = [each for each in _of(model, author.address) if not each.revoked]
        assert len(possible) >= MOST
        return
    assert code == ("nonce_used" if crashed and at == "after_commit" else None), response.text
    if code is None:
        key.id = response.json()["session"]["id"]
    else:
        listed = [each["id"] for each in await _list_sessions(universe, author)]
        (key.id,) = (each for each in listed if each not in known)
    model.sessions.append(OpenedSession(key, actions, expires))


async def _list_sessions(universe: Universe, wallet: Wallet) -> list[dict[str, Any]]:
    session = await universe.session(wallet)
    response = await universe.either.client.get("/writing/sessions", headers=session)
    assert response.status_code == 200, response.text
    listed: list[dict[str, Any]] = response.json()["sessions"]
    return listed


async def write_by_session(universe: Universe, model: Model) -> None:
    """Create or update a draft with the key of any session, whether live or not."""
    if not model.sessions:
        return
    random = universe.random
    opened = random.choice(model.sessions[-8:])
    signer, content = opened.key.wallet.address, new_content(universe)
    model.note_text(content, signer, None)
    version = choose(universe, model, LIVE)
    if version is None or random.random() < 0.4:
        version = None
        action, path, params = "create", "/create/group", {}
        body = opened.key.create_body(content)
    else:
        action, path, params = "update", "/update/file", {"cid": version.cid}
        body = opened.key.update_body(version.cid, content)
    sent = await send_once(
        universe,
        model,
        signer,
        lambda world: world.client.post(path, params=params, json=body),
    )
    universe.say(f"{action} by a session: {sent.done} {sent.refusals}")
    _expect(universe, model, opened, action, sent)
    if sent.done:
        assert sent.file is not None
        if version is None:
            model.add(sent.file["cid"], signer, content)
        else:
            assert version.owner == signer
            note_update(universe, model, version, sent.file["cid"], content)


def _expect(
    universe: Universe, model: Model, opened: OpenedSession, action: str, sent: Sent
) -> None:
    """Fail if the outcome of a write in a session is wrong."""
    codes = set(sent.refusals)
    refused = {"writing_session_invalid", "writing_session_expired", "writing_session_scope"}
    if model.refuses(opened.key.wallet.address):
        assert not sent.done
        assert codes <= refused | {"author_refused", *REFUSALS}, codes
        return
    expired = universe.clock.seconds >= opened.expires
    if opened.revoked or expired or action not in opened.actions:
        assert not sent.done
        assert codes <= refused, codes
        return
    # An expired session may be forgotten, and the clock may have been set back since; or the
    # session now begins in the future.
    unsure = universe.latest.timestamp() >= min(opened.expires, universe.clock.seconds + EARLY)
    possible = {"not_pending", "not_found", "not_owner"} | (refused if unsure else set())
    assert codes <= possible, codes


async def revoke(universe: Universe, model: Model) -> None:
    """Revoke one writing session, or all of a wallet's sessions."""
    if not model.sessions:
        return
    opened = universe.random.choice(model.sessions[-8:])
    wallet = opened.key.wallet
    session, all_of_them = await universe.session(wallet), universe.random.random() < 0.2
    path = "/writing/sessions" if all_of_them else f"/writing/sessions/{opened.key.id}"

    async def send(world: World) -> httpx2.Response:
        return await world.client.delete(path, headers=session)

    response, at = await _send(universe, "a revocation", send)
    revoked = _of(model, wallet.address) if all_of_them else [opened]
    if response is None:
        listed = {each["id"] for each in await _list_sessions(universe, wallet)}
        assert at != "after_commit" or not listed & {each.key.id for each in revoked}
        response = await send(universe.either)
    else:
        at = ""
    universe.say(f"revoke writing sessions: {response.status_code}")
    known = {404} if at == "after_commit" or opened.revoked else {204}
    if universe.latest.timestamp() >= opened.expires:
        known = {204, 404}
    assert response.status_code in ({204} if all_of_them else known), response.text
    for each in revoked:
        each.revoked = True


async def log_out(universe: Universe, model: Model) -> None:
    """End a session, or all sessions of its address."""
    usable = [each for each in universe.issued[-12:] if _is_certain(universe, each)]
    if not usable:
        return
    chosen = universe.random.choice(usable)
    everywhere = universe.random.random() < 0.4

    async def send(world: World) -> httpx2.Response:
        body = {"all": True} if everywhere else {}
        return await world.client.post("/auth/logout", json=body, headers=chosen.headers)

    response, at = await _send(universe, "a logout", send)
    if response is None and at == "during_commit":
        response = await send(universe.either)
    universe.say(f"log out, {everywhere=}: {response and response.status_code}")
    # A process that crashed after its commit has ended the session, which later requests notice.
    assert response is None or response.status_code == 204, response.text
    for each in universe.issued:
        if each is chosen or (everywhere and each.address == chosen.address):
            each.ended = True
    if response is None:
        again = await _ask(universe.either, chosen, drafts=False)
        assert again.status_code == 401, again.text


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
    log_in: 2,
    open_writing_session: 3,
    write_by_session: 6,
    revoke: 2,
    log_out: 2,
    use_session: 3,
}
"""The relative frequency of each action on sessions."""
