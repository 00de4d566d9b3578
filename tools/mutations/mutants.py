"""Tries generated faults in the guarded files, and checks that the tests find them.

`python -m tools.mutations.mutants` needs the measurement of `make coverage`, which says what tests
run each line. Each fault is tried in a fork of a process that has already imported the service and
collected the tests, so that it costs little more than the tests themselves.
"""

import argparse
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FunctionType
from typing import IO, NoReturn

import coverage
import pytest
from tools.files import ROOT, files_matching
from tools.mutations.branches import PYTEST
from tools.mutations.generator import Mutant, compile_mutant, generate
from tools.mutations.guarded import FILES, FUNCTIONS, MEASURED, TESTS, module_of
from tools.trust import Result, save_result

STUCK_SECONDS = 20
TESTS_PER_SECOND = 10
"""Processor time after which a fault counts as found, because its tests never end: `STUCK_SECONDS`,
and one more second for every `TESTS_PER_SECOND` tests."""

MOST_BYTES = 4 << 30
"""Memory of a fork. A fault that allocates more counts as found."""

IDLE_SECONDS = 8
"""Seconds without any processor time after which a fault counts as found."""

ANEW = "anew"
"""The verdict on a fault that needs another import of the service."""

LEAST = 0.9
"""The share of the faults that the tests must find."""

SURVIVORS = Path(__file__).with_name("survivors.toml")

LIBRARIES = ("aiohttp.web", "asyncpg", "cryptography.x509", "eth_account", "jinja2", "PIL.Image")
"""Libraries that are imported once, before the forks that import the service anew."""


STUCK = "stuck"
"""The verdict on a fault whose tests never end."""

Attempt = tuple[Mutant | None, list[str]]
"""A fault, or None for a run without any fault, and the tests to run."""

Report = Callable[[str], NoReturn]
"""Ends a fork, and tells its parent the test that found the fault, or an empty text."""

Keep = Callable[[Mutant, str], None]


class Measurement:
    """The tests that run each line, from the last `make coverage`."""

    def __init__(self) -> None:
        self._data = coverage.CoverageData(str(MEASURED / "data"))
        self._data.read()
        self._seconds: dict[str, float] = json.loads((MEASURED / "seconds.json").read_text("utf-8"))
        self._lines = {
            path: self._data.contexts_by_lineno(str(ROOT / path)) for path in guarded_files()
        }

    def runs_at_import(self, mutant: Mutant) -> bool:
        """Whether the line also runs while its module is imported."""
        return "" in self._lines[mutant.path].get(mutant.line, [])

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return tests that run the line or use the variable."""
        lines = self._lines[mutant.path]
        chosen = set(lines.get(mutant.line, [])) & self._seconds.keys()
        if not chosen and mutant.subject:
            # A field may be given without its name.
            chosen = self._tests_using(mutant.subject) or self._tests_using(mutant.function)
        elif not chosen:
            numbers: Iterable[int] = range(mutant.line, mutant.until + 1)
            if mutant.is_inside:
                # A line within a statement of several lines.
                numbers = [max((n for n in lines if n <= mutant.line), default=0)]
            chosen = {test for number in numbers for test in lines.get(number, [])}
            chosen &= self._seconds.keys()
        own = f"/test_{Path(mutant.path).stem}"
        if not mutant.is_inside:
            # The methods that a class gets from its fields have no lines.
            chosen |= {test for test in self._seconds if own in test}
        chosen = chosen or {*chain(*lines.values())} & self._seconds.keys()
        return self._ranked(chosen, own)

    def _tests_using(self, variable: str) -> set[str]:
        """Return the tests that run a line with this name, in any guarded file."""
        tests: set[str] = set()
        for path, lines in self._lines.items():
            for number, line in enumerate(_lines_of(path), 1):
                if variable in line:
                    tests.update(lines.get(number, []))
        return tests & self._seconds.keys()

    def _ranked(self, chosen: Iterable[str], own: str) -> list[str]:
        """Return the tests in this order: first one short case of each function."""
        turns: Counter[str] = Counter()
        ranked: list[tuple[int, bool, int, str]] = []
        for test in sorted(chosen, key=lambda each: (self._seconds[each], each)):
            function = test.partition("[")[0]
            ranked.append((turns[function], own not in test, len(ranked), test))
            turns[function] += 1
        return [test for *_, test in sorted(ranked)]


@cache
def _lines_of(path: str) -> list[str]:
    return (ROOT / path).read_text("utf-8").splitlines()


def guarded_files() -> list[str]:
    """Return the paths of the guarded files."""
    return [
        str(p.relative_to(ROOT)) for p in files_matching([*FILES, *FUNCTIONS]) if p.suffix == ".py"
    ]


def all_mutants() -> list[Mutant]:
    """Return all faults of all guarded code."""
    sources = ((path, (ROOT / path).read_text("utf-8")) for path in guarded_files())
    mutants = [mutant for path, source in sources for mutant in generate(path, source)]
    return [
        mutant
        for mutant in mutants
        if mutant.path not in FUNCTIONS or mutant.function in FUNCTIONS[mutant.path]
    ]


def compile_of(mutant: Mutant) -> CodeType:
    """Compile the module with this fault."""
    path = ROOT / mutant.path
    return compile_mutant(mutant, path.read_text("utf-8"), str(path))


def run_in_fork(work: Callable[[Report], None], tests: int) -> str:
    """Return what `work` reports in a fork with this many tests, or `STUCK` if it never ends."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        limit = int(time.process_time()) + STUCK_SECONDS + tests // TESTS_PER_SECOND
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
        try:
            work(lambda text: _report(write, text))
        finally:
            os._exit(3)
    os.close(write)
    try:
        return _await_report(child, read)
    finally:
        os.close(read)


def _report(pipe: int, text: str) -> NoReturn:
    os.write(pipe, text.encode()[:4000] + b"\n")
    os._exit(0)


def _await_report(child: int, read: int) -> str:
    used, since = "", time.monotonic()
    while not select.select([read], [], [], 1.0)[0]:
        state, now_used = _activity(child)
        if state == "R" or now_used != used:
            used, since = now_used, time.monotonic()
        elif time.monotonic() - since > IDLE_SECONDS:
            os.kill(child, signal.SIGKILL)
            break
    text = os.read(read, 4096).decode()
    _, status = os.waitpid(child, 0)
    if not text and not os.WIFSIGNALED(status):
        raise RuntimeError("The tests could not be run.")
    return text.rstrip("\n") if text else STUCK


def _activity(process: int) -> tuple[str, str]:
    """Return the state of a process and its processor time."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return fields[0], " ".join(fields[11:13])


class Swapper:
    """Replaces the code of functions that exist, wherever they are referenced."""

    def __init__(self) -> None:
        files = {str(ROOT / path) for path in guarded_files()}
        self._functions: dict[tuple[str, str, int], list[FunctionType]] = {}
        for each in gc.get_objects():
            if type(each) is FunctionType and each.__code__.co_filename in files:
                self._functions.setdefault(_key(each.__code__), []).append(each)

    def swap(self, code: CodeType) -> bool:
        """Give all functions of a module their code in `code`. Return whether this is possible.

        It is impossible if the new code of a function uses other variables of an enclosing function
        than before. Lambdas cannot be told apart if they begin on the same line.
        """
        found: dict[tuple[str, str, int], CodeType] = {}
        for each in _nested(code):
            if found.setdefault(_key(each), each) is not each and _key(each) in self._functions:
                return False
        try:
            for key, each in found.items():
                for function in self._functions.get(key, []):
                    function.__code__ = each
        except ValueError:
            return False
        return True


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _nested(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _nested(each)


class _FaultyModule(SourceFileLoader):
    """Imports one module with its fault."""

    def __init__(self, mutant: Mutant) -> None:
        path = ROOT / mutant.path
        super().__init__(module_of(path), str(path))
        self._code = compile_of(mutant)

    def get_code(self, fullname: str) -> CodeType:
        return self._code

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None


class FirstFailure:
    """Ends the process at the first failed test, and reports it."""

    def __init__(self, report: Report) -> None:
        self._report = report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Report a failure before pytest formats it."""
        if call.excinfo is not None and not isinstance(call.excinfo.value, pytest.skip.Exception):
            self._report(item.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._report(f"import of {report.nodeid}")


class Selection:
    """Keeps only these tests, in this order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._tests = tests

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out all other tests."""
        by_name = {item.nodeid: item for item in items}
        # The fault may change the cases of a test, and their names.
        items[:] = [by_name[test] for test in self._tests if test in by_name]


def try_anew(mutant: Mutant | None, tests: Sequence[str], folder: str) -> str:
    """Import the service with a fault in a fork, and return the test that found the fault."""

    def work(report: Report) -> None:
        _silence()
        if mutant is not None:
            sys.meta_path.insert(0, _FaultyModule(mutant))
        files = sorted({test.partition("::")[0] for test in tests})
        plugins = [FirstFailure(report), Selection(tests)]
        status = pytest.main([*PYTEST, "-s", f"--basetemp={folder}/anew", *files], plugins=plugins)
        if status in {pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR}:
            report("import")
        if status == pytest.ExitCode.OK:
            report("")

    return run_in_fork(work, len(tests))


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


class ForkingRunner:
    """A pytest plugin that tries faults, each in a fork, instead of running the tests once.

    It writes a line for each fault, in their order, and ends at a run without a fault that fails.
    """

    def __init__(self, chosen: Sequence[Attempt], verdicts: IO[str]) -> None:
        self._chosen = chosen
        self._verdicts = verdicts

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try all faults."""
        items = {item.nodeid: item for item in session.items}
        swapper = Swapper()
        gc.collect()
        gc.freeze()
        for mutant, tests in self._chosen:
            chosen = [items[test] for test in tests]
            verdict = run_in_fork(partial(self._try, swapper, mutant, chosen), len(chosen))
            self._verdicts.write(f"{verdict}\n")
            self._verdicts.flush()
            if mutant is None and verdict:
                break
        return True

    @staticmethod
    def _try(
        swapper: Swapper, mutant: Mutant | None, chosen: list[pytest.Item], report: Report
    ) -> None:
        _silence()
        if mutant is not None and not swapper.swap(compile_of(mutant)):
            report(ANEW)
        config = chosen[0].config
        config.pluginmanager.register(FirstFailure(report))
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        report("")


def try_swapped(chosen: Sequence[Attempt], folder: str) -> Iterator[str]:
    """Yield the verdict on each fault, from a process that imports the service only once."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        with os.fdopen(write, "w", encoding="utf-8") as verdicts:
            arguments = [*PYTEST, "-s", f"--basetemp={folder}/swapped", *TESTS]
            pytest.main(arguments, plugins=[ForkingRunner(chosen, verdicts)])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as verdicts:
        for line in verdicts:
            yield line.rstrip("\n")
    os.waitpid(child, 0)


def control_of(attempts: Iterable[tuple[Mutant, list[str]]]) -> Attempt:
    """Return a run of all these tests without any fault."""
    return None, sorted({test for _, tests in attempts for test in tests})


def expect_success(failed: str) -> None:
    """Raise RuntimeError if a test failed without any fault, because it would find every fault."""
    if failed:
        raise RuntimeError(f"A test fails in a fork even without a fault: {failed}")


def try_mutants(chosen: Sequence[Mutant], keep: Keep) -> None:
    """Try these faults, and call `keep` with each and the test that found it.

    Raises RuntimeError if one of their tests fails without any fault.
    """
    measured = Measurement()
    swapped: list[tuple[Mutant, list[str]]] = []
    anew: list[tuple[Mutant, list[str]]] = []
    for mutant in chosen:
        is_swapped = mutant.is_inside and not measured.runs_at_import(mutant)
        (swapped if is_swapped else anew).append((mutant, measured.tests_of(mutant)))
    for library in LIBRARIES:
        importlib.import_module(library)
    with TemporaryDirectory(prefix="imprint-mutants-") as folder:
        verdicts = try_swapped([control_of(swapped), *swapped], folder) if swapped else iter([""])
        expect_success(next(verdicts, "collection"))
        for (mutant, tests), verdict in zip(swapped, verdicts, strict=True):
            if verdict == ANEW:
                anew.append((mutant, tests))
            else:
                keep(mutant, verdict)
        if anew:
            expect_success(try_anew(*control_of(anew), folder))
        for mutant, tests in anew:
            keep(mutant, try_anew(mutant, tests, folder))


class Verdicts:
    """Faults that earlier runs found, until the faulty file or the file of the test changes.

    A run that is recorded ignores earlier runs, because other files may have changed, too.
    """

    def __init__(
        self, path: Path = MEASURED / "verdicts.jsonl", *, is_recorded: bool = False
    ) -> None:
        self._path = path
        self.known: dict[tuple[str, str], tuple[str, float]] = {}
        reads = path.exists() and not is_recorded
        for line in path.read_text("utf-8").splitlines() if reads else []:
            digest, file, name, by, seconds = json.loads(line)
            if by and digest == _digest(file, by):
                self.known[file, name] = by, seconds
        self._since = time.monotonic()

    def add(self, mutant: Mutant, by: str) -> None:
        """Record the test that found a fault, or an empty text, and the seconds it took."""
        since, self._since = self._since, time.monotonic()
        seconds = round(self._since - since, 2)
        self.known[mutant.path, mutant.name] = by, seconds
        kept = [_digest(mutant.path, by), mutant.path, mutant.name, by, seconds]
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(kept) + "\n")


@cache
def _digest_of(file: str) -> str:
    path = ROOT / file
    return sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _digest(file: str, test: str) -> str:
    return _digest_of(file) + _digest_of(test.partition("::")[0])


def choose(mutants: Sequence[Mutant], sample: int, seed: str) -> list[Mutant]:
    """Return a sample of the faults, which stays the same while other code changes."""

    def rank(mutant: Mutant) -> bytes:
        return sha256(f"{seed} {mutant.path} {mutant.name}".encode()).digest()

    return sorted(mutants, key=rank)[: sample or None]


def read_survivors() -> dict[tuple[str, str], str]:
    """Return the faults that no test needs to find, by file and name, each with its reason."""
    listed = tomllib.loads(SURVIVORS.read_text("utf-8")).get("survivor", [])
    return {(each["file"], each["fault"]): each["why"] for each in listed}


def problems_of(
    finders: Mapping[tuple[str, str], str], listed: Container[tuple[str, str]], *, is_complete: bool
) -> list[str]:
    """Return what is wrong with these verdicts: the test that found each fault, or an empty text.

    In a complete run, no fault that is listed as a survivor may be found by a test.
    """
    new = [each for each, by in finders.items() if not by and each not in listed]
    wrong = [each for each, by in finders.items() if by not in ("", STUCK) and each in listed]
    share = sum(map(bool, finders.values())) / len(finders) if finders else 1.0
    problems = []
    if new:
        problems.append(f"{len(new)} survivors that are not listed")
    if wrong and is_complete:
        names = "; ".join(f"{path}: {name}" for path, name in wrong)
        problems.append(f"{len(wrong)} listed survivors that a test finds ({names})")
    if share < LEAST:
        problems.append(f"only {share:.1%} found")
    return problems


def main() -> int:
    """Try the faults that the arguments select. The exit status is 1 if a new one survives."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutations.mutants", description=__doc__)
    parser.add_argument("--sample", default="all", help="how many faults are tried, or all")
    parser.add_argument("--seed", default="0", help="which faults are in the sample")
    parser.add_argument("--file", default="", help="only files whose paths contain this")
    given = parser.parse_args()
    mutants = [each for each in all_mutants() if given.file in each.path]
    chosen = choose(mutants, 0 if given.sample == "all" else int(given.sample), given.seed)
    verdicts = Verdicts(is_recorded=bool(os.environ.get("RECORD")))
    listed = read_survivors()
    left = [each for each in chosen if (each.path, each.name) not in verdicts.known]
    try_mutants(left, verdicts.add)
    finders = {(m.path, m.name): verdicts.known[m.path, m.name][0] for m in chosen}
    survivors = [each for each in chosen if not finders[each.path, each.name]]
    for each in survivors:
        why = listed.get((each.path, each.name), "NOT LISTED")
        print(f"{each.path}:{each.line}: {each.name}\n    {why}")
    stuck = sum(by == STUCK for by in finders.values())
    killed = len(chosen) - len(survivors)
    seconds = int(sum(verdicts.known[each.path, each.name][1] for each in chosen))
    problems = problems_of(finders, listed, is_complete=given.sample == "all")
    print(
        f"{killed} of {len(chosen)} faults found (of {len(mutants)} faults in all), {stuck} of "
        f"them because their tests never end, in {seconds} s, {len(left)} of them tried now. "
        f"{'; '.join(problems) or 'No problems'}."
    )
    tried = {"faults": len(mutants), "tried": len(chosen)}
    save_result(
        Result(
            "Mutants",
            "A generated fault in access, authentication or payment, which a test must find.",
            tried | {"found by a failed test": killed - stuck, "found by tests that hang": stuck},
            "; ".join(problems) or "nothing",
            f"make mutate SAMPLE={given.sample}" + (f" FILE={given.file}" if given.file else ""),
            seconds,
            given.seed,
            tuple(
                sorted(f"{m.path}: {m.name}. {listed.get((m.path, m.name), '')}" for m in survivors)
            ),
        )
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
