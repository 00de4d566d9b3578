"""Requirements for a fresh clone on another machine."""

import json
import os
import re
import tomllib

from packaging.requirements import Requirement
from packaging.version import Version
from tests.house.sources import kept_files, place
from tools.files import ROOT
from tools.runtime_lock import render_deploy_locks

from imprint import RELEASE

LOCKS = re.compile(r"(\.lock|lock\.json|lock\.toml)$|^requirements.*\.txt$")
INSTALLS = re.compile(r"\b(?:pipx? install|uv (?:tool|pip) install|uvx) +([^`#\n]+)")
OURS = re.compile(r"imprint-press\b|imprint_press-|/\*\.whl\b|(?:^| )(?:-r|--requirement) ")
STRANGERS = re.compile(r"(?<![\w/-])imprint(?![\w-])")
HOME_PATHS = re.compile(r"(?<![\w.])/(?:home|Users|root|work)/\w")


def _texts() -> list[tuple[str, str]]:
    found = []
    for path in kept_files():
        try:
            found.append((place(path), path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return found


def test_no_lock_file_contains_a_registry_url():
    assert [
        (name, line.strip())
        for name, text in _texts()
        if LOCKS.search(name)
        for line in text.splitlines()
        if "://" in line
    ] == []


def test_every_package_in_the_lock_file_has_hashes():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[a-z])", lock)[1:]
    assert entries
    assert [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_lock_file_has_a_matching_version_of_every_declared_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lists = [project["project"]["dependencies"], *project["dependency-groups"].values()]
    lists += project["project"]["optional-dependencies"].values()
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = dict(re.findall(r"^([a-z0-9-]+)==([^ ;]+)", lock, re.MULTILINE))
    declared = [Requirement(line) for lines in lists for line in lines]
    assert declared
    assert [
        (str(each), locked.get(each.name))
        for each in declared
        if each.name not in locked or locked[each.name] not in each.specifier
    ] == []


def test_the_changelog_lists_the_version_below_unreleased():
    """Between releases, the newest version in the changelog is the last one released."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.+?)\](?: - \d{4}-\d\d-\d\d)?$", changelog, re.MULTILINE)
    assert headings[0] == "Unreleased"
    newest = Version(headings[1])
    assert newest < Version(RELEASE) if RELEASE.endswith(".dev") else newest == Version(RELEASE)


def test_deployment_files_and_pages_name_this_version():
    named = re.compile(
        r"(?:imprint:|imprint-press==|imprint_press-|newTag: |VERSION: )(\d+\.\d+\.\d+)"
    )
    found = {
        (name, version)
        for name, text in _texts()
        if name.startswith(("deploy/", "docs/"))
        for version in named.findall(text)
    }
    assert {name for name, _ in found} >= {"deploy/compose.yaml", "docs/deploying.md"}
    assert {version for _, version in found} == {RELEASE.removesuffix(".dev")}


def test_the_typescript_client_has_the_version_of_the_service():
    folder = ROOT / "clients" / "typescript"
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))
    # npm accepts semantic versions only.
    version = RELEASE.replace(".dev", "-dev")
    assert [package["version"], lock["version"], lock["packages"][""]["version"]] == [version] * 3


def test_the_lock_files_of_the_image_are_subsets_of_the_main_one():
    written = render_deploy_locks()
    assert {name: (ROOT / "deploy" / name).read_text("utf-8") for name in written} == written


def test_no_file_mentions_a_path_outside_the_project():
    outside = "../" + "shared"
    assert [name for name, text in _texts() if outside in text or HOME_PATHS.search(text)] == []


def _foreign_installs(text: str) -> list[str]:
    """Instructions in a text to install anything other than our package or lock file."""
    told = INSTALLS.findall(text.replace("\\\n", " "))
    return [each for each in told if not OURS.search(each) or STRANGERS.search(each)]


def test_an_install_instruction_for_a_foreign_package_is_detected():
    good = "pip install 'imprint-press[s3]' # for imprint\npip install -r requirements.lock\n"
    assert _foreign_installs(good) == []
    bad = "Run `pip install 'imprint[s3]'`.\npipx install imprint\nuv tool install other"
    assert _foreign_installs(bad) == ["'imprint[s3]'", "imprint", "other"]


def test_every_install_instruction_names_our_package():
    assert [
        (name, told)
        for name, text in _texts()
        if name.endswith(".md") or name.startswith(("src/", "deploy/", "examples/"))
        for told in _foreign_installs(text)
    ] == []


def test_scripts_are_executable():
    scripts = [path for path in (ROOT / "tools").iterdir() if not path.suffix and path.is_file()]
    assert [path for path in (ROOT / ".ci" / "run", *scripts) if not os.access(path, os.X_OK)] == []
