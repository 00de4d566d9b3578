"""The locked packages of all lock files, Python and npm."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.files import ROOT, files_matching
from tools.runtime_lock import all_environments, read_entries, read_project, runtime_entries

DEVELOPMENT = "dev"
"""The extra for `imprint dev`, which is not for deployments."""

PAGES = ("clients/typescript/package-lock.json", "site/package-lock.json")
"""The npm locks whose packages, except development packages, are bundled into the pages."""


@dataclass(frozen=True, slots=True)
class PythonPackage:
    """A package of a Python lock. `shipped` means that a deployed service uses it."""

    name: str
    version: str
    marker: str
    shipped: bool

    @property
    def key(self) -> str:
        """The name and the version, as the record spells them."""
        return f"{self.name}=={self.version}"


@dataclass(frozen=True, slots=True)
class NpmPackage:
    """A package of an npm lock. `shipped` means that the pages contain it."""

    name: str
    version: str
    licence: str
    deprecated: str
    integrity: str
    shipped: bool


def python_packages(root: Path = ROOT) -> list[PythonPackage]:
    """Return the packages that the Python locks install on Linux or macOS, sorted."""
    supported = [each for each in all_environments() if each["sys_platform"] != "win32"]
    extras = [name for name in read_project(root).extras if name != DEVELOPMENT]
    shipped = {entry.name for entry in runtime_entries(extras)}
    main = root / "requirements.lock"
    found = {
        PythonPackage(
            entry.name,
            entry.version,
            str(entry.marker or ""),
            lock == main and entry.name in shipped,
        )
        for lock in files_matching(["**/requirements.lock"], root)
        for entry in read_entries(lock).values()
        if any(map(entry.applies, supported))
    }
    # Shipped first: a package of several locks is listed once for each version.
    first: dict[str, PythonPackage] = {}
    for each in sorted(found, key=lambda each: (each.key, not each.shipped, each.marker)):
        first.setdefault(each.key, each)
    return list(first.values())


def installable_together(packages: Iterable[PythonPackage]) -> list[list[PythonPackage]]:
    """Split the packages into lists, each with at most one version of every package."""
    lists: list[list[PythonPackage]] = []
    seen: Counter[str] = Counter()
    for each in packages:
        if seen[each.name] == len(lists):
            lists.append([])
        lists[seen[each.name]].append(each)
        seen[each.name] += 1
    return lists


def npm_locks(root: Path = ROOT) -> list[Path]:
    """Return the npm locks of the project."""
    return files_matching(["**/package-lock.json"], root)


def npm_packages(root: Path = ROOT) -> list[NpmPackage]:
    """Return the packages of all npm locks, sorted."""
    found: dict[tuple[str, str], NpmPackage] = {}
    for lock in npm_locks(root):
        in_pages = lock.relative_to(root).as_posix() in PAGES
        for path, entry in json.loads(lock.read_text("utf-8"))["packages"].items():
            if "node_modules/" not in path or entry.get("link"):
                continue
            name = entry.get("name") or path.rpartition("node_modules/")[2]
            key = (name, entry["version"])
            shipped = in_pages and not any(map(entry.get, ("dev", "optional", "devOptional")))
            found[key] = NpmPackage(
                name,
                entry["version"],
                entry.get("license", ""),
                entry.get("deprecated", ""),
                entry.get("integrity", ""),
                shipped or (key in found and found[key].shipped),
            )
    return [found[key] for key in sorted(found)]


def npm_dependencies(root: Path = ROOT) -> list[str]:
    """Return the npm packages that a package.json of the project asks for, sorted."""
    named: set[str] = set()
    for lock in npm_locks(root):
        package = json.loads(lock.with_name("package.json").read_text("utf-8"))
        for kind in ("dependencies", "devDependencies"):
            asked = package.get(kind, {})
            named |= {name for name, wanted in asked.items() if not wanted.startswith("file:")}
    return sorted(named)


def shipped_npm_packages(root: Path = ROOT) -> list[NpmPackage]:
    """Return the npm packages that the pages contain."""
    return [each for each in npm_packages(root) if each.shipped]
