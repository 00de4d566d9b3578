"""Tests of `imprint completion`."""

import pytest
from tests.cli.installations import run

from imprint.cli.completion import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_printed_for_each_shell(shell: str):
    result = run({}, "completion", shell)
    assert result.exit_code == 0
    assert f"_IMPRINT_COMPLETE={shell}_complete" in result.stdout


def test_an_unsupported_shell_is_a_usage_error():
    assert run({}, "completion", "tcsh").exit_code == 2
