"""The test suites, and a runner for all of them: `python -m tools.suites ci` or `everything`."""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from tools.files import ROOT, files_matching
from tools.trust import Result, save_result

from imprint import RELEASE
from imprint.web.docs.openapi import describe_interface

LOGS = ROOT / ".tools" / "suites"
PASSED = ROOT / ".ci" / "passed.json"
"""The file with the digests of the files that affected each suite when it last passed."""

MAKE = ("make", "--no-print-directory")

CORES = 2
"""Number of cores that suites running in parallel may keep busy."""

TENTH = 10
"""Number of commits after which every suite runs, because a suite's environment also changes."""

REACHES_ALL = (
    "**/*.lock",
    "**/*lock.json",
    "**/go.sum",
    ".ci/run",
    "Makefile",
    "pyproject.toml",
    "src/imprint/__init__.py",
    "src/imprint/adapters/archives/**",
    "src/imprint/adapters/database/**",
    "src/imprint/adapters/stores/**",
    "src/imprint/adapters/content/embedded.py",
    "src/imprint/cli/**",
    "src/imprint/settings/**",
    "tests/*.py",
    "tools/**",
)
"""Files that affect every suite: locks, settings, commands, schemas and tools."""


def render_description() -> str:
    """Return the OpenAPI description, which generators read."""
    return json.dumps(describe_interface(RELEASE))


@dataclass(frozen=True, slots=True)
class Suite:
    """One make target.

    `cores` is the number of cores that it keeps busy. In CI it runs one of `shares` shares of the
    rotating cases, or less on a slow machine. A suite with a `reach` is skipped if neither a file
    there nor the result of `reads` has changed since the suite passed. `seconds` is the duration
    measured in CI.
    """

    target: str
    finds: str
    seconds: int
    cores: int = CORES
    shares: int = 1
    reach: tuple[str, ...] = ()
    reads: Callable[[], str] | None = None


SUITES = (
    Suite(
        "check", "type errors, broken import contracts, outdated docs, bugs in the pages' logic", 76
    ),
    Suite(
        "simulate", "a sequence of operations after which the service differs from its model", 49
    ),
    Suite("test", "wrong rules, missing refusals and leaks, on both databases", 397),
    Suite(
        "test-browser", "pages, scripts or security policies that break in a browser", 507, shares=3
    ),
    Suite("fuzz", "responses that the OpenAPI description does not allow", 52, cores=1),
    Suite("fuzz-parsers", "inputs that a parser neither accepts nor refuses", 29, cores=1),
    Suite(
        "test-differences", "values that other implementations compute or read differently", 20, 1
    ),
    Suite("mutate", "tests of access, authentication and payment that cannot fail", 109, cores=1),
    Suite("test-clients", "viem, ethers or siwe clients that stop working", 184, cores=1),
    Suite("test-crash", "writes lost or torn by a kill or a full disk", 207, 1, shares=4),
    Suite(
        "test-faults",
        "wrong behaviour after restarts, outages, clock changes or damage",
        142,
        1,
        shares=4,
    ),
    Suite(
        "test-deploy",
        "an image, unit, Compose file, manifest or alert that does not work",
        49,
        cores=1,
        shares=2,
        reach=(
            "deploy/**",
            "docs/deploying.md",
            "src/imprint/adapters/images/**",
            "src/imprint/bootstrap/**",
            "src/imprint/metrics.py",
            "src/imprint/server/**",
            "tests/adapters/content/*_fake.py",
            "tests/clients/suites.py",
            "tests/crash/*.py",
            "tests/deploy/**",
            "tests/faults/*.py",
        ),
    ),
    Suite("test-wheel", "files or dependencies missing from the package", 108, cores=1),
    Suite("test-proxies", "limits or headers that nginx, Caddy or HAProxy breaks", 71, 1, shares=3),
    Suite(
        "test-generators",
        "an OpenAPI description that generators or linters reject",
        37,
        cores=1,
        reach=("tests/generators/**",),
        reads=render_description,
    ),
    Suite(
        "test-pinata",
        "differences between Pinata and its test double",
        7,
        cores=1,
        reach=(
            "src/imprint/adapters/content/pinata*.py",
            "tests/adapters/content/*_fake.py",
            "tests/adapters/content/workbenches.py",
            "tests/pinata_sdk/**",
        ),
    ),
    Suite(
        "test-chain", "differences between the test doubles and real nodes or wallet contracts", 95
    ),
    Suite("test-s3", "differences between the test double and a real object store", 73),
    Suite("test-kubo", "differences between the test double and a real IPFS node", 30),
    Suite(
        "test-histories",
        "responses of replicas under faults that contradict each other",
        70,
        shares=4,
    ),
    Suite("test-hostile", "attacks that affect other clients", 184, shares=8),
)
"""All suites in the order in which they run.

Suites that fail early come first. Suites that need one core are adjacent, so that each starts as
soon as a core is free.
"""


@dataclass(slots=True)
class Outcome:
    """The result of a suite: its log and duration, or the reason why it did not run."""

    suite: Suite
    left_out: str = ""
    status: int = 0
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    attempts: int = 1

    @property
    def may_be_repeated(self) -> bool:
        """Whether the suite failed beside another one."""
        return bool(self.status) and self.suite.cores < CORES and self.attempts == 1


def digest_of(suite: Suite, root: Path = ROOT) -> str:
    """Return a digest of every file that affects the suite."""
    hashed = sha256()
    for path in files_matching((*REACHES_ALL, *suite.reach), root):
        content = path.read_bytes()
        hashed.update(f"{path.relative_to(root)} {len(content)}\n".encode())
        hashed.update(content)
    hashed.update(suite.reads().encode() if suite.reads else b"")
    return hashed.hexdigest()


def is_unreached(suite: Suite, commit: int, passed: dict[str, str], root: Path = ROOT) -> bool:
    """Whether none of the files that affect the suite has changed since it last passed."""
    if not suite.reach or commit % TENTH == 0:
        return False
    return passed.get(suite.target) == digest_of(suite, root)


def count_commits() -> int:
    """Return the number of commits up to this one, which selects the shares."""
    command = ["git", "rev-list", "--count", "HEAD"]
    counted = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)  # noqa: S603
    return int(counted.stdout)


def read_passed() -> dict[str, str]:
    """Return the recorded digests, keyed by suite."""
    return dict(json.loads(PASSED.read_text("utf-8"))) if PASSED.exists() else {}


def write_passed(outcomes: Iterable[Outcome]) -> None:
    """Record the digests of the suites that ran and passed."""
    ran = [each.suite for each in outcomes if not each.left_out and not each.status]
    passed = read_passed() | {suite.target: digest_of(suite) for suite in ran if suite.reach}
    if passed != read_passed():
        PASSED.write_text(json.dumps(passed, indent=2, sort_keys=True) + "\n", "utf-8")


def count_cases(log: str) -> dict[str, int]:
    """Count the cases by outcome in the final lines of pytest and of Node's test runner."""
    counts: dict[str, int] = {}
    for line in re.findall(r"^=* ?((?:\d+ [a-z]+,? ?)+) in [\d.]+s", log, re.MULTILINE):
        for number, kind in re.findall(r"(\d+) ([a-z]+)", line):
            counts[kind] = counts.get(kind, 0) + int(number)
    for number in re.findall(r"^\S+ pass (\d+)$", log, re.MULTILINE):
        counts["passed"] = counts.get("passed", 0) + int(number)
    return counts


async def run_suite(suite: Suite, environ: dict[str, str]) -> Outcome:
    """Run the target, and print its log when it has finished."""
    began = time.monotonic()
    command = [*MAKE, suite.target]
    log = LOGS / f"{suite.target}.log"
    share = f" (share {environ['SHARE']})" if suite.shares > 1 and "SHARE" in environ else ""
    print(f"==> make {suite.target}{share}", flush=True)
    with log.open("wb") as sink:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=os.environ | environ, stdout=sink, stderr=sink
        )
        status = await process.wait()
    seconds = time.monotonic() - began
    written = log.read_text("utf-8", "replace")
    became = "failed" if status else "passed"
    print(f"{written}==> make {suite.target} {became} in {seconds:.0f} s", flush=True)
    return Outcome(suite, "", status, seconds, count_cases(written))


def choose_share(suite: Suite, commit: int, outcomes: Sequence[Outcome]) -> str:
    """Return the share of a suite's rotating cases that a commit runs, such as `1/4`.

    If the suites so far have taken n times as long as usual, the share is n times as small. So a
    machine that is slow for an hour takes hardly longer.
    """
    usual = sum(each.suite.seconds for each in outcomes)
    slowness = round(sum(each.seconds for each in outcomes) / usual) if usual else 1
    shares = suite.shares * max(1, slowness) if suite.shares > 1 else 1
    return f"{commit % shares}/{shares}"


Run = Callable[[Suite, dict[str, str]], Coroutine[None, None, Outcome]]
Environ = Callable[[Suite, Sequence[Outcome]], dict[str, str]]
"""Chooses the environment of a suite, given the outcomes so far."""


async def run_suites(suites: Sequence[Suite], environ_of: Environ, run: Run) -> list[Outcome]:
    """Run the suites in this order, in parallel as far as the cores allow, until one fails.

    Parallel suites get different values of LANE, and therefore use different ports. A suite that
    fails beside another one is run once more alone, because on a busy machine a test may have
    waited too briefly. What fails twice is broken.
    """
    outcomes: list[Outcome] = []
    environs: dict[Suite, dict[str, str]] = {}
    free = {*range(CORES)}
    running: dict[asyncio.Task[Outcome], set[int]] = {}

    async def wait_for_cores(wanted: int) -> None:
        while len(free) < wanted:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                free.update(running.pop(task))
                outcomes.append(task.result())

    async def repeat_failed() -> None:
        if not any(each.may_be_repeated for each in outcomes):
            return
        await wait_for_cores(CORES)
        for index, each in enumerate(outcomes):
            if each.may_be_repeated:
                environ = environs[each.suite] | {"LANE": f"0/{CORES}"}
                outcomes[index] = replace(await run(each.suite, environ), attempts=2)

    for suite in suites:
        await wait_for_cores(suite.cores)
        await repeat_failed()
        if any(each.status for each in outcomes):
            break
        taken = {free.pop() for _ in range(suite.cores)}
        environs[suite] = environ_of(suite, outcomes)
        environ = environs[suite] | {"LANE": f"{min(taken)}/{CORES}"}
        running[asyncio.create_task(run(suite, environ))] = taken
    await wait_for_cores(CORES)
    await repeat_failed()
    return outcomes


def summarise(outcomes: Sequence[Outcome], seconds: float) -> str:
    """Return a table of the suites with their durations, and of the skipped suites."""
    lines = [f"{'suite':<16} {'seconds':>7}  cases"]
    for each in outcomes:
        kinds = ", ".join(f"{count} {kind}" for kind, count in each.counts.items())
        took = "" if each.left_out else f"{each.seconds:.0f}"
        failed = "FAILED  " if each.status else "second attempt  " if each.attempts > 1 else ""
        lines.append(f"{each.suite.target:<16} {took:>7}  {failed}{each.left_out or kinds}")
    lines.append(f"{'altogether':<16} {seconds:>7.0f}")
    return "\n".join(lines)


async def run_and_save(suite: Suite, environ: dict[str, str]) -> Outcome:
    """Run a whole suite, and save its result if `RECORD` is set."""
    outcome = await run_suite(suite, environ)
    save_result(
        Result(
            f"Suite {suite.target.removeprefix('test-')}",
            f"Looks for {suite.finds}.",
            outcome.counts,
            "a failure" if outcome.status else "nothing",
            f"make test-everything SUITE={suite.target}",
            round(outcome.seconds),
        )
    )
    return outcome


def main() -> None:
    """Run the suites and exit with status 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scope", choices=["ci", "everything"])
    parser.add_argument("--suite", choices=[suite.target for suite in SUITES], help="only this one")
    options = parser.parse_args()
    in_ci = options.scope == "ci"
    wanted = [suite for suite in SUITES if options.suite in (None, suite.target)]
    began, commit, passed = time.monotonic(), count_commits(), read_passed()
    LOGS.mkdir(parents=True, exist_ok=True)
    subprocess.run([*MAKE, "suites-ready"], cwd=ROOT, check=True)  # noqa: S603
    unreached = [suite for suite in wanted if in_ci and is_unreached(suite, commit, passed)]
    chosen = [suite for suite in wanted if suite not in unreached]

    def environ_of(suite: Suite, outcomes: Sequence[Outcome]) -> dict[str, str]:
        return {"SHARE": choose_share(suite, commit, outcomes)} if in_ci else {"LONG": "1"}

    outcomes = asyncio.run(run_suites(chosen, environ_of, run_suite if in_ci else run_and_save))
    write_passed(outcomes)
    ran = {each.suite for each in outcomes}
    outcomes += [
        Outcome(each, "skipped: nothing it covers changed since it passed") for each in unreached
    ]
    outcomes += [Outcome(each, "not started") for each in chosen if each not in ran]
    print(summarise(outcomes, time.monotonic() - began))
    sys.exit(any(each.status for each in outcomes))


if __name__ == "__main__":
    main()
