"""Memory of a service under a steady mix of reads: python -m bench.soak --minutes 120

Prints the resident memory of the worker now and then, and fails if it ends more than 5 MB above
the tenth minute (with fewer than twenty minutes: above the middle).
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from bench.filled_posts import WORDS, word
from bench.fixture import Fixture
from bench.loads import send_load
from bench.processes import LOAD_CORE, pin, run_chain, run_service
from bench.wallets import get_request

POSTS = 120
"""Posts that are read, a quarter of them for sale."""

BATCH = 400
"""Requests between two looks at the memory."""

ALLOWED_MEGABYTES = 5.0
WARM_SECONDS = 600.0

_CHANCE = random.Random(8)


class Mix:
    """Draws reads: pages, texts, lists, searches, feeds, and what is not there."""

    def __init__(self, fixture: Fixture) -> None:
        self._free = [fixture.publish(0) for _ in range(POSTS * 3 // 4)]
        self._paid = [fixture.publish(10**15) for _ in range(POSTS // 4)]
        self._address = fixture.alice.address
        self._session = fixture.session(fixture.alice)

    def draw(self, number: int) -> list[bytes]:
        """So many requests."""
        return [self._draw() for _ in range(number)]

    def _draw(self) -> bytes:
        free, paid = _CHANCE.choice(self._free), _CHANCE.choice(self._paid)
        query = "+".join(word(int(WORDS * _CHANCE.random() ** 3)) for _ in range(2))
        path = _CHANCE.choice(
            (
                "/",
                f"/p/{free}",
                f"/p/{paid}",
                f"/posts/{free}",
                f"/posts/{free}.md",
                f"/posts/{free}/content",
                f"/freeFileByPostId?postId={free}",
                f"/fileByPostId?user={self._address}&postId={paid}",
                "/posts",
                f"/posts?q={query}",
                f"/search?q={query}",
                f"/a/{self._address}",
                f"/filesByTags?tags={word(_CHANCE.randrange(WORDS))}",
                "/filesMetaData",
                "/feeds/posts.atom",
                f"/feeds/authors/{self._address}.json",
                f"/p/{_CHANCE.randrange(10**12)}",
                f"/nowhere/{_CHANCE.randrange(10**12)}",
            )
        )
        return get_request(path, self._session if path.startswith("/fileBy") else "")


async def soak(fixture: Fixture, mix: Mix, seconds: float) -> list[tuple[float, int, float]]:
    """Send reads for so long; seconds, reads and megabytes at every look."""
    began, sent, found = time.monotonic(), 0, list[tuple[float, int, float]]()
    shown = -1.0
    while (elapsed := time.monotonic() - began) < seconds:
        await send_load(fixture.service.port, mix.draw(BATCH), 8)
        sent += BATCH
        found.append((elapsed, sent, fixture.service.memory_megabytes))
        if elapsed - shown >= seconds / 20:
            shown = elapsed
            print(f"{elapsed:7.0f} s {sent:8d} reads {found[-1][2]:7.1f} MB", flush=True)
    return found


def main() -> int:
    """Measure and print; 1 if the memory has grown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=120)
    given = parser.parse_args()
    follows = {"IMPRINT_CHAIN_FOLLOW_SECONDS": "1"}
    with tempfile.TemporaryDirectory() as name, run_chain(Path(name) / "chain") as rpc_url:
        pin(LOAD_CORE)
        data = Path(name) / "data"
        database = f"sqlite:///{data}/imprint.db"
        with run_service(data, rpc_url, database, settings=follows) as service:
            fixture = Fixture(service, rpc_url)
            mix = Mix(fixture)
            print(f"{service.memory_megabytes:.1f} MB before the first read", flush=True)
            found = asyncio.run(soak(fixture, mix, given.minutes * 60))
    warm_at = min(WARM_SECONDS, given.minutes * 30)
    warm = max(memory for elapsed, _, memory in found if elapsed <= warm_at)
    grown = found[-1][2] - warm
    print(f"{grown:+.1f} MB since second {warm_at:.0f} (allowed: {ALLOWED_MEGABYTES} MB)")
    return 1 if grown > ALLOWED_MEGABYTES else 0


if __name__ == "__main__":
    sys.exit(main())
