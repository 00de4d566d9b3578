"""The version that a build reports."""

import subprocess
from pathlib import Path

import pytest
from tests.cli.installations import run

from imprint import RELEASE, __version__, name_version
from imprint.metrics import BUILD_INFO


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=A tester", "-c", "user.email=tester@imprint.test"]
    command = ["git", *identity, *words]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one commit."""
    folder = tmp_path / "checkout"
    (folder / "src" / "imprint").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "First")
    return folder


def test_a_release_reports_only_its_version_number(checkout: Path):
    assert name_version("1.1.0", checkout / "src" / "imprint") == "1.1.0"


@pytest.mark.parametrize("state", ["branch", "packed", "detached", "worktree"])
def test_a_checkout_between_releases_reports_its_commit(checkout: Path, state: str):
    commit = git(checkout, "rev-parse", "HEAD")
    folder = checkout
    if state == "packed":
        git(checkout, "pack-refs", "--all")
    elif state == "detached":
        git(checkout, "checkout", "--quiet", "--detach")
    elif state == "worktree":
        folder = checkout.parent / "other"
        git(checkout, "worktree", "add", "--quiet", "-b", "other", str(folder))
        (folder / "src" / "imprint").mkdir(parents=True)
    version = name_version("1.1.0.dev", folder / "src" / "imprint")
    assert version == f"1.1.0.dev+{commit[:12]}"


def test_a_package_between_releases_reports_the_commit_it_was_built_from(tmp_path: Path):
    package = tmp_path / "site-packages" / "imprint"
    package.mkdir(parents=True)
    assert name_version("1.1.0.dev", package) == "1.1.0.dev"
    (package / "COMMIT").write_text("0123456789abcdef0123456789abcdef01234567\n")
    assert name_version("1.1.0.dev", package) == "1.1.0.dev+0123456789ab"


def test_the_command_and_the_metrics_report_the_version():
    assert __version__.startswith(RELEASE)
    assert run({}, "--version").output == f"imprint, version {__version__}\n"
    (family,) = BUILD_INFO.collect()
    assert family.samples[0].labels["version"] == __version__
