"""An installation contains exactly the locked packages that it needs."""

import subprocess

import pytest
from tests.wheel.installed import UV, Installed, markers_of, plain_environ
from tools.distributions import NAME, read_version
from tools.runtime_lock import runtime_entries


@pytest.fixture(params=["bare", "with_postgresql", "with_dev", "complete"])
def installed(request: pytest.FixtureRequest) -> Installed:
    found: Installed = request.getfixturevalue(request.param)
    return found


def test_the_lock_file_has_everything_that_the_package_needs(installed: Installed):
    """Check that every installed package has a version that the others accept."""
    command = [str(UV), "pip", "check", "--python", str(installed.python)]
    done = subprocess.run(command, env=plain_environ(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_exactly_the_locked_packages_are_installed(installed: Installed):
    markers = markers_of(installed.python)
    locked = {
        entry.name: entry.version
        for entry in runtime_entries(installed.extras, [markers])
        if entry.applies(markers)
    }
    assert installed.packages() == locked | {NAME: read_version()}


def test_the_bare_package_has_no_libraries_of_extras(bare: Installed):
    extras = {"asyncpg", "eth-account", "obstore", "pyrevm", "rlp"}
    assert extras & bare.packages().keys() == set()
