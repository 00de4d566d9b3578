"""Extracts the entries of requirements.lock that an installed package needs at run time.

Tests and build tools are left out. `python -m tools.runtime_lock` writes the lock files of deploy/,
and `make lock` runs it.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from itertools import product
from pathlib import Path

from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

PYTHONS = ("3.11", "3.12", "3.13")
"""The Python versions that the package supports."""

PLATFORMS = (("linux", "Linux"), ("darwin", "Darwin"), ("win32", "Windows"))
"""The platforms that the lock is resolved for, as `sys_platform` and `platform_system`."""

_ENTRY = re.compile(
    r"^([a-z0-9-]+)==([^ ;\\\n]+)(?: ; ([^\\\n]+?))? ?\\?\n((?: +--hash=.+\n)+)", re.MULTILINE
)

Environment = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A package in the lock file, with its lines."""

    name: str
    version: str
    marker: Marker | None
    hashes: tuple[str, ...]
    lines: str

    def applies(self, environment: Environment) -> bool:
        """Whether the lock installs the package in this environment."""
        return self.marker is None or self.marker.evaluate(dict(environment))


@dataclass(frozen=True, slots=True)
class Project:
    """The dependencies that pyproject.toml declares, including the dependencies of each extra."""

    dependencies: tuple[Requirement, ...]
    extras: Mapping[str, tuple[Requirement, ...]]


def read_project(root: Path = ROOT) -> Project:
    """Return the declared dependencies."""
    declared = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    extras = declared["optional-dependencies"]
    return Project(
        tuple(map(Requirement, declared["dependencies"])),
        {name: tuple(map(Requirement, lines)) for name, lines in extras.items()},
    )


def read_lock(root: Path = ROOT) -> dict[str, Entry]:
    """Return every package of requirements.lock by name."""
    return read_entries(root / "requirements.lock")


def read_entries(lock: Path) -> dict[str, Entry]:
    """Return every package of a lock file by name."""
    text = lock.read_text("utf-8")
    return {
        found[1]: Entry(
            name=found[1],
            version=found[2],
            marker=Marker(found[3]) if found[3] else None,
            hashes=tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", found[4])),
            lines=found[0],
        )
        for found in _ENTRY.finditer(text)
    }


def all_environments() -> list[Environment]:
    """Return an environment for each supported Python version and platform."""
    here = {name: str(text) for name, text in default_environment().items()}
    return [
        here
        | {
            "python_version": python,
            "python_full_version": f"{python}.0",
            "sys_platform": platform,
            "platform_system": system,
        }
        for python, (platform, system) in product(PYTHONS, PLATFORMS)
    ]


def runtime_entries(
    extras: Iterable[str], environments: Sequence[Environment] | None = None
) -> list[Entry]:
    """Return the lock entries for the package with these extras, in any of the environments.

    Transitive dependencies are read from the installed packages.
    """
    project = read_project()
    needed = [*project.dependencies, *(each for name in extras for each in project.extras[name])]
    return entries_for(needed, environments)


def entries_for(
    requirements: Iterable[Requirement], environments: Sequence[Environment] | None = None
) -> list[Entry]:
    """Return the lock entries for these requirements and their dependencies."""
    lock, needed = read_lock(), list(requirements)
    environments = all_environments() if environments is None else environments
    seen: set[tuple[str, str]] = set()
    while needed:
        requirement = needed.pop()
        for environment in environments:
            name = canonicalize_name(requirement.name)
            if name not in lock or not lock[name].applies(environment):
                continue
            for extra in ("", *requirement.extras):
                if _is_needed(requirement, "", environment) and (name, extra) not in seen:
                    seen.add((name, extra))
                    needed += _requirements_of(name, extra, environments)
    names = {name for name, _ in seen}
    return [entry for name, entry in lock.items() if name in names]


def _requirements_of(
    name: str, extra: str, environments: Sequence[Environment]
) -> Iterator[Requirement]:
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        # The package is for another system or Python, and no such package has dependencies.
        return
    for line in lines:
        requirement = Requirement(line)
        if any(_is_needed(requirement, extra, each) for each in environments):
            # With its extra evaluated, only the rest of the marker decides; it is true somewhere.
            requirement.marker = None if "extra" in str(requirement.marker) else requirement.marker
            yield requirement


def _is_needed(requirement: Requirement, extra: str, environment: Environment) -> bool:
    marker = requirement.marker
    return marker is None or marker.evaluate({**environment, "extra": extra})


def render_requirements(entries: Iterable[Entry]) -> str:
    """Return a requirements file with hashes."""
    return "".join(each.lines for each in entries)


def render_deploy_locks() -> dict[str, str]:
    """Return the files of deploy/ by name.

    The files list the dependencies of the image, and the dependencies for building the wheel.
    """
    heading = "# A part of requirements.lock, written by: make lock\n"
    parts = {
        "requirements.lock": runtime_entries(["otel", "postgresql", "s3"]),
        "build.lock": entries_for([Requirement("hatchling")]),
    }
    return {name: heading + render_requirements(part) for name, part in parts.items()}


if __name__ == "__main__":
    for file_name, text in render_deploy_locks().items():
        (ROOT / "deploy" / file_name).write_text(text, "utf-8")
