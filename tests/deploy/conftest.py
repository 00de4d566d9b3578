"""Fixtures for the tests of deploy/: the built image, and programs that validate files."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.deploy.container import ROOT, Image, built_image


@pytest.fixture(scope="session")
def image() -> Iterator[Image]:
    with built_image() as built:
        yield built


@pytest.fixture(scope="session")
def validators() -> Path:
    """The folder with the programs that validate compose files and manifests."""
    subprocess.run([ROOT / "tools" / "build-deploy-validators"], check=True, cwd=ROOT)
    return ROOT / ".tools" / "validators"
