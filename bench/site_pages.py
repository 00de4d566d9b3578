"""Compare pages with JSON of the same data, and with their floor.

    python -m bench.site_pages [--only DATABASE]

A page may cost at most twice its JSON.
"""

import argparse
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from bench.databases import Database, open_databases
from bench.fixture import TITLE, Fixture
from bench.floors import Floors, run_floors
from bench.processes import LOAD_CORE, pin, run_chain, run_service
from bench.report import Report
from bench.rounds import ROUNDS, Samples, take_turns
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
            turns = take_turns(service, [get_request(page)] * REQUESTS * ROUNDS, [floor])
            report.add(database.name, name, turns, floor.name)
            of_page, of_json = Samples(), Samples()
            for _ in range(ROUNDS):
                of_page.send(service, [get_request(page)] * REQUESTS)
                of_json.send(service, [get_request(each) for each in documents] * REQUESTS)
            both = zip(of_page.processor_us, of_json.processor_us, strict=True)
            ratio = f"processor time of {name} on {database.name} / its JSON"
            report.ratios[ratio] = median(one / (len(documents) * other) for one, other in both)


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


def main() -> None:
    """Measure the pages alone, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["sqlite", "postgresql"], help="one database")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        pin(LOAD_CORE)
        floors = stack.enter_context(run_floors())
        rpc_url = stack.enter_context(run_chain(folder / "chain"))
        for database in open_databases(stack, folder, options.only):
            measure_pages(report, folder, rpc_url, floors, database)
    report.print()


if __name__ == "__main__":
    main()
