"""The command line interface as a whole."""

import subprocess
import sys

import pytest
from tests.cli.installations import run

from imprint.cli import COMMANDS

HELP_ALONE = """
import sys
from imprint.cli import main
main(["--help"], standalone_mode=False)
print([name for name in sys.modules if name.startswith("imprint.cli.")])
"""

COMPLETION_ALONE = """
import sys
from click.shell_completion import BashComplete
from imprint.cli import main
found = BashComplete(main, {}, "imprint", "_IMPRINT_COMPLETE").get_completions([], "mig")
assert [each.value for each in found] == ["migrate-catalog", "migrate-content"]
print([name for name in sys.modules if name.startswith("imprint.cli.")])
"""

SERVE_ALONE = """
import sys
import imprint.cli.serve
unused = ("asyncpg", "imprint.cli.dev", "imprint.devchain")
print([name for name in sys.modules if name.startswith(unused)])
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_loads_and_has_help(command: str):
    result = run({}, command, "--help")
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: main {command} [OPTIONS]")


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_the_help_lists_every_command(option: str):
    listed = run({}, option).output.split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in listed] == list(COMMANDS)


def test_running_without_arguments_is_a_usage_error_that_prints_the_help():
    result = run({})
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == run({}, "--help").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["backup"],
        ["nonsense"],
        ["restore", "nowhere", "--to", "data"],
        ["verify", "nowhere"],
        ["serve", "--colour"],
    ],
    ids=" ".join,
)
def test_usage_errors_are_explained(arguments: list[str]):
    result = run({}, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: main")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_summary_of_a_command_is_the_first_sentence_of_its_help(command: str):
    printed = " ".join(run({}, command, "--help").output.split())
    assert f"{COMMANDS[command].summary} " in printed
    assert COMMANDS[command].summary.count(".") == 1


def test_every_line_of_the_help_fits_80_columns():
    printed = run({"COLUMNS": "80"}, "--help").output
    assert max(len(line) for line in printed.splitlines()) <= 80
    assert "..." not in printed.split("Commands:\n")[1]
    assert len(printed.split("Commands:\n")[1].splitlines()) == len(COMMANDS)


@pytest.mark.parametrize("code", [HELP_ALONE, COMPLETION_ALONE, SERVE_ALONE])
def test_modules_of_other_commands_are_not_imported(code: str):
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
