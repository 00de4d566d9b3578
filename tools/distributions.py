"""Builds and checks the wheel and the source distribution."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from packaging.metadata import Metadata
from packaging.version import Version
from trove_classifiers import classifiers

ROOT = Path(__file__).parents[1]

NAME = "imprint-press"
"""The name of the distribution. The command and the import package are named `imprint`."""

PREFIX = "imprint_press"
"""The file name prefix of the distribution."""

FIRST_EPOCH = "315532800"
"""The first second of 1980, the earliest time a wheel can store. Used if there is no commit."""


class NotBuilt(Exception):
    """A distribution could not be built. The text is the output of the build."""


def read_version(root: Path = ROOT) -> str:
    """Return the version in the source. Raises `NotBuilt`."""
    text = (root / "src/imprint/__init__.py").read_text("utf-8")
    found = re.search(r'^RELEASE = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise NotBuilt("src/imprint/__init__.py has no version.")
    return found[1]


def commit_epoch(root: Path = ROOT) -> str:
    """Return the time of the newest commit, so that every build of it has the same bytes."""
    command = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip() or FIRST_EPOCH


def build(folder: Path, root: Path = ROOT, *, epoch: str) -> tuple[Path, Path]:
    """Build the wheel and sdist of a source folder into `folder`. Raises `NotBuilt`.

    Uses the installed build tools, so that nothing is downloaded.
    """
    _run_hatchling(root, folder, epoch, "wheel", "sdist")
    stem = f"{PREFIX}-{Version(read_version(root))}"
    return folder / f"{stem}-py3-none-any.whl", folder / f"{stem}.tar.gz"


def build_from_sdist(sdist: Path, folder: Path, *, epoch: str) -> Path:
    """Build the wheel of an sdist into `folder`, as an installer would. Raises `NotBuilt`."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    [root] = (folder / "unpacked").iterdir()
    _run_hatchling(root, folder, epoch, "wheel")
    return next(folder.glob("*.whl"))


def _run_hatchling(root: Path, folder: Path, epoch: str, *targets: str) -> None:
    chosen = [word for target in targets for word in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *chosen]
    environ = os.environ | {"SOURCE_DATE_EPOCH": epoch}
    done = subprocess.run(  # noqa: S603 - our own command
        command, cwd=root, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise NotBuilt(done.stdout + done.stderr)


def read_wheel(wheel: Path) -> dict[str, bytes]:
    """Return the files in a wheel, keyed by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def wheel_problems(wheel: Path, root: Path = ROOT) -> list[str]:
    """Return the problems of a wheel: missing or superfluous files, and invalid metadata."""
    files = read_wheel(wheel)
    version = Version(read_version(root))
    info = f"{PREFIX}-{version}.dist-info"
    source = {
        f"imprint/{path.relative_to(root / 'src/imprint').as_posix()}"
        for path in (root / "src/imprint").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    parts = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    expected = source | {f"{info}/{part}" for part in parts}
    if version.is_devrelease:
        expected.add("imprint/COMMIT")
    problems = [f"The wheel lacks {name}." for name in sorted(expected - set(files))]
    problems += [f"The wheel has {name}." for name in sorted(set(files) - expected)]
    if f"{info}/METADATA" in files:
        problems += metadata_problems(files[f"{info}/METADATA"], root)
    return problems


def sdist_problems(sdist: Path, root: Path = ROOT) -> list[str]:
    """Return the problems of an sdist: missing files, and files that do not belong in it."""
    top = f"{PREFIX}-{Version(read_version(root))}"
    with tarfile.open(sdist) as archive:
        names = {name.removeprefix(f"{top}/") for name in archive.getnames()}
    needed = ["PKG-INFO", "pyproject.toml", "requirements.lock", "README.md", "LICENSE"]
    needed += ["CHANGELOG.md", "Makefile", "src/imprint/__init__.py", "tests/conftest.py"]
    problems = [f"The sdist lacks {name}." for name in needed if name not in names]
    created = re.compile(r"(^|/)(\.venv|\.tools|node_modules|__pycache__|dist|data)/")
    return problems + [f"The sdist has {name}." for name in sorted(names) if created.search(name)]


def metadata_problems(text: bytes, root: Path = ROOT) -> list[str]:
    """Return metadata problems that a package index or its users would object to."""
    try:
        metadata = Metadata.from_email(text, validate=True)
    except ExceptionGroup as group:
        return [str(error) for error in group.exceptions]
    checks = {
        f"The name is {metadata.name}.": metadata.name == NAME,
        f"The version is {metadata.version}.": metadata.version == Version(read_version(root)),
        "The licence is not MIT.": metadata.license_expression == "MIT",
        "The licence file is not named.": metadata.license_files == ["LICENSE"],
        "There is no summary.": bool(metadata.summary),
        "The readme is not Markdown.": metadata.description_content_type == "text/markdown",
        "The readme is not README.md.": str(metadata.description).strip()
        == (root / "README.md").read_text("utf-8").strip(),
        "Older Pythons are not refused.": str(metadata.requires_python) == ">=3.11",
    }
    unknown = set(metadata.classifiers or []) - classifiers
    return [problem for problem, holds in checks.items() if not holds] + [
        f"{each} is no known classifier." for each in sorted(unknown)
    ]
