"""The output and exit status of a command that cannot continue."""

import pytest

from imprint.cli.errors import reporting_errors
from imprint.domain.errors import CannotStart, Code, Unavailable
from imprint.services.installation.backup import NotABackup
from imprint.services.installation.exports import ImportConflicts
from imprint.settings import SettingsProblems


def exit_of(error: Exception, *, starts: bool = False) -> int:
    with pytest.raises(SystemExit) as raised, reporting_errors(starts=starts):
        raise error
    assert isinstance(raised.value.code, int)
    return raised.value.code


def test_all_invalid_settings_are_listed_at_once(capsys):
    assert exit_of(SettingsProblems(["A is missing.", "B is wrong."])) == 2
    assert capsys.readouterr().err.splitlines() == [
        "These settings are wrong:",
        "  • A is missing.",
        "  • B is wrong.",
        "All settings are described in docs/configuration.md.",
    ]


def test_a_failing_command_prints_only_the_reason(capsys):
    assert exit_of(CannotStart("The file exists already.")) == 2
    assert capsys.readouterr().err == "The file exists already.\n"


def test_a_service_that_cannot_start_prints_the_reason(capsys):
    assert exit_of(CannotStart("The port is in use."), starts=True) == 2
    assert capsys.readouterr().err == "Imprint cannot start. The port is in use.\n"


@pytest.mark.parametrize(
    "error",
    [NotABackup("It is damaged."), Unavailable(Code.STORAGE_UNAVAILABLE, "It is damaged.")],
)
def test_a_command_that_fails_midway_prints_the_reason(capsys, error: Exception):
    assert exit_of(error) == 1
    assert capsys.readouterr().err == "It is damaged.\n"


def test_an_import_that_contradicts_the_catalog_lists_every_conflict(capsys):
    assert exit_of(ImportConflicts(["one", "two"])) == 1
    printed = capsys.readouterr().err
    assert "Nothing was written." in printed
    assert printed.endswith("  • one\n  • two\n")


def test_an_unexpected_error_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError), reporting_errors():
        raise ZeroDivisionError
