"""The command line as a whole."""

import subprocess
import sys

import pytest
from tests.cli.installations import run

from imprint.cli import COMMANDS

SERVE_ALONE = """
import sys
import imprint.cli.serve
print([name for name in sys.modules if name.startswith(("imprint.cli.dev", "imprint.devchain"))])
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_loads_and_has_help(command: str):
    result = run({}, command, "--help")
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: main {command} [OPTIONS]")


def test_the_help_lists_every_command():
    listed = run({}, "--help").output.split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in listed] == list(COMMANDS)


def test_serve_imports_nothing_of_dev():
    command = [sys.executable, "-c", SERVE_ALONE]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"
