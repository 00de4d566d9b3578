"""Compare pages with JSON of the same data, and with their floor.

A page may cost at most twice its JSON.
"""

import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from bench.databases import Database
from bench.fixture import TITLE, Fixture
from bench.floors import Floor, Floors
from bench.processes import Measured, run_service, send_timed
from bench.report import Report
from bench.rounds import ROUNDS, take_turns
from bench.wallets import get_request
from imprint.domain.posts.slugs import page_path

POSTS = 22
"""Number of posts, which is more than fits on one list page."""

REQUESTS = 200
"""Number of requests per page, or per JSON response, in a round."""

INDEXED_WITHIN = 60.0
"""Seconds that the service may take to index the posts."""

FOLLOWS = {"IMPRINT_CHAIN_FOLLOW_SECONDS": "1"}


def measure_pages(
    report: Report, folder: Path, rpc_url: str, floors: Floors, database: Database
) -> None:
    """Add each page's processor time, relative to its floor and to its JSON, to a report."""
    content = folder / f"pages-{database.name}"
    with run_service(content, rpc_url, database.make(), settings=FOLLOWS) as service:
        fixture = Fixture(service, rpc_url)
        paid, free = fixture.publish(10**16), [fixture.publish(0) for _ in range(POSTS)][-1]
        _read(f"http://{fixture.authority}/posts/{free}")
        free_page, paid_page = page_path(free, TITLE), page_path(paid, TITLE)
        pairs = {
            "the page of a free post": (free_page, (f"/posts/{free}", f"/posts/{free}/content")),
            "the page of a paid post": (paid_page, (f"/posts/{paid}",)),
            "the front page": ("/", ("/posts", "/stats")),
        }
        for name, (page, documents) in pairs.items():
            floor = floors.response(len(_read(f"http://{fixture.authority}{page}")))
            json = Floor("its JSON", partial(_spend_on, service, documents))
            turns = take_turns(service, [get_request(page)] * REQUESTS * ROUNDS, [floor, json])
            report.add(database.name, name, turns, floor.name)
            ratio = f"processor time of {name} on {database.name} / its JSON"
            report.ratios[ratio] = median(1 / share for share in turns.shares(json.name))


def _spend_on(service: Measured, documents: Sequence[str]) -> float:
    """Return the processor seconds of one request for each document."""
    requests = [get_request(each) for each in documents] * REQUESTS
    return send_timed(service, requests)[1] / REQUESTS


def _read(url: str) -> bytes:
    """Return a response's body, as soon as the service has indexed the posts."""
    deadline = time.monotonic() + INDEXED_WITHIN
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                return bytes(response.read())
        except urllib.error.HTTPError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.1)
