"""Results of the long test commands, which `docs/trust.md` shows.

A long command saves its result with `save_result` when the environment variable `RECORD` is set.
The results are in `tools/results/`, one JSON file per command, and are committed.
"""

import json
import os
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tools.files import ROOT

RESULTS = ROOT / "tools" / "results"

WRITTEN = (
    *(":!tools/results", ":!docs/trust.md", ":!docs/pictures", ":!.ci/passed.json"),
    *(":!bench/recorded", ":!docs/scale.md", ":!tools/audit/record.json"),
)
"""What the commands themselves write, as exclusions for git."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one long command tried and found.

    `suite` is the title of its row. `tried` is a sentence that describes a case, `counts` the
    numbers of cases by name, `found` what was found, or "nothing". `seed` is what the command needs
    to repeat the same cases. `exceptions` lists by name what was accepted, one sentence each.
    """

    suite: str
    tried: str
    counts: dict[str, int]
    found: str
    command: str
    seconds: int
    seed: str = ""
    exceptions: tuple[str, ...] = ()
    date: str = ""
    commit: str = ""


def save_result(result: Result) -> None:
    """Save the result with today's date and the current commit, if `RECORD` is set."""
    if not os.environ.get("RECORD"):
        return
    RESULTS.mkdir(exist_ok=True)
    fields = asdict(result) | {"date": f"{datetime.now(UTC):%Y-%m-%d}", "commit": describe_commit()}
    path = RESULTS / f"{result.suite.lower().replace(' ', '-')}.json"
    path.write_text(json.dumps(fields, indent=2, ensure_ascii=False) + "\n", "utf-8")


def read_results(folder: Path = RESULTS) -> list[Result]:
    """Return all saved results, ordered by suite."""
    files = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    return [Result(**fields | {"exceptions": tuple(fields["exceptions"])}) for fields in files]


def describe_commit() -> str:
    """Return the first digits of the current commit, with a plus sign if sources differ from it."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    return f"{commit}+" if _git("status", "--porcelain", "--", ".", *WRITTEN) else commit


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)  # noqa: S603
    return found.stdout.strip()
