"""The rules of `make audit`, and whether the locked packages keep them."""

import json
import re
from dataclasses import replace

import pytest
from tools.audit.packages import (
    NpmPackage,
    PythonPackage,
    npm_dependencies,
    npm_packages,
    python_packages,
)
from tools.audit.registries import (
    Unreachable,
    declared_licence,
    lacking_wheels,
    read_npm_audit,
    read_pip_audit,
)
from tools.audit.rules import (
    find_unmaintained,
    is_allowed,
    licence_problems,
    read_policy,
    read_record,
    record_problems,
    unmaintained_problems,
    without_wheels,
)
from tools.files import ROOT

POLICY = read_policy()
RECORD = read_record()
FRESH = {"licence": "MIT", "newest": "2.0", "released": "2026-01-01", "lacks": {}}
ONE = PythonPackage("one", "1.0", "", shipped=True)


def test_the_audit_record_lists_exactly_the_locked_packages():
    """`make audit` writes the record."""
    assert record_problems(python_packages(), npm_dependencies(), RECORD) == []


def test_every_locked_package_has_an_allowed_licence():
    assert licence_problems(python_packages(), npm_packages(), RECORD, POLICY) == []


def test_unmaintained_packages_are_exactly_those_that_the_policy_names():
    found = find_unmaintained(RECORD, npm_packages(), POLICY)
    assert unmaintained_problems(found, POLICY) == []


def test_exceptions_of_the_policy_name_locked_packages():
    locked = {f"pypi/{each.name}" for each in python_packages()}
    locked |= {f"npm/{each.name}" for each in npm_packages()}
    excepted = POLICY.read_by_hand.keys() | POLICY.unlicensed.keys() | POLICY.kept.keys()
    assert excepted - locked == set()


def test_the_docs_name_every_package_without_a_wheel():
    page = (ROOT / "docs" / "supply-chain.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]+) \|", page, re.MULTILINE)
    assert {name: text.strip() for name, text in rows} == without_wheels(RECORD)


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-or-later", False),
        ("MIT OR GPL-3.0-or-later", True),
        ("MIT AND GPL-3.0-or-later", False),
        ("(MIT OR GPL-3.0-or-later) AND Apache-2.0", True),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("Mine", False),
        ("MIT License", False),
        ("", False),
    ],
)
def test_a_licence_expression_must_be_satisfiable_with_allowed_licences(
    expression: str, allowed: bool
):
    assert is_allowed(expression, frozenset({"MIT", "Apache-2.0"})) is allowed


def test_a_copyleft_licence_is_allowed_for_development_only():
    record = {"pypi": {ONE.key: {**FRESH, "licence": "GPL-3.0-or-later"}}}
    assert licence_problems([replace(ONE, shipped=False)], [], record, POLICY) == []
    assert licence_problems([ONE], [], record, POLICY) == [
        "pypi/one is shipped, and its licence is “GPL-3.0-or-later”."
    ]


def test_a_package_without_a_licence_must_be_named_and_not_shipped():
    record = {"pypi": {ONE.key: {**FRESH, "licence": ""}}}
    named = replace(POLICY, unlicensed={"pypi/one": "a reason"})
    unshipped = replace(ONE, shipped=False)
    assert licence_problems([unshipped], [], record, named) == []
    assert licence_problems([unshipped], [], record, POLICY) != []
    assert licence_problems([ONE], [], record, named) != []


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({}, None),
        ({"released": "2023-06-02"}, None),
        ({"released": "2023-05-31"}, "the newest release, 2.0, is of 2023-05-31"),
        ({"inactive": True}, "its authors call it inactive"),
        ({"retired": "the locked version is yanked"}, "the locked version is yanked"),
    ],
)
def test_old_inactive_and_yanked_packages_are_unmaintained(
    facts: dict[str, object], reason: str | None
):
    record = {"checked": "2026-06-01", "pypi": {ONE.key: FRESH | facts}, "npm": {}}
    assert find_unmaintained(record, [], POLICY).get("pypi/one") == reason


def test_a_deprecated_indirect_npm_dependency_is_unmaintained():
    package = NpmPackage("two", "1.0.0", "MIT", "Use three.", "", shipped=False)
    record = {"checked": "2026-06-01", "pypi": {}, "npm": {}}
    found = find_unmaintained(record, [package], POLICY)
    assert found == {"npm/two": "deprecated: Use three."}
    problems = unmaintained_problems(found, replace(POLICY, kept={}))
    assert problems == ["npm/two: deprecated: Use three."]


def test_an_exception_for_a_maintained_package_is_reported():
    kept = replace(POLICY, kept={"pypi/one": "a reason"})
    assert unmaintained_problems({}, kept) == ["pypi/one is maintained, and policy.toml has it."]


def test_missing_wheels_are_found_by_version_and_platform():
    wheels = ["one-1.0-cp311-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"]
    wheels += ["one-1.0-cp312-cp312-macosx_11_0_arm64.whl"]
    lacking = lacking_wheels(wheels)
    assert lacking["3.11"] == ["Linux arm64", "macOS arm64"]
    assert lacking["3.12"] == ["Linux arm64"]
    assert lacking_wheels(["one-1.0-py3-none-any.whl"]) == {}
    assert lacking_wheels([])["3.15"] == ["Linux x86-64", "Linux arm64", "macOS arm64"]


def test_a_licence_text_is_not_taken_as_a_licence_name():
    classifiers = ["License :: OSI Approved :: MIT License"]
    metadata = {"license": "Permission is hereby granted " * 9, "classifier": classifiers}
    assert declared_licence(metadata) == "MIT License"
    assert declared_licence(metadata | {"license_expression": "MIT"}) == "MIT"
    assert declared_licence({}) == ""


def test_packages_that_pip_audit_skips_count_as_not_checked():
    skipped = {"name": "one", "skip_reason": "Dependency not found"}
    vulnerable = {"name": "two", "version": "1.0", "vulns": [{"id": "PYSEC-2026-1"}]}
    output = json.dumps({"dependencies": [skipped, vulnerable], "fixes": []})
    assert read_pip_audit(output, "") == (["pypi/two: PYSEC-2026-1"], ["Dependency not found"])


def test_an_unresponsive_vulnerability_service_does_not_count_as_a_success():
    with pytest.raises(Unreachable, match="Name or service not known"):
        read_pip_audit("", "Traceback\nName or service not known\n")
    refused = {"message": "405 Method Not Allowed", "statusCode": 405, "error": {}}
    with pytest.raises(Unreachable, match="405 Method Not Allowed"):
        read_npm_audit(json.dumps(refused), "")
    with pytest.raises(Unreachable, match="no network"):
        read_npm_audit("", "npm error no network\n")


def test_npm_advisories_are_named_by_their_identifier():
    advisory = {"source": 1, "url": "https://advisories.example/GHSA-1111"}
    vulnerabilities = {"one": {"via": [advisory]}, "two": {"via": ["one"]}}
    output = json.dumps({"auditReportVersion": 2, "vulnerabilities": vulnerabilities})
    assert read_npm_audit(output, "") == ["npm/one: GHSA-1111"]
