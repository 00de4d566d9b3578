"""Fuzzes the parsers with atheris: `python -m tests.parsers.fuzz`, as `make fuzz-parsers` does.

A child process fuzzes each target. Its coverage counters make it slow, so this process measures
inputs that seem slow there again, each conversion by itself. It also measures inputs that are
repeated to some kilobytes.
"""

import argparse
import importlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha1
from pathlib import Path

from tools.files import ROOT
from tools.trust import Result, save_result

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
TARGETS = tuple(sorted(path.stem for path in (HERE / "targets").glob("*.py")))
GROWN = ROOT / "build" / "parsers"
"""The folder in which a long run keeps the inputs that it adds to the corpus, and what failed."""

COVERED = ("imprint", "markdown_it", "python_multipart", "starlette.formparsers")
"""The packages whose branches are counted."""

MILLISECONDS = 10.0
"""Processor time of a conversion per kilobyte of its input. A target may declare another limit for
a conversion, and its reason."""

RUNS = 1_000
MAX_LENGTH = 16 * 1024
MAX_MEMORY = 512
"""Limit of a child process in megabytes, which includes all that it imports."""

LEAST_SECONDS = 0.050
"""Processor time that a conversion of any input may take."""

ATTEMPTS = 5
"""How often an input is measured before it counts as slow, because a machine may be busy."""

STRETCHED = 32 * 1024
"""Size in bytes to which inputs are repeated, because most slow texts repeat something."""

MAX_STRETCHED = 50
"""Number of inputs of a target that are repeated in a long run."""

MAX_STRETCHED_SHORT = 5
"""Number of inputs of a target that are repeated in a short run."""

_SLOW_MARKDOWN = (
    "Markdown to HTML may take 40 ms a kilobyte instead of 10: each bracket of a text that has "
    "nothing else is tried as a link up to 20 levels deep, and a list or table of single letters "
    "has an element for every few characters. The work of one conversion is limited.",
)

EXCEPTIONS = {
    "editorjs": _SLOW_MARKDOWN,
    "markdown": _SLOW_MARKDOWN,
    "multipart": (
        "A form that begins with an empty line and other text before its first boundary is "
        "accepted or refused depending on the pieces in which it arrives (python-multipart).",
    ),
}
"""What is accepted of a target, as sentences for the page of results."""

Check = Callable[[bytes], object]
Convert = Callable[[bytes], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Target:
    """A parser: how to check an input, how to convert it, and the time limits of conversions.

    `convert` makes one conversion after another, and yields the name of each when it ends. A module
    has this function beside `check` if judging the results takes long. Otherwise, the whole check
    is measured.
    """

    check: Check
    convert: Convert
    limits: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds per kilobyte, keyed by conversion. Others have `MILLISECONDS`."""

    def allows(self, data: bytes, seconds: float, conversion: str = "") -> bool:
        """Whether a conversion of an input may take this much processor time."""
        limit = self.limits.get(conversion, MILLISECONDS)
        return seconds <= max(LEAST_SECONDS, limit / 1000 * len(data) / 1024)


def load(target: str) -> Target:
    """Import a target."""
    module = importlib.import_module(f"tests.parsers.targets.{target}")

    def check(data: bytes) -> Iterator[str]:
        module.check(data)
        yield "check"

    convert = getattr(module, "convert", check)
    return Target(module.check, convert, getattr(module, "LIMITS", {}))


def corpus_of(target: str) -> list[Path]:
    """Return the committed inputs of a target."""
    return sorted((CORPUS / target).iterdir())


def measure(target: Target, data: bytes) -> dict[str, float]:
    """Return the processor time of each conversion that takes too long, the least of some
    attempts."""
    least: dict[str, float] = {}
    slow: dict[str, float] = {}
    for _ in range(ATTEMPTS):
        began = time.thread_time()
        for name in target.convert(data):
            seconds = time.thread_time() - began
            least[name] = min(seconds, least.get(name, seconds))
            began = time.thread_time()
        slow = {name: each for name, each in least.items() if not target.allows(data, each, name)}
        if not slow:
            break
    return slow


# The child


def fuzz(target: str, slow: Path, arguments: list[str]) -> None:
    """Fuzz a target in this process, with the arguments of libFuzzer."""
    import atheris  # noqa: PLC0415 - only the environment of this suite has it

    with atheris.instrument_imports(include=list(COVERED)):
        loaded = load(target)

    def run(data: bytes) -> None:
        began = time.thread_time()
        loaded.check(data)
        if not loaded.allows(data, time.thread_time() - began):
            (slow / sha1(data).hexdigest()).write_bytes(data)

    atheris.Setup([sys.argv[0], *arguments], run)
    atheris.Fuzz()


# The parent


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """The number of inputs tried on a target, and what was found."""

    executions: int
    coverage: int
    seconds: int
    findings: tuple[str, ...]


def run_target(target: str, runs: int | None, minutes: float) -> Fuzzed:
    """Fuzz a target in a child process, and measure what seemed slow or was repeated."""
    if runs is None:
        folder = GROWN / target
        for each in ("inputs", "slow"):
            (folder / each).mkdir(parents=True, exist_ok=True)
        return _run_in(folder, target, [f"-max_total_time={int(minutes * 60)}"], is_long=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for each in ("inputs", "slow"):
            (folder / each).mkdir()
        fuzzed = _run_in(folder, target, [f"-runs={runs}", "-seed=1"], is_long=False)
        for failing in folder.glob("*-*"):
            GROWN.mkdir(parents=True, exist_ok=True)
            print(f"The input is in {shutil.copy(failing, GROWN / f'{target}-{failing.name}')}.")
        return fuzzed


def _run_in(folder: Path, target: str, limits: list[str], *, is_long: bool) -> Fuzzed:
    dictionary = CORPUS / f"{target}.dict"
    arguments = [
        str(folder / "inputs"),
        str(CORPUS / target),
        *limits,
        f"-max_len={MAX_LENGTH}",
        f"-rss_limit_mb={MAX_MEMORY}",
        "-timeout=60",
        "-print_final_stats=1",
        f"-artifact_prefix={folder}/",
        *([f"-dict={dictionary}"] if dictionary.exists() else []),
    ]
    command = [sys.executable, "-m", "tests.parsers.fuzz", "--child", target, str(folder / "slow")]
    began = time.monotonic()
    ran = subprocess.run(
        [*command, *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "0"},
        capture_output=True,
        check=False,
    )
    log = (ran.stdout + ran.stderr).decode("utf-8", "replace")
    findings = [log[-6_000:]] if ran.returncode else []
    if not ran.returncode:
        measured = _measured(folder, MAX_STRETCHED if is_long else MAX_STRETCHED_SHORT)
        for data, finding in find_slow(load(target), measured):
            kept = GROWN / f"{target}-slow-{sha1(data).hexdigest()}"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(data)
            findings.append(f"{finding} The input is in {kept}.")
    executed = re.search(r"number_of_executed_units:\s*(\d+)", log)
    covered = re.findall(r"cov: (\d+)", log)
    return Fuzzed(
        int(executed[1]) if executed else 0,
        int(covered[-1]) if covered else 0,
        int(time.monotonic() - began),
        tuple(findings),
    )


def _measured(folder: Path, stretched: int) -> Iterator[bytes]:
    """Yield what seemed slow, and inputs repeated to `STRETCHED` bytes."""
    for path in sorted((folder / "slow").iterdir()):
        yield path.read_bytes()
    for path in sorted((folder / "inputs").iterdir())[:stretched]:
        data = path.read_bytes()
        if data:
            yield data * (STRETCHED // len(data))


def find_slow(target: Target, inputs: Iterable[bytes]) -> Iterator[tuple[bytes, str]]:
    """Yield each input that fails or of which a conversion takes too long, with a sentence."""
    for data in inputs:
        shown = f"{len(data)} bytes, {data[:200]!r}."
        try:
            slow = measure(target, data)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            yield data, f"{error!r} for {shown}"
            continue
        for name, seconds in slow.items():
            yield data, f"{name} takes {seconds:.3f} s for {shown}"


def main() -> None:
    """Fuzz all targets or one, print what was tried, and exit with status 1 after a finding."""
    logging.disable(logging.CRITICAL)
    if sys.argv[1:2] == ["--child"]:
        fuzz(sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=TARGETS, help="one target instead of all")
    parser.add_argument("--runs", type=int, default=RUNS, help="inputs of each target")
    parser.add_argument("--minutes", type=float, help="minutes of each target, instead of inputs")
    parser.add_argument("--jobs", type=int, default=1, help="targets at the same time")
    given = parser.parse_args()
    found = 0
    targets = (given.target,) if given.target else TARGETS
    runs = None if given.minutes else given.runs
    with ThreadPoolExecutor(given.jobs) as pool:
        fuzzing = pool.map(lambda target: run_target(target, runs, given.minutes or 0), targets)
        for target, fuzzed in zip(targets, fuzzing, strict=True):
            found += len(fuzzed.findings)
            inputs = f"{fuzzed.executions:>9} inputs, {fuzzed.coverage} branches"
            print(f"{target:<16} {inputs}", flush=True)
            for finding in fuzzed.findings:
                print(finding, flush=True)
            if given.minutes:
                save_result(_result(target, fuzzed, given.minutes))
    sys.exit(bool(found))


def _result(target: str, fuzzed: Fuzzed, minutes: float) -> Result:
    inputs = (importlib.import_module(f"tests.parsers.targets.{target}").__doc__ or "").strip()
    found = len(fuzzed.findings)
    return Result(
        suite=f"Parser {target}",
        tried=f"{inputs} An input made by coverage-guided fuzzing, parsed or refused with a "
        f"declared error. A conversion takes at most {LEAST_SECONDS * 1000:g} ms of processor "
        f"time, or {MILLISECONDS:g} ms per kilobyte if that is more.",
        counts={"inputs": fuzzed.executions, "branches": fuzzed.coverage},
        found=f"{found} findings" if found else "nothing",
        command=f"make fuzz-parsers TARGET={target} MINUTES={minutes:g}",
        seconds=fuzzed.seconds,
        exceptions=EXCEPTIONS.get(target, ()),
    )


if __name__ == "__main__":
    main()
