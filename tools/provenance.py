"""Provenance of a release: an in-toto statement (SLSA 1.0) of what was built, and from what.

`make verify-release DIST=folder` verifies the files of a release in a checkout that has its commit.
"""

import argparse
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from tools.distributions import NAME, PREFIX, NotBuilt, build
from tools.files import ROOT, digest_file
from tools.runtime_lock import Entry, entries_for

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = f"urn:{NAME}:make-release:1"
BUILDER = f"urn:{NAME}:checkout"
"""The builder is whoever runs `make release` in a checkout: trust comes from building again."""

INPUTS = (
    "requirements.lock",
    "deploy/build.lock",
    "deploy/requirements.lock",
    "site/package-lock.json",
    "clients/typescript/package-lock.json",
)
"""The lock files that decide what a release contains."""

SUMS = "SHA256SUMS"
"""The file with the checksums of all other files, including the provenance statement."""


class Unverified(Exception):
    """A release is not what its provenance says. The text has one line for each reason."""


def file_name(version: str) -> str:
    """Return the name of the file with the statement."""
    return f"{PREFIX}-{version}.provenance.json"


def render_provenance(
    out: Path, version: str, commit: str, epoch: str, base_layers: Sequence[str] = ()
) -> str:
    """Return the statement about all files in a folder. The same input gives the same bytes."""
    inputs = [{"name": "source", "digest": {"gitCommit": commit}}]
    inputs += [{"name": name, "digest": {"sha256": digest_file(ROOT / name)}} for name in INPUTS]
    inputs += [{"name": each.name, "uri": _purl(each)} for each in _build_tools()]
    inputs += [
        {"name": "layer of the base image", "digest": {"sha256": each.removeprefix("sha256:")}}
        for each in base_layers
    ]
    statement = {
        "_type": STATEMENT,
        "subject": [
            {"name": path.name, "digest": {"sha256": digest_file(path)}} for path in _files(out)
        ],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"version": version, "SOURCE_DATE_EPOCH": epoch},
                "resolvedDependencies": inputs,
            },
            "runDetails": {"builder": {"id": BUILDER}},
        },
    }
    return json.dumps(statement, indent=2) + "\n"


def tool_problems() -> list[str]:
    """Return the build tools whose installed versions differ from those in the lock file."""
    return [
        f"{each.name} {installed_version(each.name)} is installed, and the lock has {each.version}."
        for each in _build_tools()
        if installed_version(each.name) != each.version
    ]


def _build_tools() -> list[Entry]:
    return entries_for([Requirement("hatchling")])


def _purl(entry: Entry) -> str:
    return f"pkg:pypi/{entry.name}@{entry.version}"


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name != SUMS)


def verify_release(folder: Path, root: Path = ROOT) -> str:
    """Check a release against its statement, build it again, and return its commit.

    Raises `Unverified` and `NotBuilt`.
    """
    statement = _read_statement(folder)
    definition = statement["predicate"]["buildDefinition"]
    stated = {each["name"]: each for each in definition["resolvedDependencies"]}
    commit = str(stated.get("source", {}).get("digest", {}).get("gitCommit"))
    if not re.fullmatch("[0-9a-f]{40}", commit):
        raise Unverified("The provenance names no commit.")
    subjects = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    problems = _subject_problems(folder, subjects)
    for name in INPUTS:
        locked = hashlib.sha256(_git(root, "show", f"{commit}:{name}")).hexdigest()
        if stated.get(name, {}).get("digest") != {"sha256": locked}:
            problems.append(f"{name} was not the one of commit {commit}.")
    problems += [
        f"{each.name} {each.version} is locked here, and the release was built with another one."
        for each in _build_tools()
        if stated.get(each.name, {}).get("uri") != _purl(each)
    ]
    problems += tool_problems()
    problems = problems or _rebuild_problems(
        commit, subjects, root, definition["externalParameters"]["SOURCE_DATE_EPOCH"]
    )
    if problems:
        raise Unverified("\n".join(problems))
    return commit


def _read_statement(folder: Path) -> dict[str, Any]:
    found = list(folder.glob(file_name("*")))
    if len(found) != 1:
        raise Unverified(f"{folder} must have one file {file_name('…')}, and has {len(found)}.")
    statement: dict[str, Any] = json.loads(found[0].read_text("utf-8"))
    types = (statement.get("_type"), statement.get("predicateType"))
    if types != (STATEMENT, PREDICATE):
        raise Unverified(f"{found[0].name} is no provenance of SLSA 1.")
    if statement["predicate"]["buildDefinition"]["buildType"] != BUILD_TYPE:
        raise Unverified(f"{found[0].name} is not about a release of Imprint.")
    return statement


def _subject_problems(folder: Path, subjects: dict[str, str]) -> list[str]:
    """Return the files that differ from the statement. Some files may be missing, but not all."""
    present = [path for path in _files(folder) if not path.match(file_name("*"))]
    if not present:
        return [f"{folder} has no file of the release."]
    return [
        f"{path.name} is not in the provenance."
        if path.name not in subjects
        else f"{path.name} has other bytes than the provenance says."
        for path in present
        if subjects.get(path.name) != digest_file(path)
    ]


def _rebuild_problems(commit: str, subjects: dict[str, str], root: Path, epoch: str) -> list[str]:
    """Build the wheel and sdist from the commit alone, and return those that differ."""
    with tempfile.TemporaryDirectory() as name:
        source, built = Path(name, "source"), Path(name, "built")
        packed = _git(root, "-c", "tar.umask=0022", "archive", "--format=tar", commit)
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(source, filter="data")
        return [
            f"{path.name} has other bytes if it is built from commit {commit}."
            for path in build(built, source, epoch=epoch)
            if subjects.get(path.name) != digest_file(path)
        ]


def _git(root: Path, *arguments: str) -> bytes:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise Unverified(f"git {' '.join(arguments)} failed: {done.stderr.decode().strip()}")
    return done.stdout


def main() -> int:
    """Verify a release and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder with the files of the release")
    folder = parser.parse_args().folder
    try:
        commit = verify_release(folder)
    except (Unverified, NotBuilt) as error:
        print(error, file=sys.stderr)
        return 1
    print(
        f"{folder} is what commit {commit} gives: wheel and sdist were built again, and are equal."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
