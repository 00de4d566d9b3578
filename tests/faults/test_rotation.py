"""Keys rotated under load: every key of a running service is replaced, and no request fails."""

import asyncio
import json
import secrets
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
import pytest
from obstore.exceptions import PermissionDeniedError, UnauthenticatedError
from obstore.store import ObjectStore
from tests.canaries import CANARIES, MARK, WATCH, canary
from tests.faults.keyed_servers import (
    KeyedBucket,
    KeyedContainer,
    KeyedGoogleBucket,
    KeyedKubo,
    KeyedNode,
    KeyedPinata,
)
from tests.faults.scene import Replica, Scene, open_scene
from tests.faults.test_reload import FAILED, configure, hang_up, reload
from tests.faults.test_restarts import Load, until
from tests.faults.test_second_catalog import run_command
from tests.postgresql import Server
from tests.processes import PLAIN, free_port
from tests.world import Wallet

from imprint.adapters.content.bucket import BucketAccess, open_objects
from imprint.devchain.webhooks import sign_body_a, sign_body_b

OPERATOR_COOKIE = "imprint_operator"
KEYS = (
    "JWT_SECRET",
    "PAGE_TOKEN_SECRET",
    "WEBHOOK_A_SECRET",
    "WEBHOOK_B_SECRET",
    "OPERATOR_SECRET",
)
"""The secrets that the service itself signs with or compares."""

KINDS = ("read", "write", "_read_gated", "_log_in", "_list", "_deliver", "_operate")
"""The kinds of requests that clients send."""

TURNS = 4
"""Number of requests of each kind that must succeed between two steps of a rotation."""


def next_key(name: str) -> str:
    """Return the canary that replaces a secret."""
    return canary(f"next {name}")


@dataclass(slots=True)
class Holders(Load):
    """Clients that hold credentials, beside the reads and writes of `Load`.

    `known` are the secrets that the operator and the providers of deliveries use now.
    """

    known: dict[str, str] = field(default_factory=dict)
    session: dict[str, str] = field(default_factory=dict)
    cookie: str = ""
    post_id: int = 0

    async def prepare(self) -> None:
        """Publish a post, buy it, and create enough drafts for a second page."""
        world = self.scene.world
        self.post_id, _ = await self._publish()
        world.buy(self._reader, self.post_id)
        for _ in range(13):
            await world.create(self._reader, "A draft of the reader.")
        await self.renew()

    async def renew(self) -> None:
        """Let the clients log in again, as they do when their sessions have ended."""
        self.session = await self.scene.world.login(self._reader)
        response = await self._sign_in(self.scene.world.client)
        self.cookie = response.cookies[OPERATOR_COOKIE]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        kinds = (self._read_gated, self._log_in, self._list, self._deliver, self._operate)
        tasks = [asyncio.create_task(self._repeat(kind)) for kind in kinds]
        try:
            async with Load.running(self):
                yield
        finally:
            await asyncio.gather(*tasks)

    async def go_on(self) -> None:
        await Load.go_on(self)
        wanted = {kind: self.done[kind] + TURNS for kind in KINDS}
        await until(lambda: self.dropped != [] or all(self.done[k] >= n for k, n in wanted.items()))
        assert self.dropped == []

    @property
    def _reader(self) -> Wallet:
        return self.scene.world.wallet(4)

    async def _publish(self) -> tuple[int, httpx2.Response]:
        """Publish a post of another author, and deliver its event as both providers."""
        world = self.scene.world
        author = world.wallet(5)
        file = await world.create(author, f"For sale {secrets.token_hex(4)}.")
        block = world.create_post(author, file["cid"])
        body = world.body_a(block)
        signed = sign_body_a(body, self.known["WEBHOOK_A_SECRET"])
        response = await world.deliver("provider-a", body, signed.headers)
        assert response.status_code == 200, response.text
        (event,) = response.json()["events"]
        other = sign_body_b(
            world.body_b(block),
            self.known["WEBHOOK_B_SECRET"],
            nonce=secrets.token_hex(16),
            timestamp=world.clock.seconds,
        )
        again = await world.deliver("provider-b", other.body, other.headers)
        assert again.status_code == 200, again.text
        return int(event["postId"]), again

    async def _repeat(self, send: Callable[[httpx2.AsyncClient], Awaitable[None]]) -> None:
        async with self._client() as client:
            while not self._ends:
                with self._noting(send.__name__):
                    await send(client)
                await asyncio.sleep(0.02)

    async def _read_gated(self, client: httpx2.AsyncClient) -> None:
        """Read with a session that was issued some steps ago."""
        wanted = {"user": self._reader.address, "postId": str(self.post_id)}
        response = await client.get("/fileByPostId", params=wanted, headers=self.session)
        assert response.status_code == 200, response.text

    async def _log_in(self, client: httpx2.AsyncClient) -> None:
        """Log in, and use the new session at once on another connection."""
        body = self._reader.sign_login(self._reader.login_message())
        response = await client.post("/auth/login", json=body)
        assert response.status_code == 200, response.text
        session = {"Authorization": f"Bearer {response.json()['token']}", "Connection": "close"}
        response = await client.get("/me/feeds", headers=session)
        assert response.status_code == 200, response.text

    async def _list(self, client: httpx2.AsyncClient) -> None:
        """List drafts and follow the page token."""
        owner = {"owner": self._reader.address}
        page = await client.get("/pendingFilesByOwner", params=owner, headers=self.session)
        assert page.status_code == 200, page.text
        token = {"next_page_token": page.json()["next_page_token"]}
        headers = {**self.session, "Connection": "close"}
        page = await client.get("/filesByNextPageToken", params=token, headers=headers)
        assert page.status_code == 200, page.text

    async def _deliver(self, client: httpx2.AsyncClient) -> None:
        await self._publish()

    async def _operate(self, client: httpx2.AsyncClient) -> None:
        """Open the operator's page with a cookie, and sign in anew."""
        response = await client.get("/operator", headers={"Cookie": self.cookie_header})
        assert response.status_code == 200, response.text
        assert 'type="password"' not in response.text, "the operator must sign in again"
        response = await self._sign_in(client)
        assert response.status_code == 303, response.text

    @property
    def cookie_header(self) -> str:
        return f"{OPERATOR_COOKIE}={self.cookie}"

    async def _sign_in(self, client: httpx2.AsyncClient) -> httpx2.Response:
        return await client.post("/operator", data={"secret": self.known["OPERATOR_SECRET"]})


@dataclass(slots=True)
class Rotation:
    """A service with two workers whose settings are in a file, and the clients that use it."""

    scene: Scene
    replica: Replica
    node: KeyedNode
    load: Holders
    given: dict[str, object]

    async def refuse(self, **given: object) -> None:
        """Reload with wrong settings, which changes nothing."""
        before = self.replica.log.count(FAILED)
        configure(self.scene.folder, **{**self.given, **given})
        hang_up(self.replica)
        await until(lambda: self.replica.log.count(FAILED) == before + 1)
        await self.load.go_on()

    async def apply(self, **given: object) -> None:
        """Change settings, reload, and wait until requests of every kind have succeeded. None
        removes a setting."""
        self.given |= given
        self.given = {name: text for name, text in self.given.items() if text is not None}
        configure(self.scene.folder, **self.given)
        await reload(self.replica)
        await self.load.go_on()


@asynccontextmanager
async def rotating(
    folder: Path, more: Mapping[str, str] | None = None, **given: str
) -> AsyncIterator[Rotation]:
    """Run a service under load with these settings in its file, which may name `{node}`, and with
    `more` in its environment."""
    metrics, path = free_port(), folder / "imprint.toml"
    fixed = {"CONFIG": str(path), "WORKERS": "2", "METRICS_PORT": str(metrics)}
    # Every read asks the node, which shares its process with the clients and may be slow.
    fixed |= {"CHAIN_CACHE_SECONDS": "0", "CHAIN_TIMEOUT_SECONDS": "60", "LOG_LEVEL": "debug"}
    path.touch()
    async with open_scene(folder, **fixed) as scene, running_node(scene) as node:
        replica = scene.replica()
        environ = replica.process.environ
        current: dict[str, object] = {name: CANARIES[name] for name in KEYS}
        current |= {name: text.replace("{node}", node.url) for name, text in given.items()}
        configure(folder, **current)
        inside = {f"IMPRINT_{name}" for name in current}
        outside = {k: text for k, text in environ.items() if k not in inside}
        replica.process.environ = {**outside, **(more or {})}
        await replica.start()
        load = Holders(scene, [replica], known={name: CANARIES[name] for name in KEYS})
        await load.prepare()
        async with load.running():
            await load.go_on()
            yield Rotation(scene, replica, node, load, current)
            await load.go_on()
        assert load.dropped == []
        async with httpx2.AsyncClient(verify=PLAIN, timeout=20) as client:
            scraped = await client.get(f"http://127.0.0.1:{metrics}/metrics")
        assert "imprint_reloads_total" in scraped.text
        WATCH.inspect("metrics", scraped.text)


@asynccontextmanager
async def running_node(scene: Scene) -> AsyncIterator[KeyedNode]:
    node = KeyedNode(scene.world.chain, keys={canary("CHAIN_RPC_URL")})
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory, if possible: a slow disk would refuse writes."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


async def test_the_services_own_secrets_are_rotated(tmp_path: Path) -> None:
    async with rotating(tmp_path) as rotation:
        await rotation.refuse(**dict.fromkeys(KEYS, MARK))
        # Every worker accepts the new secrets before any worker uses one.
        await rotation.apply(**{f"{name}_PREVIOUS": next_key(name) for name in KEYS})
        swapped = {name: next_key(name) for name in KEYS}
        await rotation.apply(**swapped, **{f"{name}_PREVIOUS": CANARIES[name] for name in KEYS})
        rotation.load.known = swapped
        await rotation.load.renew()
        await rotation.load.go_on()
        await rotation.apply(**{f"{name}_PREVIOUS": None for name in KEYS})


async def test_the_master_key_is_rotated(tmp_path: Path, records: None) -> None:
    old, new = CANARIES["ENCRYPTION_KEY"], next_key("ENCRYPTION_KEY")
    async with rotating(tmp_path, ENCRYPTION="on", ENCRYPTION_KEY=old) as rotation:
        await rotation.apply(ENCRYPTION_KEY_PREVIOUS=new)
        await rotation.apply(ENCRYPTION_KEY=new, ENCRYPTION_KEY_PREVIOUS=old)
        settings = {**rotation.replica.given, **{k: str(v) for k, v in rotation.given.items()}}
        rotated = await asyncio.to_thread(run_command, settings, "rotate-key")
        assert rotated.returncode == 0, rotated.stderr
        assert "IMPRINT_ENCRYPTION_KEY_PREVIOUS is no longer needed." in rotated.stdout
        await rotation.apply(ENCRYPTION_KEY_PREVIOUS=None)


async def test_the_key_of_a_node_is_rotated(tmp_path: Path) -> None:
    old, new = canary("CHAIN_RPC_URL"), next_key("CHAIN_RPC_URL")
    async with rotating(tmp_path, CHAIN_RPC_URL=f"{{node}}/v2/{old}") as rotation:
        keys = rotation.node.keys
        keys |= {old, new}
        await rotation.apply(CHAIN_RPC_URL=f"{rotation.node.url}/v2/{new}")
        keys.remove(old)
        await rotation.load.go_on()


@dataclass(frozen=True, slots=True)
class StoreCase:
    """A content store, its settings, and for each of its keys the settings and what the server
    keeps."""

    server: KeyedKubo | KeyedPinata | KeyedBucket
    given: Callable[[str], dict[str, str]]
    key: Callable[[str], dict[str, str]]
    kept: Callable[[str], str] = str


def _basic(key: str) -> str:
    return "Basic " + b64encode(f"imprint:{key}".encode()).decode()


def _secret_of(key_id: str) -> str:
    return canary(f"secret of {key_id}")


def _make_google() -> StoreCase:
    server = KeyedGoogleBucket()
    return StoreCase(
        server,
        lambda _: {"CONTENT_STORE": "gs://manuscripts/imprint"},
        # In quotes in the settings file.
        lambda key: {"GS_SERVICE_ACCOUNT_KEY": json.dumps(server.account(key))[1:-1]},
        server.account,
    )


STORES: dict[str, Callable[[], StoreCase]] = {
    "kubo": lambda: StoreCase(
        KeyedKubo(),
        lambda url: {"CONTENT_STORE": f"kubo:{url}"},
        lambda key: {"KUBO_AUTHORIZATION": f"basic:imprint:{key}"},
        _basic,
    ),
    "pinata": lambda: StoreCase(
        KeyedPinata(),
        lambda url: {
            "CONTENT_STORE": "pinata",
            "PINATA_GATEWAY": url,
            "PINATA_API_URL": f"{url}/api/v3",
            "PINATA_UPLOAD_URL": f"{url}/uploads/v3",
        },
        lambda key: {"PINATA_JWT": key},
    ),
    "s3": lambda: StoreCase(
        KeyedBucket(),
        lambda url: {"CONTENT_STORE": "s3://manuscripts/imprint", "S3_ENDPOINT": url},
        lambda key: {"S3_ACCESS_KEY_ID": key, "S3_SECRET_ACCESS_KEY": _secret_of(key)},
        lambda key: f"{key}:{_secret_of(key)}",
    ),
    "azure": lambda: StoreCase(
        KeyedContainer(),
        lambda _: {"CONTENT_STORE": "az://manuscripts/imprint", "AZ_ACCOUNT": "imprint"},
        lambda key: {"AZ_ACCESS_KEY": key},
    ),
    "google": _make_google,
}


@pytest.mark.parametrize("name", STORES)
async def test_the_credentials_of_a_content_store_are_rotated(tmp_path: Path, name: str) -> None:
    case = STORES[name]()
    old, new = canary(name), next_key(name)
    await case.server.start()
    try:
        given = case.given(case.server.url) | {"ENCRYPTION_KEY": CANARIES["ENCRYPTION_KEY"]}
        case.server.keys |= {case.kept(old)}
        more = case.server.environ if isinstance(case.server, KeyedBucket) else {}
        async with rotating(tmp_path, more, **given, **case.key(old)) as rotation:
            case.server.keys |= {case.kept(new)}
            await rotation.apply(**case.key(new))
            case.server.keys.remove(case.kept(old))
            await rotation.load.go_on()
    finally:
        await case.server.stop()


def _open_forged(server: KeyedBucket, key: str, other: str) -> ObjectStore:
    """Open a bucket with the id of a key and the secret of another."""
    access = BucketAccess("s3", "manuscripts", "imprint", server.url, None, key, _secret_of(other))
    if isinstance(server, KeyedContainer):
        access = BucketAccess("az", "manuscripts", "imprint", key_id="imprint", secret=other)
    elif isinstance(server, KeyedGoogleBucket):
        forged = json.loads(server.account(other)) | {"private_key_id": key}
        access = BucketAccess("gs", "manuscripts", "imprint", secret=json.dumps(forged))
    return open_objects(access)


@pytest.mark.parametrize("name", ["s3", "azure", "google"])
async def test_a_bucket_refuses_requests_signed_with_the_secret_of_another_key(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = STORES[name]()
    assert isinstance(case.server, KeyedBucket)
    await case.server.start()
    try:
        for variable, text in case.server.environ.items():
            monkeypatch.setenv(variable, text)
        key, other = canary(name), next_key(name)
        case.server.keys |= {case.kept(key)}
        await _open_forged(case.server, key, key).put_async("a", b"b", use_multipart=False)
        with pytest.raises((PermissionDeniedError, UnauthenticatedError)):
            await _open_forged(case.server, key, other).get_async("a")
    finally:
        await case.server.stop()


PASSWORDS = {f"imprint_{each}": canary(f"password of {each}") for each in "ab"}
"""Two users with the rights of the same role, so that one serves while the other is changed."""


async def create_roles(server: Server) -> None:
    """Create a database whose owner has two users, who need their passwords."""
    await server.execute("CREATE ROLE imprint")
    for user, password in PASSWORDS.items():
        await server.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{password}' IN ROLE imprint")
        await server.execute(f"ALTER ROLE {user} SET role = imprint")
    await server.execute("CREATE DATABASE manuscripts OWNER imprint")
    rules = server.folder / "data" / "pg_hba.conf"
    trusting = rules.read_text()
    rules.write_text(f"local all {','.join(PASSWORDS)} scram-sha-256\n{trusting}")
    await server.execute("SELECT pg_reload_conf()")


async def test_the_password_of_the_database_is_rotated(tmp_path: Path, own_server: Server) -> None:
    await create_roles(own_server)

    def url_of(user: str, password: str | None = None) -> str:
        given = PASSWORDS[user] if password is None else password
        return f"postgresql://{user}:{given}@/manuscripts?host={own_server.folder}"

    async with rotating(tmp_path, DATABASE_URL=url_of("imprint_a")) as rotation:
        await rotation.refuse(DATABASE_URL=url_of("imprint_b", canary("a wrong password")))
        await rotation.apply(DATABASE_URL=url_of("imprint_b"))
        await own_server.execute("ALTER ROLE imprint_a NOLOGIN PASSWORD NULL")
        await rotation.load.go_on()
