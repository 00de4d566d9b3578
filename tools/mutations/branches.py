"""Measures which branches of the guarded files the tests take.

`python -m tools.mutations.branches` fails if there is a line or branch that no test takes. A line
can be excluded with `# pragma: no cover` and the reason, and is then listed. The measurement also
records which tests run each line, from which `make mutate` chooses its tests.
"""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import coverage
import pytest
from tools.files import ROOT, files_matching
from tools.mutations.guarded import FILES, FUNCTIONS, MEASURED, TESTS
from tools.trust import Result, save_result

PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not hypothesis")
"""Arguments for pytest. Tests of random cases are left out, because a fault makes them search."""


class Recorder:
    """Records which lines each test runs, and the processor time of each test."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._measured.switch_context(item.nodeid)
        began = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = round(time.process_time() - began, 3)
            self._measured.switch_context("")

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out the cases on PostgreSQL: these files do not know the database."""
        others = [item for item in items if needs_postgresql(item)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]


def needs_postgresql(item: pytest.Item) -> bool:
    """Whether the case starts a database server."""
    chosen = getattr(item, "callspec", None)
    return "postgresql" in (chosen.params.values() if chosen else ()) or (
        "postgresql" in getattr(item, "fixturenames", ())
    )


def measure() -> int:
    """Run the tests and save what they cover. Return the exit status of pytest."""
    MEASURED.mkdir(parents=True, exist_ok=True)
    files = [str(path) for path in files_matching([*FILES, *FUNCTIONS]) if path.suffix == ".py"]
    measured = coverage.Coverage(
        data_file=str(MEASURED / "data"), branch=True, include=files, config_file=False
    )
    # The core of newer Pythons sees only the first test that runs a line.
    measured.set_option("run:core", "ctrace")
    measured.erase()
    recorder = Recorder(measured)
    measured.start()
    try:
        status = pytest.main([*PYTEST, *TESTS], plugins=[recorder])
    finally:
        measured.stop()
        measured.save()
    (MEASURED / "seconds.json").write_text(json.dumps(recorder.seconds), "utf-8")
    measured.json_report(outfile=str(MEASURED / "report.json"))
    return int(status)


def guarded_parts(report: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return what was measured: each file, or only its guarded functions."""
    return [
        (name, part)
        for name, file in sorted(report["files"].items())
        for part in (
            [file["functions"][each] for each in FUNCTIONS[name]] if name in FUNCTIONS else [file]
        )
    ]


def missed(report: dict[str, Any]) -> list[str]:
    """Return the lines and branches that no test takes, each as its file and its text."""
    found = []
    for name, part in guarded_parts(report):
        lines = (ROOT / name).read_text("utf-8").splitlines()
        found += [
            f"{name}:{number}: {lines[number - 1].strip()}" for number in part["missing_lines"]
        ]
        found += [
            f"{name}:{start}: {lines[start - 1].strip()} → "
            + (lines[end - 1].strip() if end > 0 else "return")
            for start, end in part["missing_branches"]
            if start not in part["missing_lines"]
        ]
    return found


def excluded(report: dict[str, Any]) -> list[str]:
    """Return the lines that need no test, each as its file and its text."""
    return [
        f"{name}: {(ROOT / name).read_text('utf-8').splitlines()[number - 1].strip()}"
        for name, part in guarded_parts(report)
        for number in part["excluded_lines"]
    ]


def main() -> int:
    """Measure the coverage, and print what no test takes. The exit status is 1 if there is any."""
    began = time.monotonic()
    if status := measure():
        return status
    report = json.loads((MEASURED / "report.json").read_text("utf-8"))
    missing, exceptions = missed(report), excluded(report)
    for each in missing:
        print(each)
    totals = [part["summary"] for _, part in guarded_parts(report)]
    lines = sum(each["num_statements"] for each in totals)
    branches = sum(each["num_branches"] for each in totals)
    print(f"{lines} statements and {branches} branches: {len(missing)} not taken by any test.")
    save_result(
        Result(
            "Branch coverage",
            "A branch of access, authentication or payment, which a test must take.",
            {"files": len(report["files"]), "statements": lines, "branches": branches},
            f"{len(missing)} not taken" if missing else "nothing",
            "make coverage",
            int(time.monotonic() - began),
            exceptions=tuple(exceptions),
        )
    )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
