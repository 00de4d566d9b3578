"""Processor time of an idle service on a quiet chain: `python -m bench.idle`.

There are no requests and no marketplace logs, but there is a new block now and then. User and
system time both count, but not those of a database server. The number of node calls shows whether
the service polled as often as configured. On a busy machine, the service may poll less often.
"""

import argparse
import json
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from bench.databases import open_databases
from bench.processes import free_port, run_chain, run_service

SETTLE_SECONDS = 8.0
"""Warm-up seconds that are not measured."""

GOAL = 0.5
"""Limit for an idle service, in percent of a core."""


def main() -> None:
    """Measure the idle service and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long it is measured")
    parser.add_argument("--follow", default="1", help="IMPRINT_CHAIN_FOLLOW_SECONDS")
    parser.add_argument("--block", type=float, default=12, help="seconds between blocks")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--database", default="sqlite", choices=["sqlite", "postgresql"])
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        rpc_url = stack.enter_context(run_chain(folder / "chain"))
        (database,) = open_databases(stack, folder / "databases", given.database)
        metrics = free_port()
        settings = {
            "IMPRINT_CHAIN_FOLLOW_SECONDS": given.follow,
            "IMPRINT_METRICS_PORT": str(metrics),
        }
        url, workers = database.make(), given.workers
        with run_service(folder / "data", rpc_url, url, workers, settings=settings) as service:
            time.sleep(SETTLE_SECONDS)
            calls = _count_calls(metrics)
            before, began = service.processor_seconds, time.monotonic()
            while (left := began + given.seconds - time.monotonic()) > 0:
                time.sleep(min(left, given.block))
                _mine(rpc_url)
            spent, seconds = service.processor_seconds - before, time.monotonic() - began
            calls = _count_calls(metrics) - calls
    print(
        f"{100 * spent / seconds:.2f} % of a core over {seconds:.0f} s, looking every"
        f" {given.follow} s, {calls / seconds:.2f} calls of the node a second, a block every"
        f" {given.block:g} s, workers: {given.workers}, {given.database}"
        f" (goal: below {GOAL} %)"
    )


def _count_calls(port: int) -> float:
    """Return the number of requests sent to the node so far."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as response:
        lines = response.read().decode().splitlines()
    wanted = 'imprint_dependency_seconds_count{dependency="chain"'
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(wanted))


def _mine(rpc_url: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "evm_mine", "params": []}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(rpc_url, json.dumps(body).encode(), headers)
    urllib.request.urlopen(request).close()


if __name__ == "__main__":
    main()
