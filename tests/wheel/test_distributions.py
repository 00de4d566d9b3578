"""The contents of the wheel and the sdist, and their metadata."""

import re
import zipfile
from pathlib import Path

import pytest
from tests.wheel.conftest import Distributions
from tools.distributions import (
    build_from_sdist,
    commit_epoch,
    metadata_problems,
    read_wheel,
    sdist_problems,
    wheel_problems,
)

ASSETS = (
    "imprint/adapters/database/migrations/sqlite/0001_catalog.sql",
    "imprint/adapters/database/migrations/postgresql/0001_catalog.sql",
    "imprint/marketplace/Marketplace.json",
    "imprint/py.typed",
)


def test_the_wheel_contains_only_the_package(distributions: Distributions):
    assert wheel_problems(distributions.wheel) == []
    assert set(ASSETS) <= set(read_wheel(distributions.wheel))


@pytest.mark.parametrize("change", ["drop", "add"])
def test_missing_and_superfluous_files_are_detected(
    distributions: Distributions, tmp_path: Path, change: str
):
    files = read_wheel(distributions.wheel)
    if change == "drop":
        del files[ASSETS[0]]
    else:
        files["tests/test_service.py"] = b""
    changed = tmp_path / distributions.wheel.name
    with zipfile.ZipFile(changed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    named = ASSETS[0] if change == "drop" else "tests/test_service.py"
    assert [problem for problem in wheel_problems(changed) if named in problem]
    assert len(wheel_problems(changed)) == 1


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (b"Name: imprint-press", b"Name: imprint"),
        (b"License-Expression: MIT", b"License-Expression: AGPL-3.0-only"),
        (b"License-File: LICENSE\n", b""),
        (b"Requires-Python: .*", b"Requires-Python: >=3.8"),
        (b"Classifier: Typing :: Typed", b"Classifier: Typing :: Guessed"),
        (b"text/markdown", b"text/plain"),
        (b"Summary: .*\n", b""),
        (b"# Imprint", b"# Something else"),
        (b"Requires-Dist: click", b"Requires-Dist: click click"),
    ],
)
def test_wrong_metadata_is_detected(
    distributions: Distributions, pattern: bytes, replacement: bytes
):
    files = read_wheel(distributions.wheel)
    [metadata] = [text for name, text in files.items() if name.endswith("/METADATA")]
    assert metadata_problems(metadata) == []
    changed = re.sub(pattern, replacement, metadata, count=1)
    assert changed != metadata
    assert metadata_problems(changed) != []


def test_the_sdist_has_everything_needed_for_building_and_testing(distributions: Distributions):
    assert sdist_problems(distributions.sdist) == []


def test_building_from_the_sdist_gives_the_same_wheel(distributions: Distributions, tmp_path: Path):
    again = build_from_sdist(distributions.sdist, tmp_path, epoch=commit_epoch())
    assert read_wheel(again) == read_wheel(distributions.wheel)
