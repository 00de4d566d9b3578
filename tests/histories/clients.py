"""Clients that use both replicas at once and record every request and response."""

import asyncio
import json
import random
import secrets
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from tests.browser_keys import BrowserKey
from tests.histories.history import History, Operation, Outcome
from tests.world import ORIGIN, Wallet, World

from imprint.auth.typed_data import SigningForm
from imprint.client import KeyWallet
from imprint.client.typed_data import TypedData, Write, opening_typed_data, write_typed_data
from imprint.domain.drafts.files import Action
from imprint.interface.service import SigningFacts

SIGNING = SigningFacts("Imprint", "1", 31337)
PATHS = {"create": "/create/group", "update": "/update/file", "delete": "/delete/file"}
LOGOUT = ("POST", "/auth/logout")
REQUEST_SECONDS = 10.0
"""Seconds after which a client gives up waiting for a response."""

ATTEMPTS = 8
"""Number of times that a client repeats a write whose outcome it does not know."""

PAUSE = 0.05
"""Seconds between attempts."""

NOT_SENT = 499
"""The status of a request for which no replica accepted a connection."""

MOST_DRAFTS = 6
"""Number of drafts of an author, fewer than a page of the list has."""

MOST_SESSIONS = 12
UNREADABLE = "unreadable"
"""The code of a response that is not a JSON object."""

REFUSED = {
    "not_entitled",
    "not_found",
    "not_pending",
    "nonce_used",
    "session_ended",
    "signature_stale",
    "session_expired",
    "session_invalid",
    "too_many_writing_sessions",
    "writing_session_expired",
    "writing_session_invalid",
}
"""Codes with which a correct request may be refused, also by a replica with a wrong clock."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a draft that its author has seen."""

    register: str
    cid: str
    value: str


@dataclass(slots=True)
class Account:
    """A wallet with its drafts and sessions, used by several clients at once."""

    wallet: Wallet
    key: KeyWallet = field(init=False)
    drafts: dict[str, Version] = field(default_factory=dict)
    versions: dict[str, Version] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    ended_sessions: dict[str, str] = field(default_factory=dict)
    writing: dict[str, BrowserKey] = field(default_factory=dict)
    ended_writing: dict[str, BrowserKey] = field(default_factory=dict)
    bought: set[str] = field(default_factory=set)
    sent: "deque[tuple[str, dict[str, Any], dict[str, Any]]]" = field(
        default_factory=lambda: deque(maxlen=8)
    )

    def __post_init__(self) -> None:
        self.key = KeyWallet(bytes(self.wallet.account.key))

    @property
    def name(self) -> str:
        return self.wallet.address

    def learn(self, register: str, value: str, file: dict[str, Any]) -> Version:
        """Remember which version of which draft a CID is."""
        version = Version(register, file["cid"], value)
        self.versions[version.cid] = version
        self.groups[file["group_id"]] = register
        return version

    def read_list(self, page: dict[str, Any]) -> dict[str, Any]:
        """Return the values of all listed drafts, which of them are listed more than once, and
        whether the page has every draft, and each of them is known."""
        values, complete = {}, page["next_page_token"] is None
        listed = Counter[str]()
        for file in page["files"]:
            version = self.versions.get(file["cid"])
            register = version.register if version else self.groups.get(file["group_id"])
            listed[register or file["group_id"]] += 1
            complete = complete and register is not None
            if register is not None:
                values[register] = version.value if version else "?"
        repeated = [name for name, times in listed.items() if times > 1]
        return {"values": values, "repeated": repeated, "complete": complete}


@dataclass(slots=True)
class Stage:
    """What all clients of a run share: the replicas, the posts on sale and the history."""

    world: World
    urls: Sequence[str]
    history: History
    posts: dict[str, int]
    http: aiohttp.ClientSession
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    served: Counter[str] = field(default_factory=Counter)
    """Number of responses of each replica since it was last killed."""
    progress: float = 0.0
    """Which part of the history is done, from 0 to 1."""
    unexpected: list[str] = field(default_factory=list)
    """Responses that no fault explains."""


@dataclass(slots=True)
class Client:
    """Sends one request after another on behalf of an account."""

    process: int
    stage: Stage
    account: Account
    chance: random.Random

    async def run(self) -> None:
        """Act until the run is stopping."""
        while not self.stage.stopping.is_set():
            await self.act()

    async def act(self) -> None:
        """Make one random operation."""
        account, chance = self.account, self.chance
        if not account.sessions:
            await self.log_in()
            return
        kinds = {
            self.create: 8 if len(account.drafts) < MOST_DRAFTS else 0,
            self.update: 28 if account.drafts else 0,
            self.delete: 6 if len(account.drafts) > 2 else 0,
            self.read: 20 if account.drafts else 0,
            self.list_drafts: 8,
            self.repeat: 5 if account.sent else 0,
            self.read_post: 14,
            self.buy: 1 if self.may_buy else 0,
            self.log_in: 3 if len(account.sessions) < MOST_SESSIONS else 0,
            self.log_out: 2,
            self.open_writing_session: 3 if len(account.writing) < MOST_SESSIONS else 0,
            self.revoke_writing_session: 2 if account.writing else 0,
        }
        (act,) = chance.choices([*kinds], [*kinds.values()])
        await act()

    # Drafts

    async def create(self) -> None:
        register = secrets.token_hex(4)
        await self._write("create", register, None)

    async def update(self) -> None:
        await self._write("update", *self._choose_draft())

    async def delete(self) -> None:
        await self._write("delete", *self._choose_draft())

    async def read(self) -> None:
        """Read a draft, which another client may have changed."""
        _, version = self._choose_draft()
        await self.read_version(version)

    async def read_version(self, version: Version) -> bool:
        """Read a version, which the service must refuse if it is not the current one.

        Returns whether it was either read or refused for this reason.
        """
        account, register = self.account, version.register
        arguments = {
            "author": account.name,
            "register": register,
            "expected": version.value,
            "session": self._choose_session(),
        }
        request, query = ("GET", "/fileByCid"), {"cid": version.cid}
        operation, _ = await self._record("read", arguments, request, query=query)
        if operation.outcome != "ok" and account.drafts.get(register) is version:
            del account.drafts[register]
        return operation.outcome == "ok" or operation.code == "not_found"

    async def list_drafts(self) -> list[Version] | None:
        """List all drafts, and read those that nobody has seen yet.

        Returns the listed versions, or None if the list or one of these reads was not confirmed.
        """
        account = self.account
        session = self._choose_session()
        arguments = {"author": account.name, "session": session}
        said = await self._ask(
            "list", arguments, ("GET", "/pendingFilesByOwner"), owner=account.name
        )
        if said is None:
            return None
        unseen = [file for file in said["files"] if file["cid"] not in account.versions]
        for file in unseen:
            # The content of this version names its draft.
            await self._look_at(file)
        listed = [
            account.versions[file["cid"]]
            for file in said["files"]
            if file["cid"] in account.versions
        ]
        for version in listed:
            account.drafts.setdefault(version.register, version)
        return listed if len(listed) == len(said["files"]) else None

    async def repeat(self) -> None:
        """Send a write again that was sent a moment ago, with the same nonce."""
        kind, arguments, body = self.chance.choice(self.account.sent)
        await self._send_write(kind, arguments, body)

    def _choose_draft(self) -> tuple[str, Version]:
        return self.chance.choice([*self.account.drafts.items()])

    async def _write(self, kind: str, register: str, old: Version | None) -> None:
        account, value = self.account, secrets.token_hex(8)
        arguments: dict[str, Any] = {"author": account.name, "register": register}
        content = f"{register} {value} " + "word " * self.chance.choice((1, 1, 1, 400))
        write = Write(Action(kind), cid=old.cid if old else "", content=content)
        arguments |= {"nonce": secrets.token_hex(8)}
        arguments |= {"expected": old.value} if old else {}
        arguments |= {"value": value} if kind != "delete" else {}
        data = write_typed_data(
            SigningForm.IMPRINT_2,
            SIGNING,
            ORIGIN,
            write,
            address=account.name,
            nonce=arguments["nonce"],
            timestamp=int(time.time()),
        )
        writing = {**account.writing, **account.ended_writing}
        if writing and kind != "delete" and self.chance.random() < 0.4:
            arguments["writing_session"] = self._prefer(account.writing, account.ended_writing)
            key = writing[arguments["writing_session"]]
            signed = {"signature": key.sign(data.signed_bytes)}
            signed["session"] = arguments["writing_session"]
        else:
            signed = {"signature": await account.key.sign_typed_data(data)}
        body = {"cid": write.cid, "salt": data.salt, "address": account.name, **signed}
        body |= {"content": content} if kind != "delete" else {}
        account.sent.append((kind, arguments, body))
        for _ in range(ATTEMPTS):
            if await self._send_write(kind, arguments, body) != "unknown":
                return
            await asyncio.sleep(PAUSE)

    async def _send_write(
        self, kind: str, arguments: dict[str, Any], body: dict[str, Any]
    ) -> Outcome:
        """Send a signed write once, and note which version its author should see now."""
        sent = {name: part for name, part in body.items() if name != "cid"}
        query = {"cid": body["cid"]} if body["cid"] else {}
        operation, said = await self._record(kind, arguments, ("POST", PATHS[kind]), sent, query)
        account, register = self.account, arguments["register"]
        file = (said or {}).get("updatedUpload") or (said or {}).get("upload")
        file = file or ((said or {}).get("file") if operation.code == "nonce_used" else None)
        if file and kind != "delete":
            version = account.learn(register, arguments["value"], file)
            current = account.drafts.get(register)
            if current is None or current.value == arguments.get("expected"):
                account.drafts[register] = version
        elif operation.outcome == "ok" or operation.code in {"not_found", "not_pending"}:
            current = account.drafts.get(register)
            if current is not None and current.value == arguments.get("expected"):
                del account.drafts[register]
        return operation.outcome

    async def _look_at(self, file: dict[str, Any]) -> None:
        """Read a draft that was listed, to learn which one it is."""
        arguments = {"author": self.account.name, "session": self._choose_session()}
        said = await self._ask("read", arguments, ("GET", "/fileByCid"), cid=file["cid"])
        if said is not None:
            self.account.learn(arguments["register"], arguments["expected"], file)

    async def read_everything(self) -> None:
        """List all drafts of the account in a new session, and read them and those that the
        clients remember. Each request is repeated until it is confirmed."""
        account = self.account
        account.sessions.clear()
        account.ended_sessions.clear()
        while not account.sessions:
            await self.log_in()
        remembered = [*account.drafts.values()]
        while (listed := await self.list_drafts()) is None:
            pass
        for version in dict.fromkeys([*remembered, *listed]):
            while not await self.read_version(version):
                pass

    # Posts

    async def read_post(self) -> None:
        """Read a post, which the account may not have bought."""
        title, number = self.chance.choice([*self.stage.posts.items()])
        account = self.account
        arguments = {"author": account.name, "post": title, "session": self._choose_session()}
        query = {"user": account.name, "postId": str(number)}
        await self._ask("read post", arguments, ("GET", "/fileByPostId"), **query)

    @property
    def may_buy(self) -> bool:
        """Whether so much of the history is done that another purchase is due. The purchases are
        spread over all of it, and one post is never bought."""
        posts = len(self.stage.posts)
        return len(self.account.bought) < int(posts * min(self.stage.progress, 1 - 1 / posts))

    async def buy(self) -> None:
        account, stage = self.account, self.stage
        title = self.chance.choice(sorted(stage.posts.keys() - account.bought))
        account.bought.add(title)
        start = stage.history.clock()
        stage.world.buy(account.wallet, stage.posts[title])
        arguments = {"author": account.name, "post": title}
        bought = Operation(self.process, "buy", arguments, start, stage.history.clock(), "ok")
        stage.history.add(bought)

    # Sessions

    async def log_in(self) -> None:
        account, nonce = self.account, secrets.token_hex(8)
        message = account.wallet.login_message(nonce=nonce)
        signature = await account.key.sign_message(message)
        body = {"salt": message, "address": account.key.address, "signature": signature}
        arguments = {"author": account.name, "nonce": nonce}
        for _ in range(1 + (self.chance.random() < 0.1)):
            await self._ask("open session", arguments, ("POST", "/auth/login"), body)

    async def log_out(self) -> None:
        """End one session, or all of them."""
        account = self.account
        session = self._choose_session()
        arguments = {"author": account.name, "session": session}
        if self.chance.random() < 0.2:
            before = dict(account.sessions)
            said = await self._ask("end sessions", arguments, LOGOUT, {"all": True})
            ended = before if said is not None else {}
        else:
            arguments["ended"] = session
            await self._ask("end session", arguments, LOGOUT, {})
            ended = {session: account.sessions.get(session, "")}
        for each, token in ended.items():
            account.sessions.pop(each, None)
            if token:
                account.ended_sessions[each] = token

    async def open_writing_session(self) -> None:
        account, key = self.account, BrowserKey()
        now, nonce = int(time.time()), secrets.token_hex(8)
        data: TypedData = opening_typed_data(
            SIGNING,
            ORIGIN,
            wallet=account.name,
            public_key=key.point,
            actions=("create", "update"),
            # Valid also for a replica whose clock is an hour behind.
            not_before=now - 2 * 3600,
            expires=now + 12 * 3600,
            nonce=nonce,
        )
        signature = await account.key.sign_typed_data(data)
        body = {"salt": data.salt, "address": account.name, "signature": signature}
        arguments = {"author": account.name, "nonce": nonce}
        kind, path = "open writing_session", "/writing/sessions"
        operation, said = await self._record(kind, arguments, ("POST", path), body)
        if operation.outcome == "ok" and said is not None:
            account.writing[said["session"]["id"]] = key
        elif operation.code == "too_many_writing_sessions":
            # Some were opened without a response.
            await self._revoke_all()

    async def revoke_writing_session(self) -> None:
        account = self.account
        if self.chance.random() < 0.15:
            await self._revoke_all()
            return
        ended = self.chance.choice([*account.writing])
        key = account.writing.pop(ended)
        arguments = {"author": account.name, "session": self._choose_session(), "ended": ended}
        path = f"/writing/sessions/{ended}"
        await self._ask("end writing_session", arguments, ("DELETE", path))
        account.ended_writing[ended] = key

    async def _revoke_all(self) -> None:
        account = self.account
        ended, account.writing = account.writing, {}
        arguments = {"author": account.name, "session": self._choose_session()}
        await self._ask("end writing_sessions", arguments, ("DELETE", "/writing/sessions"))
        account.ended_writing |= ended

    def _choose_session(self) -> str:
        return self._prefer(self.account.sessions, self.account.ended_sessions)

    def _prefer(self, live: dict[str, Any], ended: dict[str, Any]) -> str:
        """Choose a live session, and sometimes one that was ended."""
        while len(ended) > MOST_SESSIONS:
            ended.pop(next(iter(ended)))
        if live and (not ended or self.chance.random() < 0.95):
            return self.chance.choice([*live])
        return self.chance.choice([*ended])

    # Requests

    async def _ask(
        self,
        kind: str,
        arguments: dict[str, Any],
        request: tuple[str, str],
        body: Any = None,
        **query: str,
    ) -> dict[str, Any] | None:
        """Return the response of a confirmed request."""
        operation, said = await self._record(kind, arguments, request, body, query)
        return (said or {}) if operation.outcome == "ok" else None

    async def _record(
        self,
        kind: str,
        arguments: dict[str, Any],
        request: tuple[str, str],
        body: Any = None,
        query: dict[str, str] | None = None,
    ) -> tuple[Operation, dict[str, Any] | None]:
        """Send a request to one of the replicas, and record what is known of its outcome."""
        stage, account, session = self.stage, self.account, arguments.get("session")
        token = account.sessions.get(session or "") or account.ended_sessions.get(session or "")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        start = stage.history.clock()
        status, said = await self._send(request, json=body, params=query, headers=headers)
        end = stage.history.clock()
        is_readable = said is None or said.get("code") != UNREADABLE
        outcome: Outcome = "fail" if 400 <= status < 500 else "unknown"
        if 200 <= status < 300 and is_readable:
            outcome = "ok"
        result = self._result(kind, arguments, said, outcome)
        operation = Operation(self.process, kind, arguments, start, end, outcome, result)
        if status != NOT_SENT:
            stage.history.add(operation)
        is_refused = status > 500 or said is None or operation.code in REFUSED
        if status == 500 or not (outcome == "ok" or is_refused):
            stage.unexpected.append(f"{' '.join(request)}: {status} {said}")
        if outcome == "unknown" or status == NOT_SENT:
            await asyncio.sleep(PAUSE)
        return operation, said

    async def _send(
        self, request: tuple[str, str], **given: Any
    ) -> tuple[int, dict[str, Any] | None]:
        """Return the status and the body of a response. The status is 0 without a response."""
        stage, (method, path) = self.stage, request
        status = 0
        for url in self.chance.sample(stage.urls, len(stage.urls)):
            try:
                async with stage.http.request(method, url + path, **given) as response:
                    status = response.status
                    body = await response.read()
                    stage.served[url] += 1
            except aiohttp.ClientConnectorError:
                # It was not sent, so the other replica gets it.
                continue
            except (aiohttp.ClientError, TimeoutError):
                # The body is incomplete. No fault explains an internal error.
                return (status if status == 500 else 0), None
            return status, None if status == 204 else _parse(body)
        return NOT_SENT, None

    def _result(
        self, kind: str, arguments: dict[str, Any], said: dict[str, Any] | None, outcome: Outcome
    ) -> dict[str, Any]:
        """Return the part of a response that the checker needs."""
        if outcome != "ok":
            return {"code": said.get("code", "")} if said else {}
        account = self.account
        match kind:
            case "open session":
                assert said is not None
                label = secrets.token_hex(4)
                account.sessions[label] = said["token"]
                return {"session": label}
            case "open writing_session":
                assert said is not None
                return {"writing_session": said["session"]["id"]}
            case "read":
                assert said is not None
                register, value = said["content"].split()[:2]
                # If nobody had seen the draft, its content names the register and the value.
                arguments.setdefault("register", register)
                arguments.setdefault("expected", value)
                return {"value": value}
            case "read post":
                assert said is not None
                return {"value": said["content"]}
            case "list":
                assert said is not None
                return self.account.read_list(said)
        return {}


def _parse(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a response, or the body itself with the code `UNREADABLE`."""
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    return said if isinstance(said, dict) else {"code": UNREADABLE, "body": body[:500]}
