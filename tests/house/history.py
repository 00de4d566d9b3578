"""The history of the project, as far as the checkout has it."""

import subprocess
from functools import cache

import pytest
from tools.files import ROOT

DIGITS = 12
"""Number of digits by which files of the project name commits."""

FIRST = "8f32ae75304f"
"""The first commit."""


def git(*arguments: str) -> str:
    """Return the output of git, which is empty if git fails."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


@cache
def commit_times() -> dict[str, int]:
    """Return the time of every commit, or skip the test if the checkout has no full history."""
    lines = git("log", "--format=%H %ct").splitlines()
    found = {commit[:DIGITS]: int(time) for commit, time in (line.split() for line in lines)}
    if FIRST not in found:
        pytest.skip("This checkout does not have the history.")
    return found
