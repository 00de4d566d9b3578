"""What makes a dependency unacceptable: its licence, its age, or retirement by its authors."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from license_expression import ExpressionError, get_spdx_licensing
from tools.audit.packages import NpmPackage, PythonPackage

PLATFORMS = ("Linux x86-64", "Linux arm64", "macOS arm64")
"""The platforms that the package supports."""

FOLDER = Path(__file__).parent
RECORD = FOLDER / "record.json"
"""The file with what the registries said about the locked packages at the last `make audit`."""

_spdx = get_spdx_licensing()


@dataclass(frozen=True, slots=True)
class Policy:
    """What the project accepts, from policy.toml. An exception maps a package to a reason."""

    shipped: frozenset[str]
    development: frozenset[str]
    spellings: Mapping[str, str]
    read_by_hand: Mapping[str, str]
    unlicensed: Mapping[str, str]
    years: int
    kept: Mapping[str, str]
    accepted: Mapping[str, str]


def read_policy(path: Path = FOLDER / "policy.toml") -> Policy:
    """Return the policy."""
    text = tomllib.loads(path.read_text("utf-8"))
    licences = text["licences"]
    return Policy(
        frozenset(licences["shipped"]),
        frozenset(licences["shipped"]) | frozenset(licences["development"]),
        licences["spellings"],
        licences["read"],
        licences["missing"],
        text["unmaintained"]["years"],
        text["unmaintained"]["kept"],
        text["vulnerabilities"],
    )


def read_record() -> dict[str, Any]:
    """Return the record."""
    return dict(json.loads(RECORD.read_text("utf-8")))


def spdx_licence(package: str, declared: str, policy: Policy) -> str:
    """Return a package's licence as an SPDX expression, or as declared if none is known."""
    return policy.read_by_hand.get(package) or policy.spellings.get(declared, declared)


def is_allowed(expression: str, allowed: frozenset[str]) -> bool:
    """Whether a licence expression can be satisfied with allowed licences only."""
    try:
        parsed = _spdx.parse(expression, validate=True)
    except ExpressionError:
        return False
    return parsed is not None and _satisfied(parsed, allowed)


def _satisfied(parsed: Any, allowed: frozenset[str]) -> bool:
    if isinstance(parsed, _spdx.AND):
        return all(_satisfied(each, allowed) for each in parsed.args)
    if isinstance(parsed, _spdx.OR):
        return any(_satisfied(each, allowed) for each in parsed.args)
    return str(parsed) in allowed


def licence_problems(
    packages: list[PythonPackage], npm: list[NpmPackage], record: Mapping[str, Any], policy: Policy
) -> list[str]:
    """Return the packages whose licence the policy does not allow where they are used."""
    declared = [
        (f"pypi/{each.name}", record["pypi"][each.key]["licence"], each.shipped)
        for each in packages
        if each.key in record["pypi"]
    ]
    declared += [(f"npm/{each.name}", each.licence, each.shipped) for each in npm]
    problems = []
    for name, text, shipped in declared:
        licence = spdx_licence(name, text, policy)
        if is_allowed(licence, policy.shipped if shipped else policy.development):
            continue
        if licence or shipped or name not in policy.unlicensed:
            use = "shipped" if shipped else "used for development"
            problems.append(f"{name} is {use}, and its licence is “{licence}”.")
    return sorted(set(problems))


def record_problems(
    packages: list[PythonPackage], dependencies: list[str], record: Mapping[str, Any]
) -> list[str]:
    """Return the differences between the record and the lock files."""
    locked = {f"pypi/{each.key}" for each in packages} | {f"npm/{each}" for each in dependencies}
    known = {f"pypi/{each}" for each in record["pypi"]} | {f"npm/{each}" for each in record["npm"]}
    missing = [f"{each} is locked, and the record does not have it." for each in locked - known]
    return sorted(missing) + sorted(f"{each} is not locked." for each in known - locked)


def find_unmaintained(
    record: Mapping[str, Any], npm: list[NpmPackage], policy: Policy
) -> dict[str, str]:
    """Return the unmaintained packages, each with its reason.

    A package is unmaintained if its authors say so (a deprecated or yanked version, the classifier
    “Inactive”), or if its newest release was older than the policy allows on the day of the record.
    """
    found = {
        f"npm/{each.name}": "deprecated: " + each.deprecated for each in npm if each.deprecated
    }
    day = date.fromisoformat(record["checked"])
    oldest = day.replace(year=day.year - policy.years, day=min(day.day, 28)).isoformat()
    for name, facts in _facts(record):
        if facts.get("retired"):
            found[name] = facts["retired"]
        elif facts.get("inactive"):
            found[name] = "its authors call it inactive"
        elif facts["released"] < oldest:
            found[name] = f"the newest release, {facts['newest']}, is of {facts['released']}"
    return found


def _facts(record: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, str]]]:
    for key, facts in record["pypi"].items():
        yield f"pypi/{key.partition('==')[0]}", facts
    for name, facts in record["npm"].items():
        yield f"npm/{name}", facts


def unmaintained_problems(found: Mapping[str, str], policy: Policy) -> list[str]:
    """Return unmaintained packages without an exception in the policy, and unused exceptions."""
    left = [f"{name}: {reason}" for name, reason in found.items() if name not in policy.kept]
    unused = sorted(policy.kept.keys() - found.keys())
    return sorted(left) + [f"{name} is maintained, and policy.toml has it." for name in unused]


def without_wheels(record: Mapping[str, Any]) -> dict[str, str]:
    """Return for which Python versions, and on which platforms, a package has no wheel."""
    found = {}
    for key, facts in record["pypi"].items():
        parts = [
            python if len(platforms) == len(PLATFORMS) else f"{python} ({', '.join(platforms)})"
            for python, platforms in facts["lacks"].items()
        ]
        if parts:
            found[key.partition("==")[0]] = ", ".join(parts)
    return found
