"""Damages the files of a service with known records, and then reads everything from it."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx2
from tests.faults.scene import LONG, Scene
from tests.world import World, picture

from imprint.bootstrap import build_service, open_adapters
from imprint.domain.errors import CannotStart
from imprint.settings import read_settings

SETTINGS = {
    "WEBHOOK_A_SECRET": "8d1f0c81be27d4693b1f0c8e9d2a7465",
    "PUBLIC_URL": "http://flips.test",
}
"""Settings with a fixed origin: sessions are bound to it, but each service has its own port."""
AUTHORS = 3
DRAFTS = 30
POSTS = 10

Request = tuple[str, tuple[tuple[str, str], ...]]
"""A request path and its parameters."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The responses before any damage, and the session needed to get them."""

    responses: Mapping[Request, Any]
    session: Mapping[str, str]


@dataclass(slots=True)
class Tally:
    """Counts of the responses after the damage, and a list of the wrong ones."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, request: Request, response: httpx2.Response, truth: Any) -> None:
        if response.status_code == 503:
            self.counts["503"] += 1
        elif response.status_code == 200 and facts(response) == truth:
            self.counts["right"] += 1
        else:
            self.wrong.append(f"{request}: {response.status_code} {response.text[:300]}")


def facts(response: httpx2.Response) -> Any:
    """Return the content of a response without the next page token, which always differs."""
    if "json" not in response.headers["content-type"]:
        return response.content
    said = response.json()
    said.pop("nextPageToken", None)
    return said


@asynccontextmanager
async def serve(scene: Scene, folder: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve this folder in this process, or in a separate one if LONG is set.

    Raises `CannotStart` if the service refuses to start, which is not a silent failure.
    """
    if LONG:
        replica = scene.replica(DATA_DIR=str(folder))
        replica.process.spawn()
        try:
            try:
                await replica.wait_for(200, "/healthz")
            except AssertionError as refused:
                raise CannotStart(replica.log) from refused
            async with httpx2.AsyncClient(base_url=replica.url, timeout=20, verify=False) as client:
                yield client
        finally:
            replica.process.kill()
        return
    given = {**scene.given, "DATA_DIR": str(folder)}
    settings = read_settings({f"IMPRINT_{name}": text for name, text in given.items()})
    adapters = open_adapters(settings)
    try:
        transport = httpx2.ASGITransport(build_service(settings, adapters))
        async with httpx2.AsyncClient(transport=transport, base_url="http://flips.test") as client:
            yield client
    finally:
        await adapters.close()


async def fill(world: World) -> Truth:
    """Create drafts, prepared drafts, posts, and replaced and deleted drafts.

    Returns the responses to all reads, and the session that they need.
    """
    requests: list[Request] = []
    cids: list[str] = []
    for number in range(DRAFTS):
        wallet = world.wallet(number % AUTHORS)
        long = "many words " * 7000 if number % 10 == 0 else ""
        file = await world.create(wallet, f"Words {number}. {long}")
        if number % 5 == 1:
            file = await world.update(wallet, file["cid"], f"Better words {number}.")
        if number % 7 == 2:
            await world.send_delete(wallet, file["cid"])
            continue
        if number % 3 == 0:
            image = picture(size=(32, 18))
            tags = f"letters,number{number % 4}"
            response = await world.send_publish(wallet, file["cid"], tags, image)
            assert response.status_code == 200, response.text
            requests.append((f"/ipfs/{response.json()['thumbnailCid']}", ()))
        cids.append(file["cid"])
        if len(requests) % 2 and len(cids) <= POSTS:
            block = world.create_post(wallet, file["cid"], 0)
            (event,) = (await world.deliver_a(block)).json()["events"]
            requests.append(("/freeFileByPostId", (("postId", event["postId"]),)))
    reader = world.wallet(0)
    session = await world.login(reader)
    requests += [("/filesMetaData", (("cid", cid),)) for cid in cids]
    requests += [("/filesMetaData", ()), ("/filesByTags", (("tags", "letters"),))]
    requests.append(("/filesByTags", (("tags", "letters,number0"),)))
    requests.append(("/pendingFilesByOwner", (("owner", reader.address),)))
    responses = {}
    for request in requests:
        response = await ask(world.client, request, session)
        if response.status_code == 200:
            responses[request] = facts(response)
        else:
            assert response.status_code in (401, 403), response.text
    assert len(responses) > DRAFTS
    return Truth(responses, session)


async def ask(
    client: httpx2.AsyncClient, request: Request, session: Mapping[str, str]
) -> httpx2.Response:
    path, parameters = request
    return await client.get(path, params=dict(parameters), headers=dict(session))


async def read_everything(client: httpx2.AsyncClient, truth: Truth, tally: Tally) -> None:
    """Send every request and compare the responses with the expected ones."""
    for request, right in truth.responses.items():
        tally.add(request, await ask(client, request, truth.session), right)


def flip(path: Path, random: Random) -> str:
    """Damage a bit, a byte or some bytes of a file and return the location."""
    content = bytearray(path.read_bytes())
    at = random.randrange(len(content))
    kind = random.choice(("bit", "byte", "bytes"))
    if kind == "bit":
        content[at] ^= 1 << random.randrange(8)
    elif kind == "byte":
        content[at] ^= random.randrange(1, 256)
    else:
        content[at : at + 16] = random.randbytes(len(content[at : at + 16]))
    path.write_bytes(content)
    return f"{kind} at {at} of {path.name}"


async def read_damaged(
    scene: Scene, original: Path, name: str, seed: int, *, truth: Truth, tally: Tally
) -> None:
    """Damage a file in a copy of the data, serve the copy, and request everything."""
    folder = original.with_name(f"{original.name}-{seed}")
    await asyncio.to_thread(shutil.copytree, original, folder)
    try:
        where = flip(folder / name, Random(seed))
        before = len(tally.wrong)
        try:
            async with serve(scene, folder) as client:
                await read_everything(client, truth, tally)
        except CannotStart:
            tally.counts["refused to start"] += 1
        tally.wrong[before:] = [f"{where}: {each}" for each in tally.wrong[before:]]
    finally:
        with suppress(OSError):
            await asyncio.to_thread(shutil.rmtree, folder)
