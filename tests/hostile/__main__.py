"""Attack a running service: `python -m tests.hostile pipelined-requests --address http://…`."""

import argparse
import asyncio
import os
import resource
import sys
import time
from contextlib import suppress

import msgspec
import uvloop
from tests.hostile.attacker import Attacker, Report
from tests.hostile.attacks import ATTACKS
from tests.hostile.registry import Attack

GRACE_SECONDS = 20.0
"""How many seconds an attack may overrun before it is stopped."""


async def attack(chosen: Attack, attacker: Attacker) -> Report:
    began = time.monotonic()
    with suppress(TimeoutError):
        async with asyncio.timeout(attacker.seconds + GRACE_SECONDS):
            await chosen.run(attacker)
    return Report(began, time.monotonic(), attacker.tally)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("name", choices=[each.name for each in ATTACKS])
    parser.add_argument("--address", default="http://127.0.0.1:8000")
    parser.add_argument("--source", default="127.0.0.1", help="the local address to send from")
    parser.add_argument("--seconds", type=float)
    parser.add_argument(
        "--wait", action="store_true", help="start after reading a line from standard input"
    )
    parser.add_argument("--json", action="store_true", help="print a machine-readable report")
    given = parser.parse_args()
    chosen = next(each for each in ATTACKS if each.name == given.name)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if given.wait:
        sys.stdin.readline()
    attacker = Attacker(given.address, given.source, given.seconds or chosen.seconds)
    report = uvloop.run(attack(chosen, attacker))
    if given.json:
        sys.stdout.write(msgspec.json.encode(report).decode())
    else:
        sys.stdout.write(f"{chosen.name}: {chosen.does}\n{report.tally}\n")
    sys.stdout.flush()
    os._exit(0)  # open connections are closed by the kernel, as when an attacker is gone


if __name__ == "__main__":
    main()
