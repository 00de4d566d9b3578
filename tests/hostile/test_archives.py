"""Commands that read a hostile archive exit soon with a message, and use little memory.

Each attack is a separate process. `pytest tests/hostile/test_archives.py -k NAME -s`
replays one attack and prints its cost.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.services.backup_parts import valid as valid_backup
from tests.services.hostile_backups import BACKUPS
from tests.services.hostile_exports import EXPORTS
from tests.services.hostile_exports import valid as valid_export

SECONDS = 10
"""Limit of CPU and wall time in seconds for a command, which normally needs about one."""

MEMORY = 200 * 1024
"""Maximum extra memory in kilobytes, compared with processing a valid archive."""

WRITTEN = 16 * 1024**2
"""Maximum size in bytes of a file that a command may write."""


_LAUNCH = f"""
import resource, runpy, signal, sys
resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}))
resource.setrlimit(resource.RLIMIT_FSIZE, ({WRITTEN}, {WRITTEN}))
signal.alarm(6 * {SECONDS})  # a command that waits for something uses no CPU time
try:
    runpy.run_module("imprint", run_name="__main__", alter_sys=True)
finally:
    sys.stdout.flush()
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            print(line, flush=True)
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The output and the cost of a command."""

    status: int
    text: str
    seconds: float
    memory: int


def run(*arguments: str | Path) -> Outcome:
    """Run a command under limits that terminate it if it does not exit on its own."""
    command = [sys.executable, "-c", _LAUNCH, *map(str, arguments)]
    kept = {name: text for name, text in os.environ.items() if not name.startswith("IMPRINT_")}
    process = subprocess.Popen(command, env=kept, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    with process.stdout as output:
        text = output.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    # The memory of its largest moment. `usage` has that of this process before the fork, too.
    text, _, memory = text.partition("VmHWM:")
    seconds = usage.ru_utime + usage.ru_stime
    return Outcome(process.returncode, text, seconds, int(memory.split()[0]))


def check(name: str, outcome: Outcome, usual: Outcome) -> None:
    print(
        f"\n{name}: {outcome.seconds:.2f} s of CPU time ({usual.seconds:.2f} s for a good archive),"
        f" {outcome.memory / 1024:.0f} MB ({usual.memory / 1024:.0f} MB)"
    )
    assert outcome.status in (1, 2)
    assert "Traceback" not in outcome.text
    *_, sentence = filter(None, map(str.strip, outcome.text.splitlines()))
    assert re.fullmatch(r"[\x20-\x7e’…]{10,500}\.", sentence)
    assert outcome.memory <= usual.memory + MEMORY


@pytest.fixture(scope="module")
def usual_export(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The cost of verifying a valid export."""
    path = tmp_path_factory.mktemp("good") / "good.car"
    path.write_bytes(valid_export())
    outcome = run("verify", path)
    assert outcome.status == 0, outcome.text
    return outcome


@pytest.fixture(scope="module")
def usual_backup(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The cost of restoring a valid backup."""
    folder = tmp_path_factory.mktemp("good")
    outcome = run("restore", valid_backup(folder), "--to", folder / "restored")
    assert outcome.status == 0, outcome.text
    return outcome


@pytest.mark.parametrize("name", EXPORTS)
def test_a_hostile_export_is_refused(name: str, tmp_path: Path, usual_export: Outcome) -> None:
    path = tmp_path / "hostile.car"
    path.write_bytes(EXPORTS[name]())
    check(name, run("verify", path), usual_export)


@pytest.mark.parametrize("name", BACKUPS)
def test_a_hostile_backup_is_refused(name: str, tmp_path: Path, usual_backup: Outcome) -> None:
    path = BACKUPS[name](tmp_path)
    check(name, run("restore", path, "--to", tmp_path / "new" / "restored"), usual_backup)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
