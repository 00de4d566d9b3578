"""Modules whose libraries are installed with an extra."""

import pytest

from imprint import RELEASE
from imprint.cli.dev import import_with_extra
from imprint.domain.errors import CannotStart


def test_a_module_whose_libraries_are_installed_is_imported():
    assert import_with_extra("imprint.cli.dev_chain", "imprint dev", "dev").DevChain


def test_the_message_for_a_missing_library_names_the_extra():
    with pytest.raises(CannotStart) as raised:
        import_with_extra("library_that_nobody_has", "A wish", "wishes")
    wheel = f"imprint_press-{RELEASE.removesuffix('.dev')}-py3-none-any.whl"
    assert str(raised.value) == (
        "A wish needs a library that is not installed. In the folder with the wheel of the release:"
        f" pip install './{wheel}[wishes]'."
    )


def test_a_missing_imprint_module_is_not_reported_as_a_missing_extra():
    with pytest.raises(ModuleNotFoundError):
        import_with_extra("imprint.cli.nowhere", "A wish", "wishes")
