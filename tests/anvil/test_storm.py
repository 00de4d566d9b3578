"""Ten thousand deliveries with a power failure in between: every post is published once."""

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from random import Random

from tests.anvil.client import Client
from tests.anvil.conftest import MakeService
from tests.anvil.node import Anvil, open_account, post_id_of
from tests.anvil.storm import SENDERS, Storm, publish_all
from tests.processes import Service

POSTS = 1_000
DELIVERIES = 10_000
LONGEST_ACK = 3_000.0
"""Limit in milliseconds for the 99th percentile latency on a busy machine."""

PATIENCE = 300.0
"""Seconds after which unaccepted deliveries count as stuck."""


async def test_a_burst_of_deliveries_applies_each_event_once(
    anvil: Anvil, make_service: MakeService
) -> None:
    service = make_service(RATE_LIMITS="off")
    service.start()
    given = service.given
    client = Client(service.url, given["WEBHOOK_A_SECRET"], given["WEBHOOK_B_SECRET"])
    authors = [open_account(index) for index in (1, 2, 3, 4)]
    posts = [
        (author, client.create(author, f"Words {number}")["cid"])
        for number, author in enumerate(authors * (POSTS // len(authors)))
    ]
    receipts = publish_all(anvil, posts)
    by_transaction = {receipt["transactionHash"]: post_id_of(receipt) for receipt in receipts}

    storm = Storm(service.url, client.secret_a, client.secret_b, Random(1))
    deliveries = storm.brew(receipts, DELIVERIES)
    sending = asyncio.create_task(storm.send_all(deliveries))
    await wait_for_acks(storm, DELIVERIES // 2)
    service.kill()
    await asyncio.to_thread(service.start)
    async with asyncio.timeout(PATIENCE):
        seconds = await sending
    p99 = report(storm, seconds)

    assert len(storm.waits) == DELIVERIES
    assert p99 < LONGEST_ACK
    statuses = Counter(event["status"] for event in storm.events)
    # An event applied just before the power cut, without a response, is reported as "already".
    assert POSTS - SENDERS <= statuses["onchain"] <= POSTS
    assert statuses.keys() == {"onchain", "already_onchain", "dead_letter"}
    for author, cid in posts:
        found = client.metadata(cid)
        assert found["keyvalues"] == {
            "owner": author.address.lower(),
            "status": "onchain",
            "publishedAt": found["published_at"],
        }
        assert found["post_id"] == str(by_transaction[found["tx_hash"]])
    assert count_events(service) == (POSTS, POSTS)
    client.http.close()


async def wait_for_acks(storm: Storm, count: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while len(storm.waits) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def report(storm: Storm, seconds: float) -> float:
    """Print the results and return the 99th percentile latency in milliseconds."""
    waits = sorted(wait * 1_000 for wait in storm.waits)
    median, p99 = waits[len(waits) // 2], waits[len(waits) * 99 // 100]
    print(
        f"\n{len(waits)} deliveries in {seconds:.1f} s with a restart between, "
        f"{len(waits) / seconds:.0f} a second; {storm.resent} sent again; "
        f"acks: median {median:.0f} ms, p99 {p99:.0f} ms, worst {waits[-1]:.0f} ms"
    )
    return p99


def count_events(service: Service) -> tuple[int, int]:
    """Return the number of stored events, and of the files they refer to."""
    path = service.folder / "data" / "imprint.db"
    with closing(sqlite3.connect(path)) as catalog:
        query = "SELECT count(*), count(DISTINCT file_id) FROM events"
        kept, holding = catalog.execute(query).fetchone()
        return kept, holding
