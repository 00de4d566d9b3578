"""Audits licences, maintenance and vulnerabilities of the locked dependencies: `make audit`.

The exit status is 0 if everything was checked and is fine, 1 if there are findings, and 2 if
there are no findings but a part could not be checked. What the registries say is kept in
record.json.
"""

import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tools.audit.packages import (
    PythonPackage,
    installable_together,
    npm_dependencies,
    npm_locks,
    npm_packages,
    python_packages,
)
from tools.audit.registries import (
    Unreachable,
    find_npm_vulnerabilities,
    find_python_vulnerabilities,
    read_licences,
    read_npm_releases,
    read_releases,
)
from tools.audit.rules import (
    RECORD,
    Policy,
    find_unmaintained,
    licence_problems,
    read_policy,
    read_record,
    record_problems,
    unmaintained_problems,
    without_wheels,
)
from tools.files import ROOT
from tools.trust import Result, save_result


def main() -> int:
    """Audit all locks, print findings and what was not checked, and return the exit status."""
    began = time.monotonic()
    policy, packages, npm = read_policy(), python_packages(), npm_packages()
    dependencies = npm_dependencies()
    findings: list[str] = []
    unchecked: list[str] = []
    try:
        record = ask_registries(packages, dependencies, read_record())
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", "utf-8")
    except Unreachable as error:
        record = read_record()
        unchecked.append(f"releases and licences since {record['checked']}: {error}")
        unchecked += record_problems(packages, dependencies, record)
    print(f"{len(packages)} Python and {len(npm)} npm packages are locked.")
    findings += licence_problems(packages, npm, record, policy)
    unmaintained = find_unmaintained(record, npm, policy)
    findings += unmaintained_problems(unmaintained, policy)
    for name in sorted(policy.kept.keys() & unmaintained):
        print(f"Kept, though unmaintained: {name}: {policy.kept[name]}")
    for name, reason in policy.unlicensed.items():
        print(f"Used without a licence: {name}: {reason}")
    for name, versions in without_wheels(record).items():
        print(f"No wheel of {name} for Python {versions}")
    findings += _find_vulnerabilities(packages, policy, unchecked)
    for each in findings:
        print(f"FOUND: {each}")
    for each in unchecked:
        print(f"NOT CHECKED: {each}")
    if not findings and not unchecked:
        print("Everything was checked, and nothing was found.")
    save_result(
        Result(
            "Audit",
            "A locked package whose licence, maintenance and known vulnerabilities are checked.",
            {"Python packages": len(packages), "npm packages": len(npm)},
            f"{len(findings)} findings" if findings else "nothing",
            "make audit",
            round(time.monotonic() - began),
            # The rest of a line is an error message, which may name a server.
            exceptions=tuple(f"Not checked: {each.partition(': ')[0]}." for each in unchecked),
        )
    )
    return 1 if findings else 2 if unchecked else 0


def ask_registries(
    packages: list[PythonPackage], dependencies: list[str], known: dict[str, Any]
) -> dict[str, Any]:
    """Return a new record. Licences that are known for a version are not requested again.

    Raises `Unreachable`.
    """
    licences: dict[str, dict[str, Any]] = {
        key: {name: facts[name] for name in ("licence", "inactive") if name in facts}
        for key, facts in known["pypi"].items()
    }
    releases: dict[str, dict[str, Any]] = {}
    for group in installable_together(packages):
        licences |= read_licences([each for each in group if each.key not in licences])
        releases |= read_releases(group)
    return {
        "checked": datetime.now(UTC).date().isoformat(),
        "pypi": {each.key: licences[each.key] | releases[each.key] for each in packages},
        "npm": read_npm_releases(dependencies),
    }


def _find_vulnerabilities(
    packages: list[PythonPackage], policy: Policy, unchecked: list[str]
) -> list[str]:
    """Return the known vulnerabilities, and add to `unchecked` what could not be checked."""

    def find_python(group: list[PythonPackage]) -> list[str]:
        vulnerable, skipped = find_python_vulnerabilities(group)
        unchecked.extend(f"vulnerabilities: {each}" for each in skipped)
        return vulnerable

    searches: list[tuple[str, Callable[[], list[str]]]] = [
        *(
            (f"{len(group)} Python packages", lambda group=group: find_python(group))
            for group in installable_together(packages)
        ),
        *(
            (str(lock.relative_to(ROOT)), lambda lock=lock: find_npm_vulnerabilities(lock))
            for lock in npm_locks()
        ),
    ]
    found: set[str] = set()
    for name, search in searches:
        try:
            found |= set(search())
        except Unreachable as error:
            unchecked.append(f"vulnerabilities of {name}: {error}")
    return sorted(each for each in found if each.rpartition(": ")[2] not in policy.accepted)


if __name__ == "__main__":
    sys.exit(main())
