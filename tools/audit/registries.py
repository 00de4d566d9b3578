"""What the package registries say, asked with their own clients: uv, pip, pip-audit and npm."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import canonicalize_name, parse_wheel_filename
from tools.audit.packages import PythonPackage
from tools.audit.rules import PLATFORMS
from tools.files import ROOT
from tools.runtime_lock import PYTHONS

UV = Path(sys.executable).with_name("uv")
TOOLS = ROOT / "tools/audit/.venv/bin"

NEWER_PYTHONS = ("3.14", "3.15")
"""Released Python versions that the package does not support yet."""

LONGEST_LICENCE = 60
"""Maximum number of characters in a licence's name. Some packages give the whole text instead."""

AT_ONCE = 4
"""Number of npm processes that run at a time."""


class Unreachable(Exception):
    """A registry did not return what was requested. The text is its client's last log line."""


def _run(command: Sequence[object], folder: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    words = [str(each) for each in command]
    try:
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    except FileNotFoundError as error:
        raise Unreachable(f"{words[0]} is not installed.") from error


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def read_releases(packages: Sequence[PythonPackage]) -> dict[str, dict[str, Any]]:
    """Return the newest release of each package, and the wheels that the locked version lacks.

    Both are keyed by package and locked version. Raises `Unreachable`.
    """
    newest, _ = _resolve(f"{each.name}{_suffix(each)}" for each in packages)
    locked, log = _resolve(f"{each.name}=={each.version}{_suffix(each)}" for each in packages)
    yanked = set(re.findall(r"`(\S+)` is yanked", log))
    found = {}
    for each in packages:
        release, files = newest[each.name], newest[each.name].get("wheels", [])
        files = [*files, release["sdist"]] if "sdist" in release else files
        found[each.key] = {
            "newest": release["version"],
            "released": max(file["upload-time"] for file in files).date().isoformat(),
            "lacks": lacking_wheels(map(_file_name, locked[each.name].get("wheels", []))),
        }
        if each.key in yanked:
            found[each.key]["retired"] = "the locked version is yanked"
    return found


def _suffix(package: PythonPackage) -> str:
    return f" ; {package.marker}" if package.marker else ""


def _resolve(lines: Iterable[str]) -> tuple[dict[str, Any], str]:
    """Return the packages that uv finds for these requirements, by name, and uv's messages."""
    with TemporaryDirectory() as folder:
        asked, given = Path(folder, "asked.in"), Path(folder, "pylock.toml")
        asked.write_text("\n".join(lines) + "\n", "utf-8")
        command = [UV, "pip", "compile", asked, "--no-deps", "--universal", "--refresh"]
        command += ["--python-version", PYTHONS[0], "--format", "pylock.toml", "-o", given]
        done = _run(command)
        if done.returncode != 0:
            raise Unreachable(_last_line(done.stderr))
        packages = tomllib.loads(given.read_text("utf-8"))["packages"]
    return {each["name"]: each for each in packages}, done.stderr


def _file_name(file: dict[str, str]) -> str:
    return file.get("name") or file["url"].rpartition("/")[2]


def lacking_wheels(wheels: Iterable[str]) -> dict[str, list[str]]:
    """Return the supported platforms that have none of these wheels, by Python version."""
    tags = [parse_wheel_filename(name)[3] for name in wheels]
    lacking = {
        python: [
            platform
            for platform in PLATFORMS
            if not any(each & _fitting_tags(python, platform) for each in tags)
        ]
        for python in (*PYTHONS, *NEWER_PYTHONS)
    }
    return {python: platforms for python, platforms in lacking.items() if platforms}


@cache
def _fitting_tags(python: str, platform: str) -> frozenset[Tag]:
    """Return the tags of the wheels that this Python version can install on a platform."""
    version = tuple(map(int, python.split(".")))
    if platform == "macOS arm64":
        platforms = list(mac_platforms((15, 0), "arm64"))
    else:
        machine = "x86_64" if platform == "Linux x86-64" else "aarch64"
        # Debian 12 has glibc 2.36.
        names = [*(f"manylinux_2_{minor}" for minor in range(36, 4, -1)), "manylinux2014"]
        platforms = [f"{name}_{machine}" for name in (*names, "manylinux2010", "manylinux1")]
    interpreter = "cp" + python.replace(".", "")
    return frozenset(
        [
            *cpython_tags(version, platforms=platforms),
            *compatible_tags(version, interpreter, platforms),
        ]
    )


def read_licences(packages: Sequence[PythonPackage]) -> dict[str, dict[str, Any]]:
    """Return the declared licence of each package by its key. Raises `Unreachable`."""
    if not packages:
        return {}
    with TemporaryDirectory() as folder:
        asked, report = Path(folder, "asked.txt"), Path(folder, "report.json")
        asked.write_text("".join(f"{each.key}\n" for each in packages), "utf-8")
        command = [TOOLS / "python", "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps"]
        command += ["--ignore-installed", "--ignore-requires-python", "--only-binary", ":all:"]
        done = _run([*command, "--report", report, "-r", asked])
        if done.returncode != 0:
            raise Unreachable(_last_line(done.stderr))
        installs = json.loads(report.read_text("utf-8"))["install"]
    found: dict[str, dict[str, Any]] = {}
    for each in installs:
        metadata = each["metadata"]
        key = f"{canonicalize_name(metadata['name'])}=={metadata['version']}"
        found[key] = {"licence": declared_licence(metadata)}
        if "Development Status :: 7 - Inactive" in metadata.get("classifier", []):
            found[key]["inactive"] = True
    return found


def declared_licence(metadata: dict[str, Any]) -> str:
    """Return the licence in a package's metadata: an expression, free text, or a classifier."""
    words = [metadata.get("license_expression", ""), metadata.get("license", "")]
    words += [
        each.rpartition(" :: ")[2]
        for each in metadata.get("classifier", [])
        if each.startswith("License :: ")
    ]
    return next((each for each in words if 0 < len(each) <= LONGEST_LICENCE), "")


def read_npm_releases(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the newest release of each npm package. Raises `Unreachable`."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(names, pool.map(_read_npm_release, names), strict=True))


def _read_npm_release(name: str) -> dict[str, str]:
    done = _run(["npm", "view", name, "version", "time", "deprecated", "--json"])
    if done.returncode != 0:
        raise Unreachable(_last_line(done.stderr))
    facts = json.loads(done.stdout)
    found = {"newest": facts["version"], "released": facts["time"][facts["version"]][:10]}
    return found | ({"retired": facts["deprecated"]} if facts.get("deprecated") else {})


def find_python_vulnerabilities(packages: Sequence[PythonPackage]) -> tuple[list[str], list[str]]:
    """Return known vulnerabilities, as “package: id”, and why packages were not checked.

    Raises `Unreachable` if no service can be reached.
    """
    reasons = []
    for service in ("pypi", "osv"):
        try:
            # Ask about one package first: a service that cannot check it is not asked about all
            # packages.
            _, unchecked = _ask_pip_audit(packages[:1], service)
            if not unchecked:
                return _ask_pip_audit(packages, service)
            reasons.append(f"{service}: {unchecked[0]}")
        except Unreachable as error:
            reasons.append(f"{service}: {error}")
    raise Unreachable("; ".join(reasons))


def _ask_pip_audit(packages: Sequence[PythonPackage], service: str) -> tuple[list[str], list[str]]:
    with TemporaryDirectory() as folder:
        asked = Path(folder, "asked.txt")
        asked.write_text("".join(f"{each.key}\n" for each in packages), "utf-8")
        command = [TOOLS / "pip-audit", "--requirement", asked, "--no-deps", "--disable-pip"]
        command += ["--vulnerability-service", service, "--format", "json"]
        done = _run([*command, "--progress-spinner", "off"])
    return read_pip_audit(done.stdout, done.stderr)


def read_pip_audit(output: str, log: str) -> tuple[list[str], list[str]]:
    """Return what pip-audit found, and why it skipped packages, which it counts as success.

    Raises `Unreachable` if it wrote no result.
    """
    try:
        dependencies = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError) as error:
        raise Unreachable(_last_line(log)) from error
    found = [
        f"pypi/{each['name']}: {one['id']}"
        for each in dependencies
        for one in each.get("vulns", [])
    ]
    return found, [each["skip_reason"] for each in dependencies if "skip_reason" in each]


def find_npm_vulnerabilities(lock: Path) -> list[str]:
    """Return the known vulnerabilities of an npm lock, as “package: id”. Raises `Unreachable`."""
    done = _run(["npm", "audit", "--json", "--package-lock-only"], lock.parent)
    return read_npm_audit(done.stdout, done.stderr)


def read_npm_audit(output: str, log: str) -> list[str]:
    """Return what npm audit found. Raises `Unreachable` if it wrote no result."""
    try:
        result = json.loads(output)
        vulnerabilities = result["vulnerabilities"]
    except ValueError as error:
        raise Unreachable(_last_line(log)) from error
    except KeyError as error:
        raise Unreachable(result.get("message") or _last_line(log)) from error
    return sorted(
        {
            f"npm/{name}: {one['url'].rpartition('/')[2]}"
            for name, each in vulnerabilities.items()
            for one in each["via"]
            if isinstance(one, dict)
        }
    )
